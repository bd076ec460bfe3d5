package parse

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
)

// maxProbe bounds the look ahead that decides whether text may be a call.
const maxProbe = 512

// probe looks whether a call without a marker may begin at i: a bracket or a
// quote before a declared name, a name before its arguments, an object whose
// first key is one that calls have. inside says that a fence or list is open,
// where a name needs no other sign.
func (p *parser) probe(i int, inside bool) (lex.Status, marker.Format) {
	b := p.buf[:min(len(p.buf), i+maxProbe)]
	final := p.final || len(b) == i+maxProbe
	k, opens := i, 0
	for n := 0; n < 8; n++ {
		if k == len(b) {
			return lex.Unless(final), ""
		}
		switch c := b[k]; {
		case c == '[' || c == '(':
			opens++
			k++
		case lex.IsSpace(c) && opens > 0:
			k++
			n--
		case lex.IsQuote(c) || c == '`' && k > i || c == '`' && !inside:
			k++
		case c == '{':
			return p.probeObject(b, k, final)
		case lex.IsLetter(c):
			return p.probeName(b, k, opens, final, inside)
		default:
			return lex.No, ""
		}
	}
	return lex.No, ""
}

// probeObject looks at an object's first key and, if that names a tool, at its
// value.
func (p *parser) probeObject(b []byte, k int, final bool) (lex.Status, marker.Format) {
	k = lex.SkipSpace(b, k+1)
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
		if p.t.MayBeKey(string(b[start:end])) {
			return lex.More, ""
		}
		return lex.No, ""
	}
	key := string(b[start:end])
	if end < len(b) && b[end] == '(' && p.t.Find(key) != nil { // {'name(…)'}
		return lex.Done, marker.FormatPythonic
	}
	if !p.t.KnownKey(lex.UnescapeMarkdown(key)) {
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
	if !slices.Contains(toolset.NameKeys, key) || p.t.Keys[key] {
		return lex.Done, marker.FormatJSON
	}
	return p.probeValue(b, k+1, final)
}

// probeValue looks whether the value of a name key is a declared name. A
// nested object is left for the reader.
func (p *parser) probeValue(b []byte, k int, final bool) (lex.Status, marker.Format) {
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
		if p.t.MayBegin(name) {
			return lex.More, ""
		}
		return lex.No, ""
	}
	if p.t.Find(name) == nil {
		return lex.No, ""
	}
	return lex.Done, marker.FormatJSON
}

// probeName looks at what follows a name: arguments make it a call.
func (p *parser) probeName(b []byte, k, opens int, final, inside bool) (lex.Status, marker.Format) {
	if opens == 0 && !inside && !p.t.Leads[b[k]] {
		return lex.No, ""
	}
	end, unsure := lex.NameRun(b, k, final)
	name := string(b[k:end])
	if unsure {
		if opens > 0 || inside || p.t.MayBegin(name) || p.start && strings.HasPrefix("print", name) {
			return lex.More, ""
		}
		return lex.No, ""
	}
	declared := p.t.Find(name) != nil
	if !declared && opens == 0 && !(p.start && name == "print") {
		return lex.No, ""
	}
	j := end
	for j < len(b) && j-end < 4 && isNameEnd(b, j, end) {
		j++
	}
	gap := j
	j = lex.SkipSpace(b, j)
	if j == len(b) {
		return lex.Unless(final), ""
	}
	switch b[j] {
	case '(':
		if name == "print" && p.start && opens == 0 {
			return p.probeName(b, lex.SkipSpace(b, j+1), 1, final, inside)
		}
		if j-gap <= 1 && (declared || b[end] == '(' && opens > 0) {
			return lex.Done, marker.FormatPythonic
		}
	case ',':
		if declared && opens > 0 && !p.t.AnyName {
			return lex.Done, marker.FormatPythonic
		}
	case '=':
		if opens > 0 && gap == end { // [f=name(…)]
			return p.probeName(b, lex.SkipSpace(b, j+1), 1, final, inside)
		}
	case '{', ':':
		if !p.t.Distinctive(name) || opens > 0 {
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
