package parse

import (
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
)

// mode is what the reading is inside of.
type mode int

const (
	inLine    mode = iota // at the start of a line of text
	inText                // inside a line of text
	inCode                // inside `code` of a line
	inFence               // inside a fence that holds no call
	inThought             // inside reasoning
	inTail                // after special tokens that may end the reply
	inGroup               // inside what is, or may be, a group of calls
)

// An input is the text of the reply as far as it has come, and where the reading is. It
// is scanned once. Whoever reads moves mode and pos; nobody else writes to the rest.
type input struct {
	tools     *toolset.Set
	mentions  bool // every call counts, whatever is around it
	marked    bool // as Reading.Marked
	shown     bool // as Reading.Shown
	buf       []byte
	pos       int // what lies before has been scanned
	mode      mode
	final     bool // nothing follows buf
	truncated bool // because of a length limit
}

// add takes the next chunk.
func (in *input) add(chunk string) { in.buf = append(in.buf, chunk...) }

// end takes the end of the reply.
func (in *input) end(truncated bool) { in.final, in.truncated = true, truncated }

// takeAll makes every call count, whatever is around it.
func (in *input) takeAll() { in.mentions = true }

// goOn continues the reading at pos inside of what m says.
func (in *input) goOn(m mode, pos int) { in.mode, in.pos = m, pos }

// forget drops the first n bytes.
func (in *input) forget(n int) {
	in.buf = append(in.buf[:0], in.buf[n:]...)
	in.pos -= n
}

// token reads the tag or special token at i.
func (in *input) token(i int) (marker.Token, lex.Status) {
	return marker.At(in.tools, in.buf, i, in.final)
}

// beginsWord reports whether an object or a word that may be a declared name begins at i.
func (in *input) beginsWord(i int) bool {
	c := in.buf[i]
	return c == '{' || in.tools.First[c] && (i == 0 || !lex.IsNameByte(in.buf[i-1]))
}

// isKey reports whether a closing word is that of a parameter of the named tool.
func (in *input) isKey(name, word string) bool {
	info := in.tools.Find(name)
	if info == nil {
		return false
	}
	_, own := info.Params.Prop(strings.TrimPrefix(word, "/"))
	return own
}

// argumentsAt reports whether arguments, or the end of a call, follow an opening tag that
// names the tool: what a sentence says about the tag is no call.
func (in *input) argumentsAt(i int) lex.Status {
	i = lex.SkipBlank(in.buf, i)
	switch {
	case i < len(in.buf) && in.buf[i] != '<' && in.buf[i] != '{':
		return lex.No
	case i == len(in.buf) && !in.final:
		return lex.More
	}
	return lex.Done
}
