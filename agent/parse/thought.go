package parse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// A thought is reasoning that is being read.
type thought struct {
	in      *input
	out     *output
	around  *context
	harmony bool // it is a channel and ends with any token
	drafted int  // where the last calls inside it begin, or -1
	special bool // with a special token
	opened  int  // where its own tag ends, or -1
}

// enter enters a thought whose opening is the text between the two offsets.
func (t *thought) enter(from, to int, harmony bool) {
	if !t.around.start {
		t.around.flush(from)
	}
	t.out.drop(to)
	t.in.goOn(inThought, to)
	t.harmony, t.drafted, t.opened = harmony, -1, -1
	t.around.block()
}

// enterTag enters a thought with a tag of its own.
func (t *thought) enterTag(from, to int) {
	t.enter(from, to, false)
	t.opened = to
}

// leave goes on after a thought, as if the message began there.
func (t *thought) leave(to int) {
	t.out.drop(to)
	t.in.goOn(inLine, to)
	t.drafted, t.opened = -1, -1
	t.around.beginAgain()
}

// forget follows input.forget.
func (t *thought) forget(n int) {
	t.drafted, t.opened = max(-1, t.drafted-n), max(-1, t.opened-n)
}

// step passes a thought on, up to the marker that ends it.
func (t *thought) step() bool {
	b := t.in.buf
	for t.in.pos < len(b) {
		i := bytes.IndexAny(b[t.in.pos:], "<[")
		if i < 0 {
			break
		}
		i += t.in.pos
		tok, st := t.in.token(i)
		switch {
		case st == lex.More:
			t.in.pos = i
			return t.out.undecided(i)
		case st == lex.No:
		case tok.Role == marker.RoleThinkEnd:
			t.around.flush(i)
			t.leave(tok.End)
			return true
		case t.harmony && strings.HasPrefix(tok.Word, "|"):
			t.around.flush(i)
			t.leave(i)
			if tok.Role == marker.RoleJunk || tok.Role == marker.RoleClose {
				t.leave(tok.End)
			}
			return true
		case tok.Role == marker.RoleOpen || tok.Role == marker.RoleInvoke:
			if t.drafted < 0 || !t.special || !tok.Inner() {
				t.drafted, t.special = i, tok.Special()
			}
		}
		t.in.pos = i + 1
	}
	t.in.pos = len(b)
	return t.out.undecided(t.in.pos)
}

// keep returns how much of the text before cut may be forgotten inside a thought:
// not the calls at its end, and nothing if it may be the answer.
func (t *thought) keep(cut int) int {
	switch {
	case t.isAnswer(), t.opened >= 0 && len(t.in.buf)-t.opened < lex.MaxIndent:
		return min(cut, t.opened)
	default:
		t.opened = -1
	}
	if t.drafted >= 0 {
		return min(cut, t.drafted)
	}
	return cut
}

// isAnswer reports whether the thought begins with an empty line. That is how templates
// write a thought that is empty: if it never closes, only its closing tag is missing.
func (t *thought) isAnswer() bool {
	if t.opened < 0 {
		return false
	}
	b := t.in.buf[t.opened:]
	return bytes.Count(b[:lex.SkipBlank(b, 0)], []byte("\n")) > 1
}

// end handles a thought that was never closed. Special tokens that the reply ends
// with outrank it: the model has left it. An empty thought that was not closed is followed
// by the answer. Other calls do not run, and the model must hear of them.
func (t *thought) end() {
	if t.in.marked {
		return
	}
	if t.isAnswer() {
		for _, e := range t.reread(t.opened) {
			if _, text := e.(Text); !text {
				t.out.emit(e)
			}
		}
		return
	}
	if t.drafted < 0 {
		return
	}
	events := t.reread(t.drafted)
	runs := t.special && marker.EndsWithClose(t.in.tools, t.in.buf[t.drafted:]) && !slices.ContainsFunc(events, isElse)
	for _, e := range events {
		c, ok := e.(Call)
		switch {
		case ok && runs:
			t.out.emit(c)
		case ok:
			t.out.emit(Malformed{Reason: ReasonInThought, Name: c.Name, Format: c.Format, Raw: c.Raw})
		}
	}
}

// reread reads the text from offset i on as a reply of its own.
func (t *thought) reread(i int) []Event {
	r := newParser(t.in.tools, Reading{})
	return Join(append(r.Feed(string(t.in.buf[i:])), r.Close(false)...))
}

// isElse reports whether an event is neither a call nor blank text.
func isElse(e Event) bool {
	t, text := e.(Text)
	_, call := e.(Call)
	return !call && !(text && strings.TrimSpace(t.Text) == "")
}
