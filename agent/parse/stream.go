package parse

import (
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse/internal/prose"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
)

// mode is what the parser is inside of.
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

// lookback is how much text before a call is kept to judge what introduces it,
// in bytes.
const lookback = 1024

// A parser scans its buffer once. Every decision is taken either on enough
// text to hold whatever follows, or at the end; so the chunking cannot matter.
type parser struct {
	t         *toolset.Set
	buf       []byte
	out       int // what lies before has been emitted, or belongs to a call
	pos       int // what lies before has been scanned
	hold      int // text from here on may still become a call
	final     bool
	truncated bool
	mentions  bool // every call counts, whatever is around it
	again     int  // bytes that Mentions reads again
	events    []Event
	text      []byte // text that has been emitted and is not yet an event
	thought   bool   // that text is reasoning

	mode    mode
	start   bool // nothing but space and stray tokens so far
	prose   int  // bytes of text so far
	doc     bool // headings, tables or code fences have been seen
	quoted  bool // a call has been seen that was a quotation: the next one is, too
	lead    int  // where the line's bullet or emphasis begins
	cited   bool // inside a line of a block quotation
	ticks   int  // length of the run of backticks that opened the code or fence
	midLine bool // inside a line of a fence
	harmony bool // the thought is a channel and ends with any token
	tail    int  // where the special tokens begin that may end the reply
	newline bool // a line has ended since then
	drafted int  // where the last calls inside a thought begin, or -1
	special bool // with a special token
	opened  int  // where the thought's own tag ends, or -1

	g     *group
	lone  *lone          // the only block so far, if it may still be a call
	last  *group         // the group that has ended
	since []byte         // the text since it ended
	block int            // counts lists, fences and envelopes
	seen  map[string]int // calls so far, and the block each was in
}

func newParser(t *toolset.Set, thought bool) *parser {
	p := &parser{t: t, start: true, drafted: -1, opened: -1, seen: map[string]int{}}
	if thought {
		p.mode = inThought
	}
	return p
}

func (p *parser) Feed(chunk string) []Event {
	if p.final || chunk == "" {
		return nil
	}
	p.compact()
	p.buf = append(p.buf, chunk...)
	return p.run()
}

func (p *parser) Close(truncated bool) []Event {
	if p.final {
		return nil
	}
	p.final, p.truncated = true, truncated
	return p.run()
}

func (p *parser) run() []Event {
	p.hold = p.pos
	for p.step() {
	}
	switch {
	case p.final:
		p.finish()
	case p.mode == inGroup:
	case p.start && p.mode != inThought:
	default:
		p.flush(p.wholeRunes(min(p.hold, len(p.buf))))
	}
	p.settle()
	events := p.events
	p.events = nil
	return events
}

// step scans on and reports whether there may be more to do. When it reports
// false, hold is where the undecided text begins.
func (p *parser) step() bool {
	switch p.mode {
	case inLine:
		return p.lineStep()
	case inText:
		return p.textStep()
	case inCode:
		return p.codeStep()
	case inFence:
		return p.fenceStep()
	case inThought:
		return p.thoughtStep()
	case inTail:
		return p.tailStep()
	default:
		return p.groupStep()
	}
}

// finish emits what is left at the end of the reply.
func (p *parser) finish() {
	if p.mode == inTail {
		p.flush(p.tail)
	} else {
		p.flush(len(p.buf))
	}
	switch {
	case p.truncated:
	case p.mode == inThought:
		p.endThought()
	default:
		p.endLone()
	}
}

// wholeRunes returns the largest offset up to n that does not split a rune.
func (p *parser) wholeRunes(n int) int {
	for i := n - 1; i >= max(p.out, n-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(p.buf[i]) {
			if !utf8.FullRune(p.buf[i:n]) {
				return i
			}
			break
		}
	}
	return n
}

// flush emits the text up to end.
func (p *parser) flush(end int) {
	if end <= p.out {
		return
	}
	s := p.buf[p.out:end]
	p.out = end
	thought := p.mode == inThought
	if thought != p.thought {
		p.settle()
	}
	p.thought = thought
	p.text = append(p.text, s...)
	if thought {
		return
	}
	p.prose += len(s)
	p.lone = p.lone.follow(s)
	if p.last != nil && len(p.since) <= maxBetween {
		p.since = append(p.since, s[:min(len(s), maxBetween+1-len(p.since))]...)
	}
}

// settle makes an event of the text that has been emitted.
func (p *parser) settle() {
	switch {
	case len(p.text) == 0:
		return
	case p.thought:
		p.events = append(p.events, Reasoning{string(p.text)})
	default:
		p.events = append(p.events, Text{string(p.text)})
	}
	p.text = p.text[:0]
}

// emit emits an event other than text.
func (p *parser) emit(e Event) {
	p.settle()
	p.events = append(p.events, e)
}

// drop gives up the text up to end: it is a marker, not text.
func (p *parser) drop(end int) {
	p.out = max(p.out, end)
}

// compact forgets what no decision can need any more.
func (p *parser) compact() {
	cut := p.out
	if p.mode == inThought {
		cut = p.keepThought(cut)
	}
	cut -= lookback
	if cut < 4096 || cut < len(p.buf)/2 {
		return
	}
	p.buf = append(p.buf[:0], p.buf[cut:]...)
	p.out -= cut
	p.pos -= cut
	p.tail -= cut
	p.drafted, p.opened = max(-1, p.drafted-cut), max(-1, p.opened-cut)
	if p.g != nil {
		p.g.shift(cut)
	}
}

// before returns the text before offset i that may introduce a call: at most
// lookback bytes, back to where the message or its last thought began.
func (p *parser) before(i int) string {
	n := p.prose + i - p.out
	return string(p.buf[max(0, i-min(n, lookback)):i])
}

// isQuoted reports whether a quotation mark is in front of offset i.
func (p *parser) isQuoted(i int) bool {
	n := p.prose + i - p.out
	return i > 0 && prose.IsQuoted(string(p.buf[max(0, i-min(n, maxQuote)):i]))
}

// maxQuote is how far before a call its quotation mark may be, in bytes: a tag's or a
// word's length, and spaces.
const maxQuote = 64
