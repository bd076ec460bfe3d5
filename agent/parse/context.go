package parse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/lookahead"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/prose"
)

// confirm says what a group still needs before its calls may run.
type confirm int

const (
	atOnce   confirm = iota // each call runs when it is complete
	atEOL                   // nothing but calls on the line
	atEnd                   // nothing after it in the reply
	declined                // a quotation
)

const (
	maxIntro   = 1500 // bytes of text before which a call in prose is still introduced
	maxBetween = 600  // bytes of text between two groups of calls of one step
)

// lookback is how much text before a call is kept to judge what introduces it,
// in bytes.
const lookback = 1024

// A context is what is around a place of the reply: what has been said before it, and how.
// It judges whether a call may be there.
type context struct {
	in     *input
	out    *output
	start  bool      // nothing but space and stray tokens so far
	prose  int       // bytes of text so far
	doc    bool      // headings, tables or code fences have been seen
	quoted bool      // a call has been seen that was a quotation: the next one is, too
	cited  bool      // inside a line of a block quotation
	lone   *lone     // the only block so far, if it may still be a call
	last   *notation // of the group of calls that has ended
	since  []byte    // the text since it ended
}

// flush emits the text up to end.
func (c *context) flush(end int) {
	if end <= c.out.sent {
		return
	}
	s, reasoning := c.out.release(end)
	if reasoning {
		return
	}
	c.prose += len(s)
	c.lone = c.lone.follow(s)
	if c.last != nil && len(c.since) <= maxBetween {
		c.since = append(c.since, s[:min(len(s), maxBetween+1-len(c.since))]...)
	}
}

// beginLine takes the start of a line: a heading or a row of a table, or a quotation.
func (c *context) beginLine(document, cited bool) { c.doc, c.cited = c.doc || document, cited }

// beDocument takes a heading, a table or a code fence.
func (c *context) beDocument() { c.doc = true }

// begin takes that something has begun that is neither space nor a stray token.
func (c *context) begin() { c.start = false }

// beginAgain takes the end of a thought: the message begins after it.
func (c *context) beginAgain() { c.start, c.prose, c.doc = c.last == nil, 0, false }

// block takes a group or a thought, after which no fence is the only block.
func (c *context) block() { c.lone = nil }

// ended takes the end of a group that held calls.
func (c *context) ended(last *notation) {
	c.start, c.last, c.since, c.lone = false, last, c.since[:0], nil
}

// declined takes the end of a group that was text: a document, a quotation.
func (c *context) declined(document, quotation bool) {
	c.start, c.doc, c.quoted = false, c.doc || document, c.quoted || quotation
}

// judge judges whether a call without a marker of its own may be at i, bullet included
// if it has one.
func (c *context) judge(i int, format marker.Format, bullet bool) confirm {
	if c.in.mentions {
		return atOnce
	}
	if c.last != nil {
		if c.continues(i, format) {
			return atOnce
		}
		return declined
	}
	if c.start {
		return atOnce
	}
	before := c.before(i)
	if c.quoted || prose.InBrackets(before) {
		return declined
	}
	lead, introduced := prose.LeadIn(strings.TrimRight(before, " \t\r\n*_-`"))
	if prose.IsExample(lead) {
		return declined
	}
	introduced = introduced || prose.Promises(lead)
	if format == marker.FormatJSON {
		introduced = introduced || c.in.mode == inTail || prose.Announces(lead)
	}
	if format == marker.FormatNameJSON && !lex.AtLineStart(c.in.buf, i) {
		return atOnce // a name that runs into its own sentence is never shown to a reader
	}
	if !introduced && bullet {
		return declined // one entry of a list of something else
	}
	if format == marker.FormatJSON && !lex.AtLineStart(c.in.buf, i) && (prose.NamesForm(lead) || prose.Advises(before) || prose.Quotes(lead)) {
		return declined // the form, or the text of somebody else, that its line speaks of
	}
	if !introduced || c.doc || c.prose > maxIntro || prose.NamesForm(lead) || prose.Advises(before) {
		return atEnd
	}
	return atOnce
}

// continues reports whether a further block of calls without markers belongs to the one
// before: it has the same form, and the text between the two announces it.
func (c *context) continues(i int, format marker.Format) bool {
	if c.last.typed || c.last.format != format && !(c.last.fence && format == marker.FormatFence) {
		return false
	}
	text, short := c.between(i)
	if !short || prose.Answers(text) {
		return false
	}
	lead, introduced := prose.LeadIn(strings.TrimRight(text, " \t\r\n*_-`"))
	return !prose.IsExample(lead) && (introduced || prose.Promises(lead) || prose.Connects(lead) || format == marker.FormatJSON && prose.Announces(lead))
}

// between returns the text from the last group of calls to i, and whether it is short
// enough for the calls after it to belong to the same step.
func (c *context) between(i int) (string, bool) {
	if len(c.since)+i-c.out.sent > maxBetween {
		return "", false
	}
	return string(c.since) + string(c.in.buf[c.out.sent:max(i, c.out.sent)]), true
}

// judgeMarked judges a call with a marker: one that is introduced as an
// example, or as what somebody else writes, must be the last thing.
func (c *context) judgeMarked(i int, format marker.Format) confirm {
	if c.start || c.in.mentions {
		return atOnce
	}
	if c.doc && format == marker.FormatFence {
		return atEnd
	}
	before := c.before(i)
	if prose.InBrackets(before) {
		return declined
	}
	before = strings.TrimRight(before, " \t\r\n*_-`")
	if !strings.HasSuffix(before, ":") && !strings.HasSuffix(before, "：") {
		return atOnce
	}
	lead, introduced := prose.LeadIn(before)
	if introduced && (prose.IsExample(lead) || prose.NamesForm(lead)) {
		return atEnd
	}
	return atOnce
}

// judgeAlone judges a call where marks alone open one. It is declined if it is introduced
// as an example or as what somebody else writes, or is not the first one.
func (c *context) judgeAlone(i int) confirm {
	before := c.before(i)
	lead, _ := prose.LeadIn(strings.TrimRight(before, " \t\r\n*_-`"))
	if c.quoted || !c.start && (prose.InBrackets(before) || prose.IsExample(lead) || prose.NamesForm(lead)) {
		c.quoted = true
		return declined
	}
	return atEnd
}

// judgeBehind judges an object behind words on its line: whether they say that its writer
// makes this call now. It is declined where it is shown, or is a part of something else.
func (c *context) judgeBehind(i int) (needs confirm, said bool) {
	if c.start || c.last != nil || c.quoted || c.doc || c.cited || c.in.shown || c.in.tools.AnyName || !prose.MayPrecede(c.lookBack(i)) || c.isQuoted(i) {
		return declined, false
	}
	before := c.before(i)
	lead, _ := prose.LeadIn(strings.TrimRight(before, " \t*_-.。!！,，;；"))
	if prose.InBrackets(before) || prose.IsExample(lead) || prose.NamesForm(lead) || prose.Advises(before) {
		return declined, false
	}
	return atEnd, c.prose <= maxIntro && prose.Acts(lead)
}

// mayCall reports whether a call with a marker may be at i: it is the first one, or only
// prose without a result is between it and the calls before it.
func (c *context) mayCall(i int) bool {
	switch {
	case c.in.mentions:
		return true
	case c.cited:
		return false
	case c.last == nil:
		return true
	case !c.last.typed || c.last.single:
		return false
	}
	text, short := c.between(i)
	return short && !prose.Answers(text)
}

// over reports whether nothing that follows can be a call: a result, or a long text,
// is after the calls.
func (c *context) over() bool {
	switch {
	case c.last == nil || c.in.mode == inGroup:
		return false
	case c.last.single || len(c.since) > maxBetween:
		return true
	}
	lines := c.since[:bytes.LastIndexByte(c.since, '\n')+1] // whose sentences are complete
	return prose.NamesResult(strings.ToLower(string(c.since))) || prose.Answers(string(lines))
}

// labelled reports whether a colon is before i on its line.
func (c *context) labelled(i int) bool {
	before := strings.TrimRight(c.before(i), " *`")
	return strings.HasSuffix(before, ":") && !strings.HasSuffix(before, `":`) || strings.HasSuffix(before, "：")
}

// maxQuote is how far before a call its quotation mark may be, in bytes: a tag's or a
// word's length, and spaces.
const maxQuote = 64

// before returns the text before offset i that may introduce a call: at most
// lookback bytes, back to where the message or its last thought began.
func (c *context) before(i int) string { return string(c.lookBack(i)) }

// lookBack is before without a copy: it holds until the input grows.
func (c *context) lookBack(i int) []byte {
	n := c.prose + i - c.out.sent
	return c.in.buf[max(0, i-min(n, lookback)):i]
}

// isQuoted reports whether a quotation mark is in front of offset i.
func (c *context) isQuoted(i int) bool {
	n := c.prose + i - c.out.sent
	return i > 0 && prose.IsQuoted(string(c.in.buf[max(0, i-min(n, maxQuote)):i]))
}

// probe looks ahead for a call without a marker.
func (c *context) probe(inside bool) lookahead.Probe {
	return lookahead.Probe{Tools: c.in.tools, Text: c.in.buf, Final: c.in.final, Start: c.start, Inside: inside}
}

// payloadAt reports whether the body of a fence may be a call.
func (c *context) payloadAt(i int, info string) lex.Status {
	b := c.in.buf
	k := i
	for k < len(b) && k-i < 4*lex.MaxIndent && lex.IsSpace(b[k]) {
		k++
	}
	if k == len(b) {
		if c.in.final {
			return lex.No
		}
		return lex.More
	}
	if b[k] == '[' {
		if tok, st := c.in.token(k); st == lex.More || st == lex.Done && tok.Role == marker.RoleOpen {
			return st
		}
	}
	if b[k] == '<' {
		if end, st := marker.Wrapper(b, k, c.in.final); st == lex.Done {
			st, _ = c.probe(true).At(lex.SkipBlank(b, end))
			return st
		} else if st == lex.More {
			return st
		}
		tok, st := c.in.token(k)
		if st == lex.Done && tok.Role != marker.RoleOpen && tok.Role != marker.RoleInvoke {
			return lex.No
		}
		return st
	}
	if slices.Contains(lex.CallFences, info) && b[k] == '{' {
		return lex.Done
	}
	if st, _ := c.probe(true).At(k); st != lex.No {
		return st
	}
	return c.probe(true).Script(k)
}
