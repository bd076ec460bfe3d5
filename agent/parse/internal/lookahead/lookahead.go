// Package lookahead looks whether a call without a marker may begin at a place of a
// reply: a bracket or a quote in front of a declared name, a name in front of its
// arguments, an object whose first key is one that calls have.
package lookahead

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
)

// Max bounds the look ahead that decides whether text may be a call.
const Max = 512

// A Probe is where to look.
type Probe struct {
	Tools *toolset.Set
	Text  []byte // the reply so far
	Final bool   // nothing follows Text
	Start bool   // only space is before the place
	// Inside says that a fence or a list is open, where a name needs no other sign.
	Inside bool
}

// At looks at the offset i of the text.
func (p Probe) At(i int) (lex.Status, marker.Format) {
	b := p.Text[:min(len(p.Text), i+Max)]
	final := p.Final || len(b) == i+Max
	k, opens := i, 0
	for n := 0; n < 8; n++ {
		if k == len(b) {
			return lex.Unless(final), ""
		}
		switch c := b[k]; {
		case c == '[' || c == '(':
			opens++
			k++
		case lex.IsSpace(c) && (opens > 0 || p.Start && k-i >= 3 && lex.IsQuote(b[i]) && b[i] == b[i+2]): // triple quotes
			k++
			n--
		case lex.IsQuote(c) || c == '`' && k > i || c == '`' && !p.Inside:
			k++
		case c == '{':
			return p.probeObject(b, k, final)
		case lex.IsLetter(c):
			return p.probeName(b, k, opens, final)
		default:
			return lex.No, ""
		}
	}
	return lex.No, ""
}

// probeObject looks at an object's first key and, if that names a tool, at its
// value.
func (p Probe) probeObject(b []byte, k int, final bool) (lex.Status, marker.Format) {
	if k = lex.SkipSpace(b, k+1); k < len(b) && b[k] == '{' { // a template's braces are doubled
		k = lex.SkipSpace(b, k+1)
	}
	if k == len(b) {
		return lex.Unless(final), ""
	}
	start, quote := k, b[k]
	if lex.IsQuote(quote) {
		start, k = k+1, k+1
	} else if !lex.IsLetter(quote) {
		return lex.No, ""
	} else {
		quote = 0
	}
	end, unsure := lex.NameRun(b, k, final)
	if unsure {
		if p.Tools.MayBeKey(string(b[start:end])) {
			return lex.More, ""
		}
		return lex.No, ""
	}
	key := string(b[start:end])
	if end < len(b) && b[end] == '(' && p.Tools.Find(key) != nil { // {'name(…)'}
		return lex.Done, marker.FormatPythonic
	}
	if !p.Tools.KnownKey(lex.UnescapeMarkdown(key)) {
		return lex.No, ""
	}
	k = end
	if quote != 0 {
		if k == len(b) {
			return lex.Unless(final), ""
		}
		if b[k] != quote {
			return lex.No, ""
		}
		k++
	}
	k = lex.SkipSpace(b, k)
	if k == len(b) {
		return lex.Unless(final), ""
	}
	if b[k] != ':' && b[k] != '=' {
		return lex.No, ""
	}
	if !slices.Contains(toolset.NameKeys, key) || p.Tools.Keys[key] {
		return lex.Done, marker.FormatJSON
	}
	return p.probeValue(b, k+1, final)
}

// probeValue looks whether the value of a name key is a declared name. A
// nested object is left for the reader.
func (p Probe) probeValue(b []byte, k int, final bool) (lex.Status, marker.Format) {
	k = lex.SkipSpace(b, k)
	if k == len(b) {
		return lex.Unless(final), ""
	}
	if b[k] == '{' {
		return lex.Done, marker.FormatJSON
	}
	start := k
	if lex.IsQuote(b[k]) {
		start++
	}
	end, unsure := lex.NameRun(b, start, final)
	name := string(b[start:end])
	if unsure {
		if p.Tools.MayBegin(name) {
			return lex.More, ""
		}
		return lex.No, ""
	}
	if p.Tools.Find(name) == nil {
		return lex.No, ""
	}
	return lex.Done, marker.FormatJSON
}

// probeName looks at what follows a name: arguments make it a call.
func (p Probe) probeName(b []byte, k, opens int, final bool) (lex.Status, marker.Format) {
	if opens == 0 && !p.Inside && !p.Tools.Leads[b[k]] {
		return lex.No, ""
	}
	end, unsure := lex.NameRun(b, k, final)
	name := string(b[k:end])
	if unsure {
		if opens > 0 || p.Inside || p.Tools.MayBegin(name) || p.Start && strings.HasPrefix("print", name) {
			return lex.More, ""
		}
		return lex.No, ""
	}
	declared := p.Tools.Find(name) != nil
	if !declared && opens == 0 && !(p.Start && name == "print") {
		return lex.No, ""
	}
	j := end
	for j < len(b) && j-end < 4 && IsNameEnd(b, j, end) {
		j++
	}
	gap := j
	j = lex.SkipSpace(b, j)
	if j == len(b) {
		return lex.Unless(final), ""
	}
	switch b[j] {
	case '(':
		if name == "print" && p.Start && opens == 0 {
			return p.probeName(b, lex.SkipSpace(b, j+1), 1, final)
		}
		if j-gap <= 1 && (declared || b[end] == '(' && opens > 0) {
			return lex.Done, marker.FormatPythonic
		}
	case ',':
		if declared && opens > 0 && !p.Tools.AnyName {
			return lex.Done, marker.FormatPythonic
		}
	case '=':
		if opens > 0 && gap == end { // [f=name(…)]
			return p.probeName(b, lex.SkipSpace(b, j+1), 1, final)
		}
	case '{', ':':
		if !p.Tools.Distinctive(name) || opens > 0 {
			return lex.No, ""
		}
		if b[j] == ':' {
			j = lex.SkipSpace(b, j+1)
			if j == len(b) {
				return lex.Unless(final), ""
			}
		}
		if b[j] == '{' {
			return lex.Done, marker.FormatNameJSON
		}
	}
	return lex.No, ""
}

// Script reports whether a fence's body may be a script that only calls:
// imports and comments, results given to names.
func (p Probe) Script(i int) lex.Status {
	b := p.Text[:min(len(p.Text), i+Max)]
	final := p.Final || len(b) == i+Max
	for n := 0; n < 8; n++ {
		i = lex.SkipSpace(b, i)
		word, unsure := lex.NameRun(b, i, final)
		if unsure || i == len(b) {
			return lex.Unless(final)
		}
		switch w := string(b[i:word]); {
		case b[i] == '#' || w == "import" || w == "from":
			for i < len(b) && b[i] != '\n' {
				i++
			}
			if i == len(b) {
				return lex.Unless(final)
			}
			continue
		case w == "return" || w == "await" || w == "print" && word < len(b) && b[word] == '(':
			i = word
			if w == "print" {
				i++
			}
			st, _ := p.At(lex.SkipSpace(b, i))
			return st
		case w != "":
			j := lex.SkipSpace(b, word)
			if j == len(b) {
				return lex.Unless(final)
			}
			if b[j] == '=' {
				i = lex.SkipSpace(b, j+1)
			}
			st, _ := p.At(i)
			return st
		}
		return lex.No
	}
	return lex.No
}

// IsNameEnd reports whether b[j] may be between a name, which ends at end,
// and its arguments: its quotes, or the bracket of a quoted name.
func IsNameEnd(b []byte, j, end int) bool {
	c := b[j]
	return lex.IsQuote(c) || c == '`' || c == '*' || c == ']' && j > end
}
