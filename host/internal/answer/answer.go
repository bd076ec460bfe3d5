// Package answer reads what a tool answered, a plugin's guest or another MCP
// server, and remembers the answers of tools that allow it. DecodeText reads plain
// text, DecodeMCP a result of the Model Context Protocol; both normalise the text
// and keep what normalising changed. Cache returns an earlier answer to the same
// call, and lets concurrent callers wait for one of them.
package answer

import (
	"encoding/json"

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
	Err     *tool.Error // the failure that the tool reports; nil: none
	RawSize int         // of what came from the tool, in bytes
	// Structured is the structured content of an MCP result; nil: none.
	Structured json.RawMessage
	// Refused and Note are those of the tool.Result.
	Refused []string
	Note    string
}

// bytes returns the memory that the answer needs.
func (a Answer) bytes() int {
	n := len(a.Text) + len(a.Raw) + len(a.Structured)
	for _, p := range a.Parts {
		n += len(p.Data)
	}
	return n
}

// DecodeText returns an answer that is plain text.
func DecodeText(raw []byte) Answer {
	a := Answer{Text: limit.Normalise(raw), RawSize: len(raw)}
	if a.Text != string(raw) {
		a.Raw = raw
	}
	return a
}
