// Package registry turns plugin folders into an immutable Snapshot: which
// plugins are there, what their manifests say, and why others are refused. It
// reads files and never runs a guest.
//
// A manifest is read strictly but forward-compatibly: a key it does not know is
// a warning, a value it cannot use is an error, and both carry file, line and
// column and say what to change. One plugin's error never touches another.
package registry
