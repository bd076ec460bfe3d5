// Command long_text is a weir tool: it makes text of a known length, to show
// and test what happens to results that are too long.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport long_text
func longText() int32 { return guest.Run(generate) }

var _ = guest.Ready(generate)

func main() {}
