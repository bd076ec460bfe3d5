// Package answer reads what a tool answered, a plugin's guest or another MCP
// server, and remembers the answers of tools that allow it. DecodeText reads plain
// text, DecodeMCP a result of the Model Context Protocol, DecodeFlat one that Flatten
// has decoded in another process; all normalise the text
// and keep what normalising changed. Cache returns an earlier answer to the same
// call, and lets concurrent callers wait for one of them.
package answer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// An Answer is what a tool answered, decoded and normalised. It must not be
// modified: the Cache shares it between callers.
type Answer struct {
	Text    string // normalised, whole
	Raw     []byte // the text before normalising; nil if that changed nothing
	Sources []tool.Source
	Parts   []tool.Blob // what is not text
	More    *tool.More
	// Entries says where the entries of Text begin; nil: it has none, or what the tool says
	// of them cannot be.
	Entries *tool.Entries
	Err     *tool.Error // the failure that the tool reports; nil: none
	RawSize int         // of what came from the tool, in bytes
	// Structured is the structured content of an MCP result; nil: none.
	Structured json.RawMessage
	// Blocks and Meta are those of the tool.Result.
	Blocks []tool.Block
	Meta   json.RawMessage
	// Cut reports that the tool produced more than tool.MaxWhole bytes of text, or an
	// answer of more than MaxMCP: Text is their beginning.
	Cut bool
	// Refused and Note are those of the tool.Result.
	Refused []string
	Note    string
}

// bytes returns the memory that the answer needs.
func (a Answer) bytes() int {
	n := len(a.Text) + len(a.Raw) + len(a.Structured) + len(a.Meta)
	for _, b := range a.Blocks {
		n += len(b.Form) + len(b.Text) + 64
	}
	if a.Entries != nil {
		n += 8 * len(a.Entries.Lines)
	}
	for _, p := range a.Parts {
		n += len(p.Data)
	}
	return n
}

// Decode is DecodeText for a text, DecodeFlat for a flat form, else DecodeMCP.
func Decode(raw []byte, text, flat bool, l tool.Locale) Answer {
	switch {
	case text:
		return DecodeText(raw)
	case flat:
		return DecodeFlat(raw, l)
	}
	return DecodeMCP(raw, l)
}

// DecodeText returns an answer that is plain text, or the beginning of one.
func DecodeText(raw []byte) Answer {
	a := decodeText(string(raw[:min(len(raw), tool.MaxWhole+1)])) // a byte more shows that there is more
	a.RawSize = len(raw)
	return a
}

func decodeText(raw string) Answer {
	a := Answer{RawSize: len(raw), Cut: len(raw) > tool.MaxWhole}
	if a.Cut {
		raw = strings.Clone(beginning(raw)) // without the memory of the rest
	}
	a.Text = limit.NormaliseString(raw)
	if len(a.Text) > tool.MaxWhole { // an invalid byte becomes three
		a.Text, a.Cut = beginning(a.Text), true
	}
	if a.Text != raw {
		a.Raw = []byte(raw)
	}
	return a
}

// beginning returns the first tool.MaxWhole bytes of a text, without a character whose
// rest comes after them.
func beginning(text string) string {
	if len(text) <= tool.MaxWhole {
		return text
	}
	text = text[:tool.MaxWhole]
	for i := 1; i < utf8.UTFMax; i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				text = text[:len(text)-i]
			}
			break
		}
	}
	return text
}
