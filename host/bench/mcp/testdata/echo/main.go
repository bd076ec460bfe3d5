//go:build wasip1

// Command echo is a tool as people write them, with next to nothing to do.
package main

import "github.com/weirhost/weir/sdk/guest"

type args struct {
	Text string `json:"text"`
}

//go:wasmexport echo
func export() int32 { return guest.Run(echo) }

var _ = guest.Ready(echo)

func echo(_ *guest.Call, a args) (guest.Result, error) { return guest.Text(a.Text), nil }

func main() {}
