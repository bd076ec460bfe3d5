//go:build wasip1

// Command report is a tool that returns a log of a wanted length. Its number is in each
// line, so that no two reports are the same.
package main

import (
	"bytes"
	"strconv"

	"github.com/weirhost/weir/sdk/guest"
)

type args struct {
	Number int `json:"number"`
	Bytes  int `json:"bytes"`
}

//go:wasmexport report
func export() int32 { return guest.Run(report) }

var _ = guest.Ready(report)

const line = "2026-01-02 03:04:05 INFO request handled by the worker \"main\" in 12 ms, number "

func report(_ *guest.Call, a args) (guest.Result, error) {
	number := strconv.Itoa(a.Number)
	text := bytes.Repeat([]byte(line+number+"\n"), a.Bytes/(len(line)+len(number)+1)+1)
	return guest.Text(string(text[:a.Bytes])), nil
}

func main() {}
