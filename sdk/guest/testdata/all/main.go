// Command all is a guest that uses everything a Call offers.
package main

import "github.com/weirhost/weir/sdk/guest"

type args struct {
	URL string `json:"url"`
}

//go:wasmexport all
func all() int32 {
	return guest.Run(func(c *guest.Call, in args) (guest.Result, error) {
		c.Progress(1, 2, c.Say("half", "一半"))
		c.Log(guest.Info, "asking")
		resp, err := c.HTTP(guest.Request{URL: in.URL})
		return guest.Text(string(resp.Body)), err
	})
}

func main() {}
