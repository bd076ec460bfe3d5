package parse

import (
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/prose"
)

// A lone is a fence with calls that no colon introduces and that text follows. If it stays
// the only block of the reply and nothing around it explains or shows a call, it is what
// the reply does. So is an object behind words on its line, if what follows is a courtesy.
// That is known at the end; until then its text is emitted as text.
type lone struct {
	behind bool // it is such an object
	before string
	raw    int    // bytes of the fence or object
	after  []byte // it and what follows it
	calls  []Event
}

// mayBeLone reports whether a fence at i is the first block of a short reply.
func (c *context) mayBeLone(i int) bool {
	return !c.doc && !c.in.tools.AnyName && c.prose+i-c.out.sent <= lookback
}

// keepLone remembers a fence that was not confirmed, or an object behind words, of which
// there may be one.
func (c *context) keepLone(from, end int, calls []Event, behind bool) {
	if behind && c.lone != nil {
		c.lone = nil
		return
	}
	c.lone = &lone{behind: behind, before: c.before(from), raw: end - from, calls: calls}
}

// follow adds text after the fence, and gives up where it becomes long.
func (l *lone) follow(s []byte) *lone {
	if l == nil || len(l.after)+len(s) > maxIntro+l.raw {
		return nil
	}
	l.after = append(l.after, s...)
	return l
}

// endLone emits the calls of the only fence, or of the object behind words, at the end of
// the reply.
func (c *context) endLone() {
	l := c.lone
	switch {
	case l == nil || len(l.after) < l.raw:
		return
	case l.behind && (c.doc || !prose.SaysNext(strings.TrimLeft(string(l.after[l.raw:]), " 。.!！"))):
		return
	case !l.behind && (prose.Explains(l.before) || prose.Explains(string(l.after[l.raw:]))):
		return
	}
	for _, e := range l.calls {
		c.out.emit(e)
	}
}
