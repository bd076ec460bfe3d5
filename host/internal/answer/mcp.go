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
	"sync"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxMCP bounds the bytes of an MCP result: its text is escaped and its parts are
// in base64, so that it may be longer than the text it holds. Of a longer one only the
// beginning is read.
const MaxMCP = 3 * tool.MaxWhole

// StructuredName is the name of the part that has the structured content of a result
// whose text does not repeat it.
const StructuredName = "structured.json"

// DecodeMCP returns an answer that is a result of the Model Context Protocol. Parts
// that are not text are described in the text, in the language l. An answer that is
// no such result has an Err.
func DecodeMCP(raw []byte, l tool.Locale) Answer { return decode(raw).answer(l) }

func decode(raw []byte) decoded {
	if len(raw) > MaxMCP {
		return decoded{size: len(raw), cut: true, pieces: []piece{{text: beginningOf(raw[:MaxMCP])}}}
	}
	if text, ok := jsonscan.Text(singleText(raw)); ok {
		return decoded{size: len(raw), pieces: []piece{{text: text}}}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return decoded{}
	}
	var r result
	// As Normalise does: encoding/json needs three bytes for each one that is wrong.
	if err := json.Unmarshal(bytes.ToValidUTF8(raw, []byte(string(utf8.RuneError))), &r); err != nil {
		fault := noResult
		_ = errors.As(err, &fault)
		return decoded{size: len(raw), fault: fault}
	}
	return r.decoded(len(raw))
}

// textStart begins a result whose first part is a text, as the SDKs write it.
const textStart = `{"content":[{"type":"text","text":`

// beginningOf returns the beginning of a result that is too long to be read as JSON:
// that of its first text, or else of the JSON itself.
func beginningOf(raw []byte) string {
	valid := bytes.ToValidUTF8(raw, []byte(string(utf8.RuneError)))
	if quoted, ok := bytes.CutPrefix(valid, []byte(textStart)); ok {
		if first, ok := jsonscan.TextStart(quoted); ok {
			return first
		}
	}
	return string(valid[:tool.MaxWhole+1]) // a byte more shows that there is more
}

// singleText returns the quoted text of a result that holds one text and nothing else, in
// the form in which the SDKs write it; nil for every other result.
func singleText(raw []byte) []byte {
	rest, ok := bytes.CutPrefix(raw, []byte(textStart))
	if !ok {
		return nil
	}
	quoted, ok := bytes.CutSuffix(rest, []byte(`}],"isError":false}`))
	if !ok {
		if quoted, ok = bytes.CutSuffix(rest, []byte(`}]}`)); !ok {
			return nil
		}
	}
	return quoted
}

// A result is a tool result of the Model Context Protocol, with sources, more, entries
// and error added.
type result struct {
	Content    contents        `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	Sources    sources         `json:"sources"`
	More       *tool.More      `json:"more"`
	Entries    entries         `json:"entries"`
	IsError    bool            `json:"isError"`
	Error      *tool.Error     `json:"error"`
	Meta       json.RawMessage `json:"_meta"`
}

// Bounds of what needs many times its size in memory: an item of two bytes needs some
// hundred.
const (
	maxParts    = 10_000
	maxSources  = 1_000
	maxCompared = 100_000 // values of structured content that is compared with the text
	maxMoreArgs = 4 << 10 // bytes
)

type contents []content

// UnmarshalJSON counts the items before it reads them.
func (c *contents) UnmarshalJSON(raw []byte) error {
	if jsonscan.Count(raw).Items > maxParts {
		return manyParts
	}
	return json.Unmarshal(raw, (*[]content)(c))
}

type sources []tool.Source

// UnmarshalJSON counts the items before it reads them.
func (s *sources) UnmarshalJSON(raw []byte) error {
	if jsonscan.Count(raw).Items > maxSources {
		return manySources
	}
	return json.Unmarshal(raw, (*[]tool.Source)(s))
}

type content struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Data        []byte          `json:"data"`
	MIME        string          `json:"mimeType"`
	Name        string          `json:"name"`
	URI         string          `json:"uri"`
	Title       string          `json:"title"`
	Resource    *resource       `json:"resource"`
	Description string          `json:"description"`
	Size        *int64          `json:"size"`
	Annotations json.RawMessage `json:"annotations"`
	Meta        json.RawMessage `json:"_meta"`
	Icons       json.RawMessage `json:"icons"`
}

type resource struct {
	URI  string          `json:"uri"`
	MIME string          `json:"mimeType"`
	Text *string         `json:"text"`
	Blob []byte          `json:"blob"`
	Meta json.RawMessage `json:"_meta"`
}

// decoded returns the texts, and what is not text, in their order.
func (r result) decoded(size int) decoded {
	d := decoded{size: size, meta: object(r.Meta), sources: r.Sources, more: claim(r.More), entries: r.Entries.some(), isError: r.IsError || r.Error != nil, err: r.Error}
	for _, c := range r.Content {
		switch {
		case c.Type == "text", c.Text != "" && c.Resource == nil && len(c.Data) == 0: // some servers omit the type, or call a text a resource
			d.pieces = append(d.pieces, piece{text: c.Text, form: c.form("text")})
		case c.Type == "resource_link":
			d.sources = append(d.sources, tool.Source{Title: cmp.Or(c.Title, c.Name), URL: c.URI})
			d.pieces = append(d.pieces, piece{head: c.line(), form: c.form(c.Type)})
		case c.Resource != nil && c.Resource.Text != nil:
			d.pieces = append(d.pieces, piece{head: c.Resource.head(), text: *c.Resource.Text, form: c.form("resource")})
		default:
			d.pieces = append(d.pieces, piece{kind: ofBlob, blob: c.blob(), form: c.form(c.Type)})
		}
	}
	if s := r.Structured; len(s) > 0 && string(s) != "null" {
		d.structured = s
		if !slices.ContainsFunc(d.pieces, func(p piece) bool { return p.kind == ofBlob || strings.TrimSpace(p.text) != "" }) {
			d.pieces = append(d.pieces, piece{kind: structuredText})
		} else if !r.repeated() && !r.wrapped() {
			d.pieces = append(d.pieces, piece{kind: structuredPart})
		}
	}
	return d
}

// repeated reports whether a text means the same as the structured content, which
// servers repeat for clients that read only text. Of content with more values than
// maxCompared it does not know, and it stops when the texts that it compared have as many.
func (r result) repeated() bool {
	left, size := maxCompared, jsonscan.Count(r.Structured).Values
	if size > maxCompared {
		return false
	}
	value := sync.OnceValue(func() (v any) {
		_ = json.Unmarshal(r.Structured, &v) // it was a part of what was decoded
		return v
	})
	return slices.ContainsFunc(r.Content, func(c content) bool {
		var other any
		text := []byte(strings.TrimSpace(c.Text))
		if left < size || jsonscan.Count(text).Values != size {
			return false
		}
		left -= size
		return json.Unmarshal(text, &other) == nil && reflect.DeepEqual(other, value())
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
	return b
}

// claim returns the tool's claim that there is more, without a negative number and
// without arguments that are not an object or too long to be shown.
func claim(m *tool.More) *tool.More {
	if m == nil || m.Shown < 0 || m.Total < 0 {
		return nil
	}
	more := *m
	if !bytes.HasPrefix(more.Args, []byte("{")) || len(more.Args) > maxMoreArgs {
		more.Args = nil
	}
	return &more
}
