// Command read_file is a weir tool: it reads a text file of the workspace.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport read_file
func readFile() int32 { return guest.Run(read) }

var _ = guest.Ready(read)

func main() {}
