package value

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// Parse reads text that is one bracketed value, in JSON or in Python's
// notation. It fails where something is missing that is not structure.
func Parse(text string) (Node, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' && text[0] != '(' {
		return Node{}, false
	}
	v, ok := readerOf(text)
	if !ok {
		return Node{}, false
	}
	n := v.Value()
	return n, !v.Bad
}

// readerOf returns a Reader of a text that is one item, whole.
func readerOf(text string) (Reader, bool) {
	s := Scanner{Names: NoNames{}}
	st := s.Run([]byte(text), true)
	return Reader{Text: text, Spans: s.Spans}, st == lex.Done && s.Pos == len(text)
}

// Reader reads values out of an item whose strings a scanner has found.
type Reader struct {
	Text     string
	i        int
	Spans    []Span
	Repaired bool // something other than strict notation was read
	options  bool // entries are written --key value
	Bad      bool // something is missing that cannot be repaired
}

// open returns the string literal that begins at i.
func (v *Reader) open(i int) (Span, bool) {
	k, ok := slices.BinarySearchFunc(v.Spans, i, func(s Span, at int) int { return s.lo - at })
	if !ok {
		return Span{}, false
	}
	return v.Spans[k], true
}

func (v *Reader) space() {
	for v.i < len(v.Text) {
		switch {
		case lex.IsSpace(v.Text[v.i]):
			v.i++
		case strings.HasPrefix(v.Text[v.i:], "//") && v.i > 0 && (lex.IsSpace(v.Text[v.i-1]) || v.Text[v.i-1] == ','):
			end := strings.IndexByte(v.Text[v.i:], '\n')
			if end < 0 {
				end = len(v.Text) - v.i
			}
			v.i += end
			v.Repaired = true
		default:
			return
		}
	}
}

func (v *Reader) peek() byte {
	v.space()
	if v.i < len(v.Text) {
		return v.Text[v.i]
	}
	return 0
}

// Value reads one value up to a comma, a closing bracket or the end. A value
// that goes on as an expression is kept as it is written.
func (v *Reader) Value() Node {
	c := v.peek()
	start := v.i
	n, ok := v.primary(c)
	if ok {
		next := v.peek()
		if lex.IsEnd(next) {
			return n
		}
		if _, str := v.open(v.i); str || next == '/' || next == '#' || v.options && next == '-' {
			v.Repaired = true // a comma is missing, or a comment follows
			return n
		}
	}
	v.Repaired = v.Repaired || ok
	return v.bare(start)
}

func (v *Reader) primary(c byte) (Node, bool) {
	switch {
	case lex.IsQuote(c) || c == '<' || c == 0xE2:
		if sp, ok := v.open(v.i); ok {
			return v.str(sp, false), true
		}
	case strings.IndexByte("rRbBfFuU", c) >= 0:
		if sp, ok := v.open(v.i + 1); ok {
			v.i++
			return v.str(sp, c == 'r' || c == 'R'), true
		}
	case c == '{':
		return v.object('}'), true
	case c == '[', c == '(':
		return v.array(), true
	}
	return Node{}, false
}

// bare reads unquoted text from start to the next comma or closing bracket at
// its level.
func (v *Reader) bare(start int) Node {
	v.i = start
	depth := 0
	for v.i < len(v.Text) {
		if sp, ok := v.open(v.i); ok {
			if depth == 0 && v.i > start && Literal(strings.TrimSpace(v.Text[start:v.i])).Kind != Bare {
				v.Repaired = true
				break // a comma is missing after a number or constant
			}
			v.i = sp.hi
			continue
		}
		c := v.Text[v.i]
		if depth == 0 && (lex.IsEnd(c) || v.options && c == '-' && v.i > start && strings.HasPrefix(v.Text[v.i-1:], " --")) {
			break
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		v.i++
	}
	n := Literal(strings.TrimSpace(v.Text[start:v.i]))
	v.Bad = v.Bad || strings.TrimSpace(v.Text[start:v.i]) == ""
	v.Repaired = v.Repaired || n.Kind == Bare || n.Kind == Null && n.Raw != "null" || n.Kind != Null && n.Raw != n.Value
	return n
}

func (v *Reader) array() Node {
	n := Node{Kind: Array}
	end := closer(v.Text[v.i])
	v.Repaired = v.Repaired || end != ']'
	v.i++
	for {
		c := v.peek()
		switch {
		case c == 0:
			v.Repaired, n.Unclosed = true, true
			return n
		case c == ',' || c == ';':
			v.Repaired = v.Repaired || len(n.Items) == 0
			v.i++
			continue
		case c == end:
			v.i++
			return n
		case c == ']' || c == '}' || c == ')':
			v.Repaired = true // this bracket is the parent's
			return n
		}
		at := v.i
		n.Items = append(n.Items, v.Value())
		if v.i == at {
			v.Bad = true
			return n
		}
	}
}

// object reads the entries of {…}, or of a call's brackets.
func (v *Reader) object(end byte) Node {
	n := Node{Kind: Object}
	v.i++
	for {
		c := v.peek()
		switch {
		case c == 0:
			v.Repaired, n.Unclosed = true, true
			return n
		case c == ',' || c == ';':
			v.i++
			continue
		case c == end:
			v.i++
			return n
		case c == ']' || c == '}' || c == ')':
			v.Repaired = true
			return n
		}
		if c == '{' && len(n.Keys) == 0 { // a template's braces are doubled
			n = v.object('}')
			v.Repaired = true
			if v.peek() == end {
				v.i++
			}
			return n
		}
		at := v.i
		key, ok := v.key()
		if !ok && len(n.Keys) == 0 {
			return v.set(end)
		}
		if !ok {
			v.Bad = true
			return n
		}
		n.Keys = append(n.Keys, key)
		n.Items = append(n.Items, v.Value())
		if v.i == at {
			v.Bad = true
			return n
		}
	}
}

// set reads the rest of a set of Python's, which JSON has as an array.
func (v *Reader) set(end byte) Node {
	n := Node{Kind: Array}
	for {
		switch v.peek() {
		case 0:
			n.Unclosed = true
			return n
		case ',':
			v.i++
			continue
		case end:
			v.i++
			return n
		}
		item := v.Value()
		if next := v.peek(); item.Kind != String && item.Kind != Number || next != ',' && next != end {
			v.Bad = true
			return n
		}
		n.Items = append(n.Items, item)
	}
}

// key reads a key with its sign: "a": a= a => --a.
func (v *Reader) key() (string, bool) {
	v.peek()
	start := v.i
	key := ""
	if strings.HasPrefix(v.Text[v.i:], "--") {
		v.i += 2
		end, _ := lex.NameRun([]byte(v.Text), v.i, true)
		key = v.Text[v.i:end]
		v.i = end
		v.Repaired, v.options = true, true
		if v.i < len(v.Text) && v.Text[v.i] == '=' {
			v.i++
		}
		return key, key != ""
	}
	if sp, ok := v.open(v.i); ok {
		key = v.str(sp, false).Value
	} else {
		for v.i < len(v.Text) && (lex.IsNameByte(v.Text[v.i]) || v.Text[v.i] == '$' || v.Text[v.i] >= utf8.RuneSelf || v.Text[v.i] == '@') {
			v.i++
		}
		key = strings.ReplaceAll(v.Text[start:v.i], `\`, "")
		v.Repaired = true
	}
	c := v.peek()
	if key == "" || c != ':' && c != '=' || strings.HasPrefix(v.Text[v.i:], "==") {
		v.i = start
		return "", false
	}
	v.i++
	if c == '=' && v.i < len(v.Text) && v.Text[v.i] == '>' {
		v.i++
	}
	return lex.UnescapeMarkdown(key), true
}
