package toolset

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// Find returns the tool that a model's spelling names, or nil. It never
// guesses: a spelling that fits two tools names none.
func (t *Set) Find(raw string) *Tool {
	if len(raw) == 0 || len(raw) > 2*lex.MaxName {
		return nil
	}
	if info := t.exact[raw]; info != nil {
		return info
	}
	name := lex.CleanName(raw)
	for _, s := range []string{name, lex.StripNamespace(name), strings.TrimSuffix(name, ".call"), lex.WithoutRepeat(name)} {
		if info := t.exact[s]; info != nil {
			return info
		}
		if info := t.folded[lex.Fold(s)]; info != nil {
			return info
		}
	}
	if name = strings.TrimSuffix(lex.StripNamespace(name), ".call"); t.AnyName && lex.IsPlainName(name) {
		return &Tool{Name: name, open: true}
	}
	return nil
}

// FindWritten returns the tool that its server calls by a name; nil: none or several.
func (t *Set) FindWritten(raw string) *Tool {
	if info := t.written[raw]; info != nil {
		return info
	}
	return t.written[lex.CleanName(raw)]
}

// Distinctive reports whether a spelling alone tells that it is a tool's name: it is
// declared, or, where every name is, it has a form that words do not have.
func (t *Set) Distinctive(name string) bool {
	if t.AnyName {
		return lex.IsPlainName(lex.CleanName(name)) && strings.ContainsAny(strings.TrimRight(name, "."), "_.:")
	}
	return t.Find(name) != nil
}

// MayBegin reports whether s could grow into a spelling of a declared name.
func (t *Set) MayBegin(s string) bool {
	if t.AnyName {
		return true
	}
	low := strings.ToLower(s)
	for _, ns := range lex.Namespaces {
		if strings.HasPrefix(ns, low) {
			return true
		}
	}
	return t.Begins(lex.Fold(s)) || t.Begins(lex.Fold(lex.StripNamespace(s))) || t.Begins(lex.Fold(lex.WithoutRepeat(s)))
}

// Begins reports whether a folded s begins a folded declared name.
func (t *Set) Begins(s string) bool {
	i, _ := slices.BinarySearch(t.sorted, s)
	return i < len(t.sorted) && strings.HasPrefix(t.sorted[i], s)
}

// AreNamed reports whether text holds the name of a declared tool, in any spelling. The
// time is linear in the text, however many tools there are.
func (t *Set) AreNamed(text string) bool {
	if t.AnyName {
		return true
	}
	if strings.IndexByte(text, '\\') >= 0 {
		text = lex.Fold(text) // which has no backslashes
	}
	for i := range len(text) {
		if t.mayStart(text, i) && t.startsWithName(lex.Fold(text[i:min(len(text), i+t.longest)])) {
			return true
		}
	}
	return false
}

// mayStart reports whether a name may start at a byte of a text without backslashes.
func (t *Set) mayStart(text string, i int) bool {
	p := uint16(lex.FoldByte(text[i])) << 8
	if i+1 < len(text) {
		p |= uint16(lex.FoldByte(text[i+1]))
	}
	return t.pairs[p/64]&(1<<(p%64)) != 0
}

// MayCall reports whether text holds the name of a declared tool, in any spelling, where a call
// may have it: it is no part of a longer word, and no word of a sentence. The time is linear in
// the text.
func (t *Set) MayCall(text string) bool {
	if t.AnyName {
		return true
	}
	folded := lex.Fold(text)
	for i := range len(folded) {
		rest := folded[i:]
		if t.pairs[pair(rest)/64]&(1<<(pair(rest)%64)) == 0 || i > 0 && isWord(folded[i-1]) {
			continue
		}
		if rest, ok := t.afterName(rest); ok && (i > 0 && strings.IndexByte("=_", folded[i-1]) >= 0 || isPlace(strings.TrimRight(folded[:i], " \t\r"), rest)) {
			return true
		}
	}
	return false
}

// afterName returns what follows a name at the start of a folded text, if no word goes on there,
// but for the name itself: some models write it twice.
func (t *Set) afterName(text string) (rest string, ok bool) {
	i, found := slices.BinarySearch(t.shortest, text)
	if !found {
		if i--; i < 0 || !strings.HasPrefix(text, t.shortest[i]) {
			return "", false
		}
	}
	k, _ := slices.BinarySearch(t.sorted, t.shortest[i])
	for ; k < len(t.sorted) && strings.HasPrefix(t.sorted[k], t.shortest[i]); k++ {
		if after, found := strings.CutPrefix(text, t.sorted[k]); found {
			for strings.HasPrefix(after, t.sorted[k]) {
				after = after[len(t.sorted[k]):]
			}
			if after == "" || !isWord(after[0]) {
				rest, ok = after, true
			}
		}
	}
	return rest, ok
}

// isPlace reports whether a name may be that of a call between these folded texts.
func isPlace(before, rest string) bool {
	after := strings.TrimLeft(rest, " \t\r")
	if after == "" || strings.HasPrefix(after, "_call(") || strings.HasSuffix(strings.TrimRight(before, "* "), ":") {
		return true
	}
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' }
	if before != "" && letter(before[len(before)-1]) { // a word of a sentence, or a log's
		return after[0] == '\n' || after[0] == '{' || rest[0] == '('
	}
	return !letter(after[0]) && rest[0] != '_'
}

// isWord reports whether a folded byte is a letter or digit of ASCII.
func isWord(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// startsWithName reports whether a folded text starts with one of the shortest names. No
// shortest name starts with another, so that only the last of those before text can fit.
func (t *Set) startsWithName(text string) bool {
	i, found := slices.BinarySearch(t.shortest, text)
	return found || i > 0 && strings.HasPrefix(text, t.shortest[i-1])
}

// pair returns the first two bytes of a text that is not empty as a number; the second is
// 0 if there is none.
func pair(text string) uint16 {
	if len(text) == 1 {
		return uint16(text[0]) << 8
	}
	return uint16(text[0])<<8 | uint16(text[1])
}

// indexNames fills shortest and pairs.
func (t *Set) indexNames() {
	for _, name := range t.sorted {
		if n := len(t.shortest); n > 0 && strings.HasPrefix(name, t.shortest[n-1]) {
			continue
		}
		t.shortest = append(t.shortest, name)
		first, last := pair(name), pair(name)
		if len(name) == 1 { // whatever follows
			last |= 0xFF
		}
		for p := int(first); p <= int(last); p++ {
			t.pairs[p/64] |= 1 << (p % 64)
		}
	}
}

// NameAtEnd returns where a declared name begins that ends b, or -1. Text may run
// into the name without a space: only a boundary is asked for.
func (t *Set) NameAtEnd(b []byte) int {
	return t.tail(b, func(s string) bool { return t.folded[s] != nil })
}

// HeldName returns where the tail of b begins that could grow into a declared
// name, or len(b).
func (t *Set) HeldName(b []byte) int {
	n := len(b)
	for n > 0 && len(b)-n < 8 && (b[n-1] == ' ' || b[n-1] == '\r') {
		n--
	}
	match := t.Begins
	if n < len(b) {
		match = func(s string) bool { return t.folded[s] != nil }
	}
	if i := t.tail(b[:n], match); i >= 0 {
		return i
	}
	return len(b)
}

// tail finds the earliest boundary in the name that ends b from where match
// holds for the folded rest.
func (t *Set) tail(b []byte, match func(string) bool) int {
	i := len(b)
	for i > 0 && len(b)-i < t.longest && lex.IsNameByte(b[i-1]) {
		i--
	}
	for ; i < len(b); i++ {
		if !t.First[b[i]] || i > 0 && lex.IsNameByte(b[i-1]) && b[i-1] != '.' {
			continue
		}
		if match(lex.Fold(string(b[i:]))) {
			return i
		}
	}
	return -1
}

// MayBeKey reports whether s may grow into a key that calls have.
func (t *Set) MayBeKey(s string) bool {
	begins := func(k string) bool { return len(k) >= len(s) && k[:len(s)] == s }
	for _, keys := range [][]string{NameKeys, ArgsKeys, idKeys, wrapperKeys, sideKeys} {
		if slices.ContainsFunc(keys, begins) {
			return true
		}
	}
	for k := range t.Keys {
		if begins(k) {
			return true
		}
	}
	return t.MayBegin(s)
}

// Known reports whether a spelling names a tool.
func (t *Set) Known(spelled string) bool { return t.Find(spelled) != nil }

// Declared reports whether a spelling names a declared tool; where any name is
// one, none is.
func (t *Set) Declared(spelled string) bool { return !t.AnyName && t.Find(spelled) != nil }

// IsFolded reports whether word is a declared name in folded form.
func (t *Set) IsFolded(word string) bool { return t.folded[word] != nil }
