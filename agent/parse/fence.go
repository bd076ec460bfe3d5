package parse

import (
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// openCode enters a fence, or code inside a line.
func (l *lines) openCode(i int, atLine bool) lex.Status {
	b := l.in.buf
	n, open := lex.TickRun(b, i)
	if open && !l.in.final {
		return lex.More
	}
	if n >= 3 {
		return l.openFence(i, n, atLine)
	}
	if n == 1 && (atLine || i > 0 && l.in.mode == inText && lex.IsSpace(l.in.buf[i-1])) {
		if st := l.openBare(i, atLine); st != lex.No {
			return st
		}
	}
	return lex.No
}

// openFence enters a fence: a group if what is in it may be a call, else a
// quotation.
func (l *lines) openFence(i, n int, atLine bool) lex.Status {
	body, info, st := lex.FenceInfo(l.in.buf, i+n, l.in.final)
	if st == lex.More {
		return lex.More
	}
	if st == lex.Done && atLine || st == lex.Done && slices.Contains(lex.CallFences, info) {
		switch l.around.payloadAt(body, info) {
		case lex.More:
			return lex.More
		case lex.Done:
			if slices.Contains(lex.CallFences, info) {
				if l.around.mayCall(i) && l.beginMarked(i, i, marker.FormatFence) {
					return lex.Done
				}
			} else if l.begin(i, i, marker.FormatFence) {
				return lex.Done
			}
		}
	}
	if !atLine || l.in.mentions {
		return lex.No
	}
	l.quote(i, n)
	return lex.Done
}

// quote enters a fence that holds no call.
func (l *lines) quote(i, ticks int) {
	l.code.enterFence(ticks, i+ticks)
	l.around.begin()
}
