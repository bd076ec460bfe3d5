// Command search_web is a weir tool: it searches the web through Tavily.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport search_web
func searchWeb() int32 { return guest.Run(search) }

var _ = guest.Ready(search)

func main() {}
