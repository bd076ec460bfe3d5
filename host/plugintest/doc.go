// Package plugintest runs the test cases of a plugin, in tests/*.toml, with the
// same sandbox, limits and policies as a daemon. Files, the network, settings and
// secrets come only from the case: Run creates the folders for the call, answers
// requests from the case, and ignores the operator's grants. Run also fuzzes each
// tool with arguments from package generate.
//
// It runs the compiled module, so the source language of the plugin does not
// matter. The command `weir plugin test` calls Run; a Go test can call Check:
//
//	report, err := plugintest.Run(t.Context(), "plugins/notes", plugintest.Config{})
//
// # Files
//
//   - case, expect, texts, content, amount, exchange: what a file of cases says
//   - run: runs them
//   - fuzz: generated arguments
//   - measure, bench: times
//   - junit: a report
//   - node, problem: positions in a file
package plugintest
