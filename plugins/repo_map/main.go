// Command repo_map is a weir tool: it shows the most important definitions of
// a code base within a budget of tokens.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport repo_map
func repoMap() int32 { return guest.Run(mapRepo) }

var _ = guest.Ready(mapRepo)

func main() {}
