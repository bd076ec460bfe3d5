package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// A Result is what a tool answers: its whole text, of which the host keeps the first
// 8 MiB, and where
// it comes from.
type Result struct {
	Text string
	// Sources are the pages or files the text comes from.
	Sources []tool.Source
	// More says that the tool stopped early and how to go on; nil: it did not.
	More *tool.More
	// Entries says where the entries of Text begin, as List notes it; nil: it has none.
	Entries *tool.Entries
	// Parts are images and other bytes; the model reads one line about each.
	Parts []tool.Blob
}

// Text is the Result of a tool that has nothing but text to say.
func Text(s string) Result { return Result{Text: s} }

// Errorf makes the error a tool returns: a code that programs branch on, a
// hint that says what to do next (it may be empty) and one sentence. Its method Zh adds
// both in Chinese, for conversations in that language.
func Errorf(code tool.Code, hint, format string, args ...any) *tool.Error {
	return tool.Errorf(code, hint, format, args...)
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

// encode writes a tool's answer as an MCP tool result with our additions; it
// always gives valid JSON. Most answers are a text and nothing else: it is written
// without encoding/json, which would analyse the types again in every call because
// every call begins with the same memory.
func encode(r Result, err error) []byte {
	if err != nil {
		return encodeError(err)
	}
	b := append(make([]byte, 0, len(r.Text)+len(r.Text)/8+64), textStart...)
	b = append(appendString(b, r.Text), '}')
	for _, p := range r.Parts {
		b, err = appendJSON(append(b, ','), partOf(p), err)
	}
	b = append(b, ']')
	if len(r.Sources) > 0 {
		b, err = appendJSON(append(b, `,"sources":`...), r.Sources, err)
	}
	if r.More != nil {
		b, err = appendJSON(append(b, `,"more":`...), r.More, err)
	}
	if e := r.Entries; e != nil {
		b = appendEntries(append(b, `,"entries":`...), e)
	}
	if err != nil { // only More.Args, which a tool writes by hand, can be invalid JSON
		return encodeError(Errorf(tool.Failed, "", "The tool gave arguments to continue that are not JSON."))
	}
	return append(b, `,"isError":false}`...)
}

const textStart = `{"content":[{"type":"text","text":`

// appendEntries writes entries as JSON: there may be many of them.
func appendEntries(b []byte, e *tool.Entries) []byte {
	b = append(b, `{"lines":[`...)
	for i, n := range e.Lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, ']')
	if e.Show > 0 {
		b = strconv.AppendInt(append(b, `,"show":`...), int64(e.Show), 10)
	}
	return append(b, '}')
}

// failure is an error as the host reads it.
func failure(err error) *tool.Error {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e
	}
	return &tool.Error{Code: tool.Failed, Msg: err.Error()}
}

func encodeError(err error) []byte {
	e := failure(err)
	b := appendString([]byte(textStart), e.Msg)
	b = append(b, `}],"isError":true,"error":{"code":`...)
	b = appendString(b, string(e.Code))
	b = appendString(append(b, `,"message":`...), e.Msg)
	if e.Hint != "" {
		b = appendString(append(b, `,"hint":`...), e.Hint)
	}
	return append(b, `}}`...)
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

// appendJSON adds v to b. failed is what went wrong before, and goes on.
func appendJSON(b []byte, v any, failed error) ([]byte, error) {
	text, err := marshal(v)
	if err != nil {
		failed = err
	}
	return append(b, text...), failed
}

// appendString writes a string as marshal does.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf:
			i += plain(s[i:])
			continue
		case chinese(s[i:]):
			i += 3
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		b = appendEscape(append(b, s[from:i]...), r)
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscape(b []byte, r rune) []byte {
	if i := strings.IndexRune("\"\\\b\f\n\r\t", r); i >= 0 {
		return append(b, '\\', `"\bfnrt`[i])
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
