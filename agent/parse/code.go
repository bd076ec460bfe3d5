package parse

import (
	"bytes"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// A code is code between backticks that holds no call: a quotation.
type code struct {
	in      *input
	out     *output
	around  *context
	ticks   int  // length of the run of backticks that opened it
	midLine bool // inside a line of a fence
}

// enterLine enters code inside a line.
func (k *code) enterLine(ticks, pos int) {
	k.ticks = ticks
	k.in.goOn(inCode, pos)
}

// enterFence enters a fence, inside a line of it.
func (k *code) enterFence(ticks, pos int) {
	k.ticks, k.midLine = ticks, true
	k.in.goOn(inFence, pos)
}

// codeStep skips code in a line: it is a quotation.
func (k *code) codeStep() bool {
	b := k.in.buf
	for k.in.pos < len(b) {
		i := bytes.IndexAny(b[k.in.pos:], "`\n")
		if i < 0 {
			k.in.pos = len(b)
			break
		}
		i += k.in.pos
		if b[i] == '\n' {
			k.in.goOn(inText, i)
			return true
		}
		n, open := lex.TickRun(b, i)
		if open && !k.in.final {
			k.in.pos = i
			return k.out.undecided(i)
		}
		k.in.pos = i + n
		if n == k.ticks {
			k.in.mode = inText
			return true
		}
	}
	return k.out.undecided(len(b))
}

// fenceStep skips the lines of a fence that holds no call, up to its end.
func (k *code) fenceStep() bool {
	b := k.in.buf
	k.around.beDocument()
	for k.in.pos < len(b) {
		if k.midLine {
			i := bytes.IndexByte(b[k.in.pos:], '\n')
			if i < 0 {
				k.in.pos = len(b)
				break
			}
			k.in.pos += i + 1
			k.midLine = false
			continue
		}
		i := k.in.pos
		for i < len(b) && i-k.in.pos < lex.MaxIndent && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
		n, open := lex.TickRun(b, i)
		if open && i-k.in.pos < lex.MaxIndent && !k.in.final {
			return k.out.undecided(k.in.pos)
		}
		if n >= k.ticks {
			k.in.goOn(inText, i+n)
			return true
		}
		k.in.pos = i
		k.midLine = true
	}
	return k.out.undecided(len(b))
}
