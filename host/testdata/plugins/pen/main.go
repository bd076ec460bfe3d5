//go:build wasip1

// Command pen is a guest that can do more than answer: it writes files where it
// may and asks the hosts it is told to.
package main

import (
	"io/fs"
	"os"
	"path"

	"github.com/weirhost/weir/sdk/guest"
)

func main() {}

type in struct {
	Path string `json:"path"`
	Text string `json:"text"`
	URL  string `json:"url"`
}

//go:wasmexport write_note
func writeNote() int32 {
	return guest.Run(func(_ *guest.Call, a in) (guest.Result, error) {
		if a.Path == "" {
			a.Path = "note.txt"
		}
		if err := os.WriteFile(path.Join("/workspace", a.Path), []byte(a.Text), 0o644); err != nil {
			return guest.Result{}, err
		}
		return guest.Text("written"), nil
	})
}

//go:wasmexport read_note
func readNote() int32 {
	return guest.Run(func(c *guest.Call, a in) (guest.Result, error) {
		text, err := fs.ReadFile(c.FS("/workspace"), a.Path)
		if err != nil {
			return guest.Result{}, err
		}
		return guest.Text(string(text)), nil
	})
}

//go:wasmexport fetch
func fetch() int32 {
	return guest.Run(func(c *guest.Call, a in) (guest.Result, error) {
		r, err := c.HTTP(guest.Request{URL: a.URL})
		if err != nil {
			return guest.Result{}, err
		}
		return guest.Text(string(r.Body)), nil
	})
}
