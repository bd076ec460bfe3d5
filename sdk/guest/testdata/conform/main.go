// Command conform is the tool that every SDK of weir has: it does what its
// argument "do" says, so that the vectors of sdk/testdata/abi can ask each SDK
// for the same.
package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

type args struct {
	Do      string          `json:"do"`
	Text    string          `json:"text"`
	Count   int             `json:"count"`
	Number  float64         `json:"number"`
	Whole   *int            `json:"whole"`
	Flag    bool            `json:"flag"`
	List    []string        `json:"list"`
	Object  map[string]any  `json:"object"`
	Sources []tool.Source   `json:"sources"`
	Shown   int             `json:"shown"`
	Total   int             `json:"total"`
	Args    json.RawMessage `json:"args"`
	Code    tool.Code       `json:"code"`
	Hint    string          `json:"hint"`
	Key     string          `json:"key"`
	URL     string          `json:"url"`
	Method  string          `json:"method"`
	Body    string          `json:"body"`
}

var calls int // 1 in every call: each starts fresh

//go:wasmexport conform
func export() int32 { return guest.Run(conform) }

func conform(c *guest.Call, in args) (guest.Result, error) {
	calls++
	switch in.Do {
	case "echo":
		return guest.Text(in.Text), nil
	case "repeat":
		return guest.Text(strings.Repeat(in.Text, in.Count)), nil
	case "length":
		return guest.Text(fmt.Sprintf("%d characters, %d bytes", utf8.RuneCountInString(in.Text), len(in.Text))), nil
	case "args":
		return guest.Text(in.describe()), nil
	case "sources":
		return guest.Result{Text: "see the sources", Sources: in.Sources}, nil
	case "more":
		return guest.Result{Text: "the first part", More: &tool.More{Shown: in.Shown, Total: in.Total, Args: in.Args}}, nil
	case "entries":
		list := guest.List{Show: in.Count}
		list.WriteString("a list\n")
		for _, s := range in.List {
			list.Entry()
			list.WriteString(s)
		}
		return list.Result(), nil
	case "part":
		return guest.Result{Text: "a picture", Parts: []tool.Blob{{Name: "dot.png", MIME: "image/png", Data: []byte("\x89PNG\x00\xff")}}}, nil
	case "fail":
		if in.Code == "" {
			in.Code = tool.Failed
		}
		return guest.Result{}, guest.Errorf(in.Code, in.Hint, "%s", in.Text)
	case "limits":
		return guest.Text(fmt.Sprintf("%d characters, %d lines", c.MaxChars(), c.MaxLines())), nil
	case "config":
		if value, ok := c.Config(in.Key); ok {
			return guest.Text(value), nil
		}
		return guest.Text("not set"), nil
	case "say":
		return guest.Text(c.Say("good morning", "早上好")), nil
	case "log":
		c.Log(guest.Warn, in.Text)
		return guest.Text("logged"), nil
	case "progress":
		c.Progress(1, 2, in.Text)
		return guest.Text("told"), nil
	case "http":
		r, err := c.HTTP(guest.Request{Method: in.Method, URL: in.URL, Headers: map[string]string{"X-Conform": "yes"}, Body: []byte(in.Body)})
		return guest.Text(fmt.Sprintf("%d %s %s", r.Status, r.Header("Content-Type"), r.Body)), err
	case "state":
		return guest.Text(fmt.Sprintf("call %d", calls)), nil
	case "trap":
		panic("as told")
	}
	return guest.Result{}, guest.Errorf(tool.BadArgs, "", "Argument \"do\" names nothing that is known.")
}

func (in args) describe() string {
	whole, answer, deep := 7, "no", "absent"
	if in.Whole != nil {
		whole = *in.Whole
	}
	if in.Flag {
		answer = "yes"
	}
	if s, ok := in.Object["deep"].(string); ok {
		deep = s
	}
	words := append([]string{"list"}, in.List...)
	return fmt.Sprintf("twice the number is %g, whole %d, %s, %s, deep %s", in.Number*2, whole, answer, strings.Join(words, " "), deep)
}

func main() {}
