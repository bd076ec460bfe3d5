// Command search_wikipedia is a weir tool: it searches and reads Wikipedia.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport search_wikipedia
func searchWikipedia() int32 { return guest.Run(search) }

var _ = guest.Ready(search)

func main() {}
