package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxMCP bounds the bytes of an MCP result: its text is escaped and its parts are
// in base64, so that it may be longer than the text it holds. Of a longer one only the
// beginning is read.
const MaxMCP = 3 * tool.MaxWhole

// StructuredName is the name of the part that has the structured content of a result
// whose text does not repeat it.
const StructuredName = "structured.json"

// HintAuthor is the hint of a failure that only the plugin's author can fix.
const HintAuthor = "use another tool; this is a bug in the plugin, and only its author can fix it"

// maxErrorChars bounds the message of a tool's own error. A longer text stays the
// text of the result.
const maxErrorChars = 500

// DecodeMCP returns an answer that is a result of the Model Context Protocol. Parts
// that are not text are described in the text, in the language l. An answer that is
// no such result has an Err.
func DecodeMCP(raw []byte, l tool.Locale) Answer {
	if len(raw) > MaxMCP {
		return decodeBeginning(raw[:MaxMCP], len(raw))
	}
	if text, ok := singleText(raw); ok {
		a := decodeText(text)
		a.RawSize = len(raw)
		return a
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return Answer{}
	}
	var r result
	// As Normalise does: encoding/json needs three bytes for each one that is wrong.
	if err := json.Unmarshal(bytes.ToValidUTF8(raw, []byte(string(utf8.RuneError))), &r); err != nil {
		if fail, ok := errors.AsType[*tool.Error](err); ok {
			return Answer{RawSize: len(raw), Err: fail}
		}
		return Answer{RawSize: len(raw), Err: tool.Errorf(tool.Failed, HintAuthor, "the tool's answer is not the result object that its manifest promises")}
	}
	return r.answer(len(raw), l)
}

// textStart begins a result whose first part is a text, as the SDKs write it.
const textStart = `{"content":[{"type":"text","text":`

// decodeBeginning returns the beginning of a result that is too long to be read as
// JSON: that of its first text, or else of the JSON itself.
func decodeBeginning(raw []byte, size int) Answer {
	valid := bytes.ToValidUTF8(raw, []byte(string(utf8.RuneError)))
	a := DecodeText(valid)
	if quoted, ok := bytes.CutPrefix(valid, []byte(textStart)); ok {
		if first, ok := jsonscan.TextStart(quoted); ok {
			a = decodeText(first)
		}
	}
	a.RawSize, a.Cut = size, true
	return a
}

// singleText returns the text of a result that holds one text and nothing else, in
// the form in which the SDKs write it; ok is false for every other result.
func singleText(raw []byte) (text string, ok bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(textStart))
	if !ok {
		return "", false
	}
	quoted, ok := bytes.CutSuffix(rest, []byte(`}],"isError":false}`))
	if !ok {
		if quoted, ok = bytes.CutSuffix(rest, []byte(`}]}`)); !ok {
			return "", false
		}
	}
	return jsonscan.Text(quoted)
}

// A result is a tool result of the Model Context Protocol, with sources, more and
// error added.
type result struct {
	Content    contents        `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	Sources    sources         `json:"sources"`
	More       *tool.More      `json:"more"`
	IsError    bool            `json:"isError"`
	Error      *tool.Error     `json:"error"`
}

// Bounds of what needs many times its size in memory: an item of two bytes needs some
// hundred.
const (
	maxParts    = 10_000
	maxSources  = 1_000
	maxCompared = 100_000 // values of structured content that is compared with the text
	maxMoreArgs = 4 << 10 // bytes
)

const hintSmaller = "ask for less at once, or narrow the arguments"

type contents []content

// UnmarshalJSON counts the items before it reads them.
func (c *contents) UnmarshalJSON(raw []byte) error {
	if jsonscan.Count(raw).Items > maxParts {
		return tool.Errorf(tool.TooLarge, hintSmaller, "the tool's answer has more than %d parts", maxParts)
	}
	return json.Unmarshal(raw, (*[]content)(c))
}

type sources []tool.Source

// UnmarshalJSON counts the items before it reads them.
func (s *sources) UnmarshalJSON(raw []byte) error {
	if jsonscan.Count(raw).Items > maxSources {
		return tool.Errorf(tool.TooLarge, hintSmaller, "the tool's answer names more than %d sources", maxSources)
	}
	return json.Unmarshal(raw, (*[]tool.Source)(s))
}

type content struct {
	Type     string    `json:"type"`
	Text     string    `json:"text"`
	Data     []byte    `json:"data"`
	MIME     string    `json:"mimeType"`
	Name     string    `json:"name"`
	URI      string    `json:"uri"`
	Title    string    `json:"title"`
	Resource *resource `json:"resource"`
}

type resource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType"`
	Text *string `json:"text"`
	Blob []byte  `json:"blob"`
}

// answer joins the texts. Each part that is not text is one line of the text.
func (r result) answer(size int, l tool.Locale) Answer {
	var lines []string
	var parts []tool.Blob
	links := []tool.Source(r.Sources)
	for _, c := range r.Content {
		switch {
		case c.Type == "text", c.Text != "" && c.Resource == nil && len(c.Data) == 0: // some servers omit the type, or call a text a resource
			lines = append(lines, c.Text)
		case c.Type == "resource_link":
			links = append(links, tool.Source{Title: cmp.Or(c.Title, c.Name), URL: c.URI})
			lines = append(lines, strings.TrimSpace(cmp.Or(c.Title, c.Name)+" "+c.URI))
		case c.Resource != nil && c.Resource.Text != nil:
			lines = append(lines, *c.Resource.Text)
		default:
			b := c.blob()
			parts = append(parts, b)
			lines = append(lines, PartLine(b, l))
		}
	}
	if s := r.Structured; len(s) > 0 && string(s) != "null" {
		if strings.TrimSpace(strings.Join(lines, "")) == "" {
			lines = append(lines, string(s))
		} else if !r.IsError && !r.repeated() && !r.wrapped() {
			b := tool.Blob{Name: StructuredName, MIME: "application/json", Data: s}
			parts = append(parts, b)
			lines = append(lines, PartLine(b, l))
		}
	}
	a := DecodeText([]byte(strings.Join(lines, "\n")))
	a.RawSize, a.Parts, a.More, a.Sources, a.Structured = size, parts, r.more(), cleanSources(links), r.Structured
	if r.IsError || r.Error != nil {
		return r.failed(a)
	}
	return a
}

// repeated reports whether a text means the same as the structured content, which
// servers repeat for clients that read only text. Of content with more values than
// maxCompared it does not know, and it stops when the texts that it compared have as many.
func (r result) repeated() bool {
	var value any
	left := maxCompared
	size := jsonscan.Count(r.Structured).Values
	if size > maxCompared || json.Unmarshal(r.Structured, &value) != nil {
		return false
	}
	return slices.ContainsFunc(r.Content, func(c content) bool {
		var other any
		text := []byte(strings.TrimSpace(c.Text))
		if left < size || jsonscan.Count(text).Values != size {
			return false
		}
		left -= size
		return json.Unmarshal(text, &other) == nil && reflect.DeepEqual(other, value)
	})
}

// wrapped reports whether the structured content is one member that repeats the texts:
// what it holds is a string, or a list with one text for each element. Of content with
// more values than maxCompared it does not know.
func (r result) wrapped() bool {
	if jsonscan.Count(r.Structured).Values > maxCompared {
		return false
	}
	members, value := 0, ""
	for _, v := range jsonscan.Members(string(r.Structured)) {
		if members++; members > 1 {
			return false
		}
		value = v
	}
	if members == 0 || len(r.Content) == 0 {
		return false
	}
	if len(r.Content) == 1 && repeats(r.Content[0].Text, value) {
		return true
	}
	dec := json.NewDecoder(strings.NewReader(value))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return false
	}
	for _, c := range r.Content {
		var element json.RawMessage
		if dec.Decode(&element) != nil || !repeats(c.Text, string(element)) {
			return false
		}
	}
	return !dec.More()
}

// repeats reports whether a text is a JSON string, or means the same as a JSON value of
// at most maxCompared values.
func repeats(text, value string) bool {
	var s string
	if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &s) == nil {
		return s == text
	}
	return result{Structured: json.RawMessage(value), Content: contents{{Text: text}}}.repeated()
}

func (c content) blob() tool.Blob {
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

// PartLine returns the line that a model reads in place of a part.
func PartLine(b tool.Blob, l tool.Locale) string {
	name, mime := cmp.Or(text.OneLine(b.Name, 100), "–"), text.OneLine(b.MIME, 60)
	return msg.In(l, tool.Textf("[part %s: %s, %d bytes]", name, mime, len(b.Data)))
}

// more returns the tool's claim that there is more, without a negative number and
// without arguments that are not an object or too long to be shown.
func (r result) more() *tool.More {
	if r.More == nil || r.More.Shown < 0 || r.More.Total < 0 {
		return nil
	}
	more := *r.More
	if !bytes.HasPrefix(more.Args, []byte("{")) || len(more.Args) > maxMoreArgs {
		more.Args = nil
	}
	return &more
}

// cleanSources normalises the sources that a tool names.
func cleanSources(in []tool.Source) []tool.Source {
	var out []tool.Source
	for _, s := range in {
		s.Title = text.OneLine(s.Title, 300)
		s.URL = text.OneLine(s.URL, 2000)
		if s.URL != "" || s.Title != "" {
			out = append(out, s)
		}
	}
	return out
}

// failed returns a with the tool's own error. A text that is the error's message is
// not repeated as the text of the result.
func (r result) failed(a Answer) Answer {
	e := &tool.Error{Code: tool.Failed, Msg: text.OneLine(a.Text, maxErrorChars)}
	if r.Error != nil {
		if toolCode(r.Error.Code) {
			e.Code = r.Error.Code
		}
		e.Hint = text.OneLine(r.Error.Hint, maxErrorChars)
		if msg := text.OneLine(r.Error.Msg, maxErrorChars); msg != "" {
			e.Msg = msg
		}
	}
	if e.Msg == "" {
		e = tool.NewError(e.Code, tool.Textf("the tool failed and gave no reason"), tool.Text{Format: e.Hint})
	}
	if text.OneLine(a.Text, maxErrorChars+1) == e.Msg {
		a.Text, a.Raw = "", nil
	}
	a.Err = e
	return a
}

// toolCode reports whether a tool can fail with this code by its own account. Only
// the host knows of the others.
func toolCode(c tool.Code) bool {
	switch c {
	case tool.BadArgs, tool.Failed, tool.TimedOut, tool.TooLarge, tool.Denied, tool.RateLimited, tool.Expired:
		return true
	}
	return false
}
