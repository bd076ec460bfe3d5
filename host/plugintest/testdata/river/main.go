//go:build wasip1

// Command river is a plugin to be tested: its tool does what its arguments say.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {}

type args struct {
	Do   string `json:"do"`
	Text string `json:"text"`
	N    int    `json:"n"`
}

//go:wasmexport river
func river() int32 { return guest.Run(run) }

func run(c *guest.Call, in args) (guest.Result, error) {
	switch in.Do {
	case "lines":
		var b strings.Builder
		for i := range in.N {
			fmt.Fprintf(&b, "line %d of the river\n", i+1)
		}
		return guest.Result{Text: b.String(), More: &tool.More{Shown: in.N, Total: 2 * in.N, Args: []byte(`{"n":7}`)}, Sources: []tool.Source{{Title: "the river", URL: "https://example.com/river"}}}, nil
	case "read":
		b, err := fs.ReadFile(c.FS("/workspace"), in.Text)
		if err != nil {
			return guest.Result{}, guest.Errorf(tool.BadArgs, "Name a file that is there.", "There is no file %q.", in.Text)
		}
		return guest.Text(string(b)), nil
	case "write":
		if err := os.WriteFile("/workspace/out.txt", []byte(in.Text), 0o644); err != nil {
			return guest.Result{}, err
		}
		return guest.Text("written"), nil
	case "get":
		r, err := c.HTTP(guest.Request{Method: "POST", URL: in.Text, Headers: map[string]string{"X-River": "high"}, Body: []byte(`{"n":1}`)})
		if err != nil {
			return guest.Result{}, err
		}
		return guest.Text(fmt.Sprintf("%d %s", r.Status, r.Body)), nil
	case "crash":
		if len([]rune(in.Text)) > 2 && in.N > 10 {
			panic("the dam broke")
		}
	case "config":
		depth, _ := c.Config("depth")
		return guest.Text(c.Say("depth ", "深度 ") + depth), nil
	case "picture":
		return guest.Result{Text: "a picture", Parts: []tool.Blob{{Name: "p.png", MIME: "image/png", Data: []byte("png")}}}, nil
	}
	return guest.Text("it flows"), nil
}
