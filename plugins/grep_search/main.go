// Command grep_search is a weir tool: it searches the files of the workspace
// for a regular expression.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport grep_search
func grepSearch() int32 { return guest.Run(search) }

var _ = guest.Ready(search)

func main() {}
