package parse

import (
	"strings"

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
	maxBetween = 240  // bytes of text between two groups of one enumeration
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
	if prose.InBrackets(p.before(i)) {
		return declined
	}
	lead, introduced := prose.LeadIn(strings.TrimRight(p.before(i), " \t\r\n*_-`"))
	if prose.HasCue(lead, prose.ExampleCues) {
		return declined
	}
	if format == marker.FormatNameJSON && !p.atLineStart(i) {
		return atOnce // a name that runs into its own sentence is never shown to a reader
	}
	if !introduced && bullet {
		return declined // one entry of a list of something else
	}
	if !introduced || p.doc || p.prose > maxIntro || prose.HasCue(lead, prose.FormCues) {
		return atEnd
	}
	return atOnce
}

func (p *parser) atLineStart(i int) bool {
	for i--; i >= 0 && (p.buf[i] == ' ' || p.buf[i] == '\t'); i-- {
	}
	return i < 0 || p.buf[i] == '\n'
}

// continues reports whether a further block of calls belongs to the one
// before: it has the same form, and between the two is no more than one
// introducing line that speaks of no result.
func (p *parser) continues(i int, format marker.Format) bool {
	if p.last.typed || p.last.format != format && !(p.last.fence && format == marker.FormatFence) {
		return false
	}
	if len(p.since)+i-p.out > maxBetween {
		return false
	}
	text := strings.TrimRight(string(p.since)+string(p.buf[p.out:i]), " \t\r\n*_-`")
	if !strings.HasSuffix(text, ":") && !strings.HasSuffix(text, "：") {
		return false
	}
	text = strings.ToLower(strings.TrimLeft(text, " \t\r\n*_-.;,`"))
	if prose.HasCue(text, prose.ResultCues) || prose.HasCue(text, prose.ExampleCues) || strings.Contains(text, "\n") {
		return false
	}
	return !strings.Contains(text, "! ") && !strings.Contains(text, "? ") && strings.Count(text, ". ") <= prose.Numbered(text)
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
	if prose.InBrackets(p.before(i)) {
		return declined
	}
	lead, introduced := prose.LeadIn(strings.TrimRight(p.before(i), " \t\r\n*_-`"))
	if introduced && (prose.HasCue(lead, prose.ExampleCues) || prose.HasCue(lead, prose.FormCues)) {
		return atEnd
	}
	return atOnce
}

// mayCall reports whether a call with a marker may be here.
func (p *parser) mayCall() bool { return p.mentions || p.last == nil && !p.cited }

// labelled reports whether a colon is before i on its line.
func (p *parser) labelled(i int) bool {
	before := strings.TrimRight(p.before(i), " *`")
	return strings.HasSuffix(before, ":") && !strings.HasSuffix(before, `":`) || strings.HasSuffix(before, "：")
}
