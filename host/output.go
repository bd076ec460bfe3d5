package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// An output is what a guest answered, read and normalised.
type output struct {
	whole   string
	raw     []byte // nil when normalising changed nothing
	sources []tool.Source
	parts   []tool.Blob
	more    *tool.More
	err     *tool.Error
	rawSize int
}

// bytes is the memory an output takes.
func (o output) bytes() int {
	n := len(o.whole) + len(o.raw)
	for _, p := range o.parts {
		n += len(p.Data)
	}
	return n
}

// maxEnvelope bounds the bytes of an MCP-shaped answer, whose text is escaped
// and whose parts are in base64.
const maxEnvelope = 3 * tool.MaxWhole

// read reads a guest's answer.
func read(answer []byte, f registry.Format, w wording) output {
	if f != registry.FormatMCP {
		return textOutput(answer)
	}
	if text, ok := oneText(answer); ok {
		o := textOutput(text)
		o.rawSize = len(answer)
		return o
	}
	var m mcpResult
	dec := json.NewDecoder(bytes.NewReader(answer))
	if err := dec.Decode(&m); err != nil || dec.More() {
		if len(bytes.TrimSpace(answer)) == 0 {
			return output{}
		}
		return output{rawSize: len(answer), err: w.failure(tool.Failed, w.notMCP, w.hintAuthor)}
	}
	return m.output(len(answer), w)
}

// oneText reads the answer of a tool that has a text to say and nothing else, as
// the SDKs write it; ok is false for every other. The text may be a part of it.
func oneText(answer []byte) (text []byte, ok bool) {
	rest, ok := bytes.CutPrefix(answer, []byte(`{"content":[{"type":"text","text":`))
	if !ok {
		return nil, false
	}
	quoted, ok := bytes.CutSuffix(rest, []byte(`}],"isError":false}`))
	if !ok {
		if quoted, ok = bytes.CutSuffix(rest, []byte(`}]}`)); !ok {
			return nil, false
		}
	}
	return jsonscan.Text(quoted)
}

// textOutput normalises plain text.
func textOutput(raw []byte) output {
	o := output{whole: limit.Normalise(raw), rawSize: len(raw)}
	if o.whole != string(raw) {
		o.raw = raw
	}
	return o
}

// mcpResult is a tool result as the Model Context Protocol shapes it, with
// sources, more and error added.
type mcpResult struct {
	Content    []mcpContent    `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	Sources    []tool.Source   `json:"sources"`
	More       *tool.More      `json:"more"`
	IsError    bool            `json:"isError"`
	Error      *tool.Error     `json:"error"`
}

type mcpContent struct {
	Type     string       `json:"type"`
	Text     string       `json:"text"`
	Data     []byte       `json:"data"`
	MIME     string       `json:"mimeType"`
	Name     string       `json:"name"`
	URI      string       `json:"uri"`
	Title    string       `json:"title"`
	Resource *mcpResource `json:"resource"`
}

type mcpResource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType"`
	Text *string `json:"text"`
	Blob []byte  `json:"blob"`
}

// output joins the text, sets the parts aside and names each in one line.
func (m mcpResult) output(size int, w wording) output {
	var lines []string
	var parts []tool.Blob
	links := m.Sources
	for _, c := range m.Content {
		switch {
		case c.Type == "text", c.Text != "" && c.Resource == nil && len(c.Data) == 0: // some leave the type out, or call text a resource
			lines = append(lines, c.Text)
		case c.Type == "resource_link":
			links = append(links, tool.Source{Title: cmp.Or(c.Title, c.Name), URL: c.URI})
			lines = append(lines, strings.TrimSpace(cmp.Or(c.Title, c.Name)+" "+c.URI))
		case c.Resource != nil && c.Resource.Text != nil:
			lines = append(lines, *c.Resource.Text)
		default:
			b := c.blob()
			parts = append(parts, b)
			lines = append(lines, describe(b, w))
		}
	}
	if s := m.Structured; len(s) > 0 && string(s) != "null" {
		if strings.TrimSpace(strings.Join(lines, "")) == "" {
			lines = append(lines, string(s))
		} else if !m.IsError && !slices.ContainsFunc(m.Content, func(c mcpContent) bool { return sameJSON(c.Text, s) }) {
			b := tool.Blob{Name: "structured.json", MIME: "application/json", Data: s}
			parts = append(parts, b)
			lines = append(lines, describe(b, w))
		}
	}
	o := textOutput([]byte(strings.Join(lines, "\n")))
	o.rawSize, o.parts, o.more, o.sources = size, parts, m.more(), clean(links)
	if m.IsError || m.Error != nil {
		o.err = m.failure(&o, w)
	}
	return o
}

// sameJSON reports whether a text says what a value does: answers carry their
// structured content as text again, for clients that know no other.
func sameJSON(text string, value json.RawMessage) bool {
	if text = strings.TrimSpace(text); text == "" || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return text == string(value)
	}
	var a, b any
	return json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal(value, &b) == nil && reflect.DeepEqual(a, b)
}

func (c mcpContent) blob() tool.Blob {
	b := tool.Blob{Name: c.Name, MIME: c.MIME, Data: c.Data}
	if r := c.Resource; r != nil {
		b = tool.Blob{Name: strings.TrimPrefix(r.URI, "part:"), MIME: r.MIME, Data: r.Blob}
		if u, err := url.Parse(r.URI); err == nil && u.Scheme != "part" && u.Scheme != "" {
			b.Name = path.Base(u.Path)
		}
	}
	if b.MIME == "" {
		b.MIME = "application/octet-stream"
	}
	return b
}

// describe is the line a model reads in place of a part.
func describe(b tool.Blob, w wording) string {
	name := limit.Normalise([]byte(b.Name))
	if name = strings.Join(strings.Fields(name), " "); name == "" {
		name = "–"
	}
	return fmt.Sprintf(w.part, clip(name, 100), clip(strings.Join(strings.Fields(b.MIME), " "), 60), len(b.Data))
}

// more drops a claim that says nothing, and arguments that are no object.
func (m mcpResult) more() *tool.More {
	if m.More == nil || m.More.Shown < 0 || m.More.Total < 0 {
		return nil
	}
	more := *m.More
	var object map[string]json.RawMessage
	if json.Unmarshal(more.Args, &object) != nil {
		more.Args = nil
	}
	return &more
}

// clean normalises what a guest says its sources are.
func clean(in []tool.Source) []tool.Source {
	var out []tool.Source
	for _, s := range in {
		s.Title = oneLine(s.Title, 300)
		s.URL = oneLine(s.URL, 2000)
		if s.URL != "" || s.Title != "" {
			out = append(out, s)
		}
	}
	return out
}

// maxError is how much of a tool's own error text is a message, in characters;
// a longer one stays behind as the result's text.
const maxError = 500

// failure is the tool's own error. Its text is not shown twice.
func (m mcpResult) failure(o *output, w wording) *tool.Error {
	e := &tool.Error{Code: tool.Failed, Msg: oneLine(o.whole, maxError)}
	if m.Error != nil {
		if ownCodes[m.Error.Code] {
			e.Code = m.Error.Code
		}
		e.Hint = oneLine(m.Error.Hint, maxError)
		if msg := oneLine(m.Error.Msg, maxError); msg != "" {
			e.Msg = msg
		}
	}
	if e.Msg == "" {
		e.Msg = w.unexplained
	}
	if oneLine(o.whole, len(o.whole)) == e.Msg {
		o.whole, o.raw = "", nil
	}
	return e
}

// ownCodes are the failures a tool can claim for itself; the others are facts
// that only the host knows.
var ownCodes = map[tool.Code]bool{
	tool.BadArgs: true, tool.Failed: true, tool.TimedOut: true, tool.TooLarge: true,
	tool.Denied: true, tool.RateLimited: true, tool.Expired: true,
}

// oneLine normalises a short text, puts it on one line and clips it.
func oneLine(s string, chars int) string {
	return clip(strings.Join(strings.Fields(limit.Normalise([]byte(s))), " "), chars)
}

// clip returns at most n characters of s.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:max(n-1, 0)]) + "…"
	}
	return s
}
