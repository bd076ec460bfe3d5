// Command calculator is a weir tool: it computes an arithmetic expression,
// exactly where that is possible.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport calculator
func calculator() int32 { return guest.Run(calculate) }

var _ = guest.Ready(calculate)

func main() {}
