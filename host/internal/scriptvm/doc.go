// Package scriptvm runs scripts in JavaScript that a model has written, in QuickJS,
// which runs as WebAssembly. A script reaches nothing but the functions of prelude.js:
// what it wants of the host, Step returns, and the answers go into the next Step.
//
// Every function that asks the host is asynchronous. When Step returns, QuickJS has
// returned too: the stack of the module is empty, and a script that waits is its linear
// memory and nothing else. Snapshot writes the pages of it that differ from the state in
// which every script starts, and Runtime.Resume goes on from them, in another process or
// after days, without running anything again.
//
// A script is untrusted: its memory, the time of each step, its source and what it hands
// over are bounded, and whatever comes out of it is data that the caller checks.
//
// # Files
//
//   - runtime: the engine
//   - script: one script, its errors of syntax
//   - typescript: takes types out
//   - snapshot: a script as bytes
//   - handover: what it asks
//   - rejection: promises
package scriptvm
