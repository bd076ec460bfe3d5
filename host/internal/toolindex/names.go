package toolindex

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

// maxNameWords bounds how many words of a question are tried as one name.
const maxNameWords = 8

// A nameTable finds tools whose names are in a question.
type nameTable struct {
	plain   map[string][]int32 // by the name as a question may write it: letters and digits in lower case
	keys    []string           // of each tool
	letters []uint64           // of each key
	tools   []Tool
	common  func(word string) bool // reports whether tools are described with this word
}

func newNameTable(tools []Tool, common func(string) bool) nameTable {
	t := nameTable{plain: map[string][]int32{}, tools: tools, common: common}
	for i, tool := range tools {
		key := squeeze(tool.Name)
		t.keys, t.letters = append(t.keys, key), append(t.letters, letterSet(key))
		if key != "" {
			t.plain[key] = append(t.plain[key], int32(i))
		}
		if own := squeeze(tool.Written); own != "" && own != key {
			t.plain[own] = append(t.plain[own], int32(i))
		}
	}
	return t
}

// squeeze returns the letters and digits of s in lower case.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// A piece is a word of a question as it is written, between spaces and punctuation.
type piece struct {
	text, key string
	marked    bool // it can hardly be anything else than a name: get_user, getUser, `user`
}

// pieces splits a question at spaces and punctuation, not within names.
func pieces(query string) []piece {
	words := strings.FieldsFunc(query, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;()[]{}<>\"“”，。、；：？！?!|（）", r)
	})
	var out []piece
	for _, w := range words {
		bare := strings.Trim(w, ".:'`*")
		if key := squeeze(bare); key != "" {
			out = append(out, piece{bare, key, strings.HasPrefix(w, "`") || identifier(bare)})
		}
	}
	return out
}

// identifier reports whether a word is written as programs write names.
func identifier(word string) bool {
	if strings.ContainsAny(word, "_/.") {
		return true
	}
	lower := false
	for _, r := range word {
		if lower && unicode.IsUpper(r) {
			return true
		}
		lower = unicode.IsLower(r)
	}
	return false
}

// A mention is a place of a question where the name of a tool may be.
type mention struct {
	tools []int32
	sure  bool // it is meant as a name
	word  bool // it is an ordinary word too
}

// exact returns the tools that a question names, in its order. A name that is an
// ordinary word counts where the question is mostly names, and beside other names.
func (t nameTable) exact(query string) []int32 {
	if tools := t.plain[squeeze(query)]; tools != nil {
		return t.asWritten(strings.TrimSpace(query), tools)
	}
	list, named, rest, words := t.mentions(query)
	for i, m := range list {
		if m.tools == nil || m.sure {
			continue
		}
		mostly := rest == 0 || named >= 3 && named >= rest
		list[i].sure = mostly && (!m.word || 2*named >= words)
	}
	beside := func(i, j int) {
		if list[i].tools != nil && j >= 0 && j < len(list) && list[j].sure {
			list[i].sure = true
		}
	}
	for i := range list {
		beside(i, i-1)
	}
	var out, others []int32
	for i := len(list) - 1; i >= 0; i-- {
		beside(i, i+1)
	}
	for _, m := range list {
		if m.sure {
			out, others = append(out, m.tools[0]), append(others, m.tools[1:]...)
		}
	}
	return append(out, others...)
}

// mentions returns what in a question may be a name, and a mention without tools for
// each other word but "and"; how many there are of both; and how many words in all.
func (t nameTable) mentions(query string) (list []mention, named, rest, all int) {
	words := pieces(query)
	for i := 0; i < len(words); {
		n, tools := t.longest(words[i:])
		switch w := words[i]; {
		case tools != nil:
			named++
			about := i > 0 && introduces(words[i-1].key) || i+n < len(words) && words[i+n].key == "tool"
			m := mention{tools: t.asWritten(w.text, tools), word: n == 1 && stop()[w.key]}
			m.sure = n > 1 || w.marked || about || t.spelled(w.text, i, tools)
			list = append(list, m)
			i += n
			continue
		case !stop()[w.key]:
			rest++
			list = append(list, mention{})
		case w.key != "and":
			list = append(list, mention{})
		}
		i++
	}
	return list, named, rest, len(words)
}

// asWritten puts those tools first whose name is written just so.
func (t nameTable) asWritten(text string, tools []int32) []int32 {
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b int32) int {
		switch x, y := t.tools[a].isNamed(text), t.tools[b].isNamed(text); {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return 0
	})
	return tools
}

// spelled reports whether a word at a place of a question can only be meant as a
// name: it is written as the name is, and not as ordinary words are.
func (t nameTable) spelled(text string, place int, tools []int32) bool {
	for _, i := range tools {
		if !t.tools[i].isNamed(text) {
			continue
		}
		upper := strings.IndexFunc(text, unicode.IsUpper) >= 0
		return upper && place > 0 || strings.ContainsAny(text, "-0123456789") || !upper && !t.common(text)
	}
	return false
}

// longest returns how many of the first words make the name of a tool, and the tools
// that have it.
func (t nameTable) longest(words []piece) (n int, tools []int32) {
	key := ""
	for i, w := range words[:min(len(words), maxNameWords)] {
		key += w.key
		if found := t.plain[key]; found != nil {
			n, tools = i+1, found
		}
	}
	return n, tools
}

// near returns the tools whose names are nearly a word of the question that is
// written as a name and is none.
func (t nameTable) near(query string) []int32 {
	var out []int32
	for _, w := range pieces(query) {
		if !w.marked || len(w.key) < 6 || t.plain[w.key] != nil {
			continue
		}
		letters := letterSet(w.key)
		for i, key := range t.keys {
			if bits.OnesCount64(letters^t.letters[i]) <= 4 && distance(w.key, key) <= 2 {
				out = append(out, int32(i))
			}
		}
	}
	return out
}

// letterSet returns the letters and digits of a key as bits. Two changes of a word
// change at most four of them.
func letterSet(key string) uint64 {
	var set uint64
	for i := range len(key) {
		set |= 1 << (key[i] & 63)
	}
	return set
}

// introduces reports whether a name is likely to follow this word.
func introduces(word string) bool {
	return word == "tool" || word == "use" || word == "call" || word == "run"
}
