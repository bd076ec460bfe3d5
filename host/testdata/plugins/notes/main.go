//go:build wasip1

// Command notes is a guest that answers with sources, parts and claims, and
// reads the folder it is granted.
package main

import (
	"io/fs"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {}

//go:wasmexport note
func note() int32 { return guest.Run(run) }

func run(c *guest.Call, in struct {
	File string `json:"file"`
	What string `json:"what"`
}) (guest.Result, error) {
	switch in.What {
	case "sources":
		return guest.Result{Text: "see there", Sources: []tool.Source{{Title: "There", URL: "https://example.com/there"}}}, nil
	case "more":
		return guest.Result{Text: "a\nb", More: &tool.More{Shown: 2, Total: 9, Args: []byte(`{"offset":2}`)}}, nil
	case "parts":
		return guest.Result{Text: "a picture", Parts: []tool.Blob{{Name: "dot.png", MIME: "image/png", Data: []byte{1, 2, 3}}}}, nil
	case "denied":
		return guest.Result{}, guest.Errorf(tool.Denied, "ask somebody else", "that is not for you")
	case "fetch":
		a, err := c.HTTP(guest.Request{URL: in.File})
		if err != nil {
			return guest.Result{}, err
		}
		return guest.Text(string(a.Body)), nil
	case "unknown_code":
		return guest.Result{}, guest.Errorf("made_up", "", "a code of its own")
	}
	text, err := fs.ReadFile(c.FS("/workspace"), in.File)
	if err != nil {
		return guest.Result{}, err
	}
	return guest.Text(string(text)), nil
}
