// Command json_query is a weir tool: it runs a jq filter over JSON.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport json_query
func jsonQuery() int32 { return guest.Run(query) }

var _ = guest.Ready(query)

func main() {}
