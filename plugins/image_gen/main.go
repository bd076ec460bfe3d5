// Command image_gen is a weir tool: it has a picture made from a description, by a
// service that speaks OpenAI's protocol for images.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport image_gen
func imageGen() int32 { return guest.Run(generate) }

var _ = guest.Ready(generate)

func main() {}
