package parse

import (
	"bytes"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
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

// context judges whether a call without a marker of its own may be at i,
// bullet included if it has one.
func (p *parser) context(i int, format marker.Format, bullet bool) confirm {
	if p.mentions {
		return atOnce
	}
	if p.last != nil {
		if p.continues(i, format) {
			return atOnce
		}
		return declined
	}
	if p.start {
		return atOnce
	}
	before := p.before(i)
	if p.quoted || prose.InBrackets(before) {
		return declined
	}
	lead, introduced := prose.LeadIn(strings.TrimRight(before, " \t\r\n*_-`"))
	if prose.IsExample(lead) {
		return declined
	}
	introduced = introduced || prose.Promises(lead)
	if format == marker.FormatJSON {
		introduced = introduced || p.mode == inTail || prose.Announces(lead)
	}
	if format == marker.FormatNameJSON && !lex.AtLineStart(p.buf, i) {
		return atOnce // a name that runs into its own sentence is never shown to a reader
	}
	if !introduced && bullet {
		return declined // one entry of a list of something else
	}
	if !introduced || p.doc || p.prose > maxIntro || prose.NamesForm(lead) || prose.Advises(before) {
		return atEnd
	}
	return atOnce
}

// continues reports whether a further block of calls without markers belongs to the one
// before: it has the same form, and the text between the two announces it.
func (p *parser) continues(i int, format marker.Format) bool {
	if p.last.typed || p.last.format != format && !(p.last.fence && format == marker.FormatFence) {
		return false
	}
	text, short := p.between(i)
	if !short || prose.Answers(text) {
		return false
	}
	lead, introduced := prose.LeadIn(strings.TrimRight(text, " \t\r\n*_-`"))
	return !prose.IsExample(lead) && (introduced || prose.Promises(lead) || prose.Connects(lead) || format == marker.FormatJSON && prose.Announces(lead))
}

// between returns the text from the last group of calls to i, and whether it is short
// enough for the calls after it to belong to the same step.
func (p *parser) between(i int) (string, bool) {
	if len(p.since)+i-p.out > maxBetween {
		return "", false
	}
	return string(p.since) + string(p.buf[p.out:max(i, p.out)]), true
}

// typedContext judges a call with a marker: one that is introduced as an
// example, or as what somebody else writes, must be the last thing.
func (p *parser) typedContext(i int, format marker.Format) confirm {
	if p.start || p.mentions {
		return atOnce
	}
	if p.doc && format == marker.FormatFence {
		return atEnd
	}
	before := p.before(i)
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

// mayCall reports whether a call with a marker may be at i: it is the first one, or only
// prose without a result is between it and the calls before it.
func (p *parser) mayCall(i int) bool {
	switch {
	case p.mentions:
		return true
	case p.cited:
		return false
	case p.last == nil:
		return true
	case !p.last.typed || p.last.single:
		return false
	}
	text, short := p.between(i)
	return short && !prose.Answers(text)
}

// Over reports whether nothing that follows can be a call: a result, or a long text,
// is after the calls.
func (p *parser) Over() bool {
	switch {
	case p.last == nil || p.mode == inGroup:
		return false
	case p.last.single || len(p.since) > maxBetween:
		return true
	}
	lines := p.since[:bytes.LastIndexByte(p.since, '\n')+1] // whose sentences are complete
	return prose.NamesResult(strings.ToLower(string(p.since))) || prose.Answers(string(lines))
}

// labelled reports whether a colon is before i on its line.
func (p *parser) labelled(i int) bool {
	before := strings.TrimRight(p.before(i), " *`")
	return strings.HasSuffix(before, ":") && !strings.HasSuffix(before, `":`) || strings.HasSuffix(before, "：")
}
