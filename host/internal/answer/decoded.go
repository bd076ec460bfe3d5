package answer

import (
	"cmp"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// A decoded is a result of the Model Context Protocol without its JSON. It says nothing
// in any language.
type decoded struct {
	size       int // of what came from the tool, in bytes
	fault      fault
	cut        bool // there was more
	isError    bool
	pieces     []piece
	sources    []tool.Source
	structured []byte // JSON; nil: none
	more       *tool.More
	entries    *tool.Entries // of the texts as they came
	meta       []byte        // JSON; nil: none
	err        *tool.Error
}

// A piece is what becomes one line or more of the text.
type piece struct {
	kind pieceKind
	head string    // of ofText: what is said of a resource before its text
	text string    // of ofText
	raw  []byte    // in place of text
	blob tool.Blob // of ofBlob
	form []byte    // see tool.Block; nil: none
}

type pieceKind byte

const (
	ofText pieceKind = iota
	ofBlob
	structuredText // the structured content
	structuredPart // the line about it

	pieceKinds
)

// A fault is why an answer is no result.
type fault byte

const (
	noFault fault = iota
	noResult
	manyParts
	manySources

	faults
)

// Error implements error, for those who count before they decode.
func (f fault) Error() string { return f.failure().Error() }

const hintSmaller = "ask for less at once, or narrow the arguments"

// HintAuthor is the hint of a failure that only the plugin's author can fix.
const HintAuthor = "use another tool; this is a bug in the plugin, and only its author can fix it"

func (f fault) failure() *tool.Error {
	switch f {
	case manyParts:
		return tool.Errorf(tool.TooLarge, hintSmaller, "the tool's answer has more than %d parts", maxParts)
	case manySources:
		return tool.Errorf(tool.TooLarge, hintSmaller, "the tool's answer names more than %d sources", maxSources)
	}
	return tool.Errorf(tool.Failed, HintAuthor, "the tool's answer is not the result object that its manifest promises")
}

// room returns the length of the texts with their ends, and some more for each part.
func (d decoded) room() int {
	n := 0
	for _, p := range d.pieces {
		switch p.kind {
		case ofText:
			n += len(p.head) + len(p.text) + len(p.raw) + 1
		case structuredText:
			n += len(d.structured)
		default:
			n += 80
		}
	}
	return n
}

// answer joins the texts. Each part that is not text is one line of the text, in the
// language l.
func (d decoded) answer(l tool.Locale) Answer {
	if d.fault != noFault {
		return Answer{RawSize: d.size, Err: d.fault.failure()}
	}
	if len(d.pieces) == 1 && d.pieces[0].kind == ofText && d.pieces[0].form == nil {
		return d.withText(cmp.Or(d.pieces[0].text, string(d.pieces[0].raw)), nil)
	}
	var whole strings.Builder
	whole.Grow(d.room())
	var parts []tool.Blob
	for i, p := range d.pieces {
		if i > 0 {
			whole.WriteByte('\n')
		}
		switch p.kind {
		case ofText:
			whole.WriteString(p.head)
			whole.WriteString(p.text)
			whole.Write(p.raw)
			continue
		case structuredText:
			whole.Write(d.structured)
			continue
		case structuredPart:
			p.blob = tool.Blob{Name: StructuredName, MIME: "application/json", Data: d.structured}
		}
		p.blob.MIME = cmp.Or(p.blob.MIME, "application/octet-stream")
		parts = append(parts, p.blob)
		whole.WriteString(PartLine(p.blob, l))
	}
	return d.withText(whole.String(), parts)
}

// withText returns the answer with these texts and parts.
func (d decoded) withText(whole string, parts []tool.Blob) Answer {
	a := decodeText(whole)
	a.RawSize, a.Parts, a.More, a.Sources, a.Structured, a.Meta = d.size, parts, d.more, cleanSources(d.sources), d.structured, d.meta
	a.Blocks = d.blocks(a)
	a.Entries = placed(beginning(whole), a, d.entries)
	a.Cut = a.Cut || d.cut
	if d.isError {
		return d.failed(a)
	}
	return a
}

// PartLine returns the line that a model reads in place of a part.
func PartLine(b tool.Blob, l tool.Locale) string {
	name, mime := cmp.Or(text.OneLine(b.Name, 100), "–"), text.OneLine(b.MIME, 60)
	return msg.In(l, tool.Textf("[part %s: %s, %d bytes]", name, mime, len(b.Data)))
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

// maxErrorChars bounds the message of a tool's own error. A longer text stays the
// text of the result.
const maxErrorChars = 500

// failed returns a with the tool's own error. A text that is the error's message is
// not repeated as the text of the result.
func (d decoded) failed(a Answer) Answer {
	said := a.Text
	if n := len(d.pieces); n > 0 && d.pieces[n-1].kind == structuredPart {
		said = said[:max(0, strings.LastIndexByte(said, '\n'))]
	}
	e := &tool.Error{Code: tool.Failed, Msg: text.OneLine(said, maxErrorChars)}
	if d.err != nil {
		if toolCode(d.err.Code) {
			e.Code = d.err.Code
		}
		e.Hint = text.OneLine(d.err.Hint, maxErrorChars)
		if msg := text.OneLine(d.err.Msg, maxErrorChars); msg != "" {
			e.Msg = msg
		}
	}
	if e.Msg == "" {
		e = tool.NewError(e.Code, tool.Textf("the tool failed and gave no reason"), tool.Text{Format: e.Hint})
	}
	switch one := text.OneLine(said, maxErrorChars); {
	case one != e.Msg:
	case one == strings.TrimSpace(a.Text):
		a.Text, a.Raw = "", nil
	default:
		e.InText = true
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
