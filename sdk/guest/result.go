package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A Result is what a tool answers: its whole text, at most 8 MiB, and where
// it comes from.
type Result struct {
	Text string
	// Sources are the pages or files the text comes from.
	Sources []tool.Source
	// More says that the tool stopped early and how to go on; nil: it did not.
	More *tool.More
	// Parts are images and other bytes; the model reads one line about each.
	Parts []tool.Blob
}

// Text is the Result of a tool that has nothing but text to say.
func Text(s string) Result { return Result{Text: s} }

// Errorf makes the error a tool returns: a code that programs branch on, a
// hint that says what to do next (it may be empty) and one sentence.
func Errorf(code tool.Code, hint, format string, args ...any) error {
	return tool.Errorf(code, hint, format, args...)
}

// wire is the output of every call: an MCP tool result with our additions.
type wire struct {
	Content []part        `json:"content"`
	Sources []tool.Source `json:"sources,omitempty"`
	More    *tool.More    `json:"more,omitempty"`
	IsError bool          `json:"isError"`
	Error   *tool.Error   `json:"error,omitempty"`
}

// part is one content block. Text is a pointer because an empty text is
// written out, and the other kinds have none.
type part struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	MIME     string    `json:"mimeType,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// resource holds bytes that are neither image nor sound.
type resource struct {
	URI  string `json:"uri"`
	MIME string `json:"mimeType"`
	Blob []byte `json:"blob"`
}

// encode writes a tool's answer in wire form; it always gives valid JSON.
func encode(r Result, err error) []byte {
	if err == nil && len(r.Text) > tool.MaxWhole {
		err = Errorf(tool.TooLarge, "Ask for a smaller part.",
			"The result has %d bytes; at most %d can be returned.", len(r.Text), tool.MaxWhole)
	}
	w := wire{Content: []part{{Type: "text", Text: &r.Text}}, Sources: r.Sources, More: r.More}
	for _, p := range r.Parts {
		w.Content = append(w.Content, partOf(p))
	}
	if err != nil {
		w = failure(err)
	}
	b, err := marshal(w)
	if err != nil {
		// Only More.Args, which a tool writes by hand, can be invalid JSON.
		b, _ = marshal(failure(Errorf(tool.Failed, "", "The tool gave arguments to continue that are not JSON.")))
	}
	return b
}

func failure(err error) wire {
	e, ok := errors.AsType[*tool.Error](err)
	if !ok {
		e = &tool.Error{Code: tool.Failed, Msg: err.Error()}
	}
	return wire{Content: []part{{Type: "text", Text: &e.Msg}}, IsError: true, Error: e}
}

func partOf(b tool.Blob) part {
	kind, _, _ := strings.Cut(b.MIME, "/")
	if kind == "image" || kind == "audio" {
		return part{Type: kind, Data: b.Data, MIME: b.MIME, Name: b.Name}
	}
	return part{Type: "resource", Resource: &resource{URI: "part:" + b.Name, MIME: b.MIME, Blob: b.Data}}
}

// marshal is json.Marshal without the escapes for web pages: they would make
// source code up to six times as long on its way to the host.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
