// Command text_diff is a weir tool: it shows what differs between two texts.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport text_diff
func textDiff() int32 { return guest.Run(compare) }

var _ = guest.Ready(compare)

func main() {}
