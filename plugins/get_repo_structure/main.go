// Command get_repo_structure is a weir tool: it draws the tree of folders and
// files of the workspace.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport get_repo_structure
func getRepoStructure() int32 { return guest.Run(structure) }

var _ = guest.Ready(structure)

func main() {}
