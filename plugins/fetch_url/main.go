// Command fetch_url is a weir tool: it reads one web page as Markdown.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport fetch_url
func fetchURL() int32 { return guest.Run(fetch) }

var _ = guest.Ready(fetch)

func main() {}
