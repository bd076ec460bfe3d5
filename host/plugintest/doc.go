// Package plugintest runs the cases that an author writes beside a plugin, in
// tests/*.toml, through the sandbox, the limits and the policies that a daemon
// has. Files, the network, settings and secrets are what a case says, and
// nothing else: folders are made for the call, requests are answered from the
// case, and no grant of the operator's is looked at.
//
// The module is run as it is, so the language that it was written in does not
// matter. `weir plugin test` is a thin layer over Run; a Go test calls it, too:
//
//	report, err := plugintest.Run(t.Context(), "plugins/notes", plugintest.Config{})
package plugintest
