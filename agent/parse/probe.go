package parse

import (
	"slices"
	"strings"
)

// maxProbe bounds the look ahead that decides whether text may be a call.
const maxProbe = 512

// probe looks whether a call without a marker may begin at i: a bracket or a
// quote before a declared name, a name before its arguments, an object whose
// first key is one that calls have. inside says that a fence or list is open,
// where a name needs no other sign.
func (p *parser) probe(i int, inside bool) (status, Format) {
	b := p.buf[:min(len(p.buf), i+maxProbe)]
	final := p.final || len(b) == i+maxProbe
	k, opens := i, 0
	for n := 0; n < 8; n++ {
		if k == len(b) {
			return unless(final), ""
		}
		switch c := b[k]; {
		case c == '[' || c == '(':
			opens++
			k++
		case isSpace(c) && opens > 0:
			k++
			n--
		case isQuote(c) || c == '`' && k > i || c == '`' && !inside:
			k++
		case c == '{':
			return p.probeObject(b, k, final)
		case isLetter(c):
			return p.probeName(b, k, opens, final, inside)
		default:
			return no, ""
		}
	}
	return no, ""
}

// probeObject looks at an object's first key and, if that names a tool, at its
// value.
func (p *parser) probeObject(b []byte, k int, final bool) (status, Format) {
	k = skipSpace(b, k+1)
	if k == len(b) {
		return unless(final), ""
	}
	start, quote := k, b[k]
	if isQuote(quote) {
		start, k = k+1, k+1
	} else if !isLetter(quote) {
		return no, ""
	} else {
		quote = 0
	}
	end, unsure := nameRun(b, k, final)
	if unsure {
		if p.t.mayBeKey(string(b[start:end])) {
			return more, ""
		}
		return no, ""
	}
	key := string(b[start:end])
	if end < len(b) && b[end] == '(' && p.t.find(key) != nil { // {'name(…)'}
		return done, FormatPythonic
	}
	if !p.t.knownKey(unescapeMarkdown(key)) {
		return no, ""
	}
	k = end
	if quote != 0 {
		if k == len(b) {
			return unless(final), ""
		}
		if b[k] != quote {
			return no, ""
		}
		k++
	}
	k = skipSpace(b, k)
	if k == len(b) {
		return unless(final), ""
	}
	if b[k] != ':' && b[k] != '=' {
		return no, ""
	}
	if !slices.Contains(nameKeys, key) || p.t.keys[key] {
		return done, FormatJSON
	}
	return p.probeValue(b, k+1, final)
}

// probeValue looks whether the value of a name key is a declared name. A
// nested object is left for the reader.
func (p *parser) probeValue(b []byte, k int, final bool) (status, Format) {
	k = skipSpace(b, k)
	if k == len(b) {
		return unless(final), ""
	}
	if b[k] == '{' {
		return done, FormatJSON
	}
	start := k
	if isQuote(b[k]) {
		start++
	}
	end, unsure := nameRun(b, start, final)
	name := string(b[start:end])
	if unsure {
		if p.t.mayBegin(name) {
			return more, ""
		}
		return no, ""
	}
	if p.t.find(name) == nil {
		return no, ""
	}
	return done, FormatJSON
}

// mayBeKey reports whether s may grow into a key that calls have.
func (t *toolset) mayBeKey(s string) bool {
	begins := func(k string) bool { return len(k) >= len(s) && k[:len(s)] == s }
	for _, keys := range [][]string{nameKeys, argsKeys, idKeys, wrapperKeys, sideKeys} {
		if slices.ContainsFunc(keys, begins) {
			return true
		}
	}
	for k := range t.keys {
		if begins(k) {
			return true
		}
	}
	return t.mayBegin(s)
}

// probeName looks at what follows a name: arguments make it a call.
func (p *parser) probeName(b []byte, k, opens int, final, inside bool) (status, Format) {
	if opens == 0 && !inside && !p.t.leads[b[k]] {
		return no, ""
	}
	end, unsure := nameRun(b, k, final)
	name := string(b[k:end])
	if unsure {
		if opens > 0 || inside || p.t.mayBegin(name) || p.start && strings.HasPrefix("print", name) {
			return more, ""
		}
		return no, ""
	}
	declared := p.t.find(name) != nil
	if !declared && opens == 0 && !(p.start && name == "print") {
		return no, ""
	}
	j := end
	for j < len(b) && j-end < 4 && isNameEnd(b, j, end) {
		j++
	}
	gap := j
	j = skipSpace(b, j)
	if j == len(b) {
		return unless(final), ""
	}
	switch b[j] {
	case '(':
		if name == "print" && p.start && opens == 0 {
			return p.probeName(b, skipSpace(b, j+1), 1, final, inside)
		}
		if j-gap <= 1 && (declared || b[end] == '(' && opens > 0) {
			return done, FormatPythonic
		}
	case ',':
		if declared && opens > 0 && !p.t.any {
			return done, FormatPythonic
		}
	case '=':
		if opens > 0 && gap == end { // [f=name(…)]
			return p.probeName(b, skipSpace(b, j+1), 1, final, inside)
		}
	case '{', ':':
		if !p.t.speaks(name) || opens > 0 {
			return no, ""
		}
		if b[j] == ':' {
			j = skipSpace(b, j+1)
			if j == len(b) {
				return unless(final), ""
			}
		}
		if b[j] == '{' {
			return done, FormatNameJSON
		}
	}
	return no, ""
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// pythonAt reports whether a fence's body may be a script that only calls:
// imports and comments, results given to names.
func (p *parser) pythonAt(i int) status {
	b := p.buf[:min(len(p.buf), i+maxProbe)]
	final := p.final || len(b) == i+maxProbe
	for n := 0; n < 8; n++ {
		i = skipSpace(b, i)
		word, unsure := nameRun(b, i, final)
		if unsure || i == len(b) {
			return unless(final)
		}
		switch w := string(b[i:word]); {
		case b[i] == '#' || w == "import" || w == "from":
			for i < len(b) && b[i] != '\n' {
				i++
			}
			if i == len(b) {
				return unless(final)
			}
			continue
		case w == "return" || w == "await" || w == "print" && word < len(b) && b[word] == '(':
			i = word
			if w == "print" {
				i++
			}
			st, _ := p.probe(skipSpace(b, i), true)
			return st
		case w != "":
			j := skipSpace(b, word)
			if j == len(b) {
				return unless(final)
			}
			if b[j] != '=' {
				return no
			}
			st, _ := p.probe(skipSpace(b, j+1), true)
			return st
		}
		return no
	}
	return no
}
