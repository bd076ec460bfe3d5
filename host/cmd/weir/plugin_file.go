package main

import (
	"strings"
)

// isPath reports whether an argument means a plugin's files, not a plugin that
// the daemon has by name.
func isPath(arg string) bool {
	return strings.ContainsAny(arg, `/\`) || arg == "." || arg == ".." || strings.HasSuffix(arg, ".wasm") || strings.HasSuffix(arg, ".toml")
}
