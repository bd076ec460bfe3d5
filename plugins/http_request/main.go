// Command http_request is a weir tool: it sends one request to an HTTP API.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport http_request
func httpRequest() int32 { return guest.Run(request) }

var _ = guest.Ready(request)

func main() {}
