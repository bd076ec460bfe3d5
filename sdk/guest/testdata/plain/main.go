// Command plain is a guest that uses nothing but its arguments.
package main

import "github.com/weirhost/weir/sdk/guest"

type args struct {
	Text string `json:"text"`
}

//go:wasmexport plain
func plain() int32 {
	return guest.Run(func(_ *guest.Call, in args) (guest.Result, error) { return guest.Text(in.Text), nil })
}

func main() {}
