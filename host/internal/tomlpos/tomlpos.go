// Package tomlpos finds the positions of the keys of a TOML document. The TOML
// library reports where syntax breaks, but neither where a decoded key was written
// nor the order of keys inside arrays.
package tomlpos

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/msg"
)

// Decode reads a document with the TOML library, which panics where it finds
// itself in doubt; here that is an error as well.
func Decode(text string, into any) (md toml.MetaData, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = msg.Errorf("the text cannot be read as TOML: %v", r)
		}
	}()
	return toml.Decode(text, into)
}

// MaxDepth bounds the nesting and the length of dotted keys. No manifest needs
// more, and the TOML library takes quadratic time for very long keys.
const MaxDepth = 64

// A Position is one place of a document. A tree of them mirrors the document: every
// table, key and array element with the place where it was written.
type Position struct {
	At    int                  // byte offset of the key, or of the header that made a table
	Value int                  // byte offset of the value; of [ for tables with a header
	End   int                  // byte offset of the value's end; 0: a table with a header, or made by the keys in it
	kids  map[string]*Position // a table's keys
	Order []string             // kids in document order
	Items []*Position          // an array's elements
}

// child returns the position of a key, making it if the document has not named it yet.
func (s *Position) child(name string, at int) *Position {
	if c, ok := s.kids[name]; ok {
		return c
	}
	if s.kids == nil {
		s.kids = map[string]*Position{}
	}
	c := &Position{At: at, Value: at}
	s.kids[name] = c
	s.Order = append(s.Order, name)
	return c
}

// table is the position that a key path continues in: of an array of tables it is
// the last element.
func (s *Position) table() *Position {
	if len(s.Items) > 0 {
		return s.Items[len(s.Items)-1]
	}
	return s
}

// Key returns a known key's position, or s itself, so that a position is always near.
func (s *Position) Key(name string) *Position {
	if c, ok := s.kids[name]; ok {
		return c
	}
	return s
}

// Find returns the position of the key at a path of tables; nil: it is not in the
// document.
func (s *Position) Find(path ...string) *Position {
	for _, name := range path {
		if s = s.table().kids[name]; s == nil {
			return nil
		}
	}
	return s
}

// Headers returns the byte offsets of all headers of tables.
func (s *Position) Headers(text string) (offsets []int) {
	if s.End == 0 && s.Value < len(text) && text[s.Value] == '[' {
		offsets = append(offsets, s.Value)
	}
	for _, c := range s.kids {
		offsets = append(offsets, c.Headers(text)...)
	}
	for _, c := range s.Items {
		offsets = append(offsets, c.Headers(text)...)
	}
	return offsets
}

// Item returns an element's position, or s itself.
func (s *Position) Item(i int) *Position {
	if i < len(s.Items) {
		return s.Items[i]
	}
	return s
}

// Locate reads a document into its position tree. It expects text that the TOML
// library accepts, and ends on any other text too, with whatever tree it has;
// ok is false when the document nests deeper than MaxDepth.
func Locate(text string) (root *Position, ok bool) {
	sc := &scanner{s: text, i: len(text) - len(strings.TrimPrefix(text, "\uFEFF"))}
	root = &Position{}
	here := root
	for {
		sc.skip(true)
		if sc.i >= len(sc.s) || sc.deep {
			return root, !sc.deep
		}
		if sc.s[sc.i] == '[' {
			here = sc.header(root)
		} else {
			sc.pair(here, 0)
		}
		sc.line()
	}
}

// A scanner walks over TOML text without judging it.
type scanner struct {
	s    string
	i    int
	deep bool
}

// header reads [a.b] or [[a.b]] and returns the table it opens.
func (sc *scanner) header(root *Position) *Position {
	at := sc.i
	sc.i++
	array := sc.peek() == '['
	if array {
		sc.i++
	}
	here := root
	parts := sc.key()
	for n, p := range parts {
		c := here.child(p.name, p.at)
		if n < len(parts)-1 || !array {
			here = c.table()
			continue
		}
		here = &Position{At: at, Value: at}
		c.Items = append(c.Items, here)
	}
	if !array && here != root {
		here.Value = at
	}
	return here
}

// pair reads key = value into the table.
func (sc *scanner) pair(table *Position, depth int) {
	parts := sc.key()
	for _, p := range parts {
		table = table.child(p.name, p.at)
	}
	if depth+len(parts) > MaxDepth {
		sc.deep = true
	}
	if sc.peek() == '=' {
		sc.i++
		sc.skip(false)
		sc.into(table, depth+len(parts))
	}
}

// into reads a value.
func (sc *scanner) into(s *Position, depth int) {
	s.Value = sc.i
	if depth > MaxDepth || sc.deep {
		sc.deep = true
		return
	}
	switch sc.peek() {
	case '"', '\'':
		sc.text()
	case '[':
		sc.elements(']', func() {
			item := &Position{At: sc.i}
			s.Items = append(s.Items, item)
			sc.into(item, depth+1)
		})
	case '{':
		sc.elements('}', func() { sc.pair(s, depth+1) })
	default:
		for sc.i < len(sc.s) && !strings.ContainsRune(",]}#\r\n", rune(sc.s[sc.i])) {
			sc.i++
		}
	}
	s.End = s.Value + len(strings.TrimRight(sc.s[s.Value:sc.i], " \t"))
}

// elements reads the elements between brackets, comma by comma.
func (sc *scanner) elements(end byte, one func()) {
	sc.i++
	for {
		sc.skip(true)
		c := sc.peek()
		if c == end {
			sc.i++
			return
		}
		if sc.i >= len(sc.s) || sc.deep {
			return
		}
		before := sc.i
		if c != ',' {
			one()
		}
		if sc.skip(true); sc.peek() == ',' || sc.i == before {
			sc.i++
		}
	}
}

// A part is one piece of a dotted key.
type part struct {
	name string
	at   int
}

// key reads a dotted key.
func (sc *scanner) key() []part {
	var parts []part
	for sc.i < len(sc.s) {
		sc.skip(false)
		p := part{at: sc.i}
		if c := sc.peek(); c == '"' || c == '\'' {
			p.name = sc.text()
		} else {
			for sc.i < len(sc.s) && !strings.ContainsRune(" \t\r\n.,#{}[]"+"=", rune(sc.s[sc.i])) {
				sc.i++
			}
			p.name = sc.s[p.at:sc.i]
		}
		parts = append(parts, p)
		if len(parts) > MaxDepth {
			sc.deep = true
			return parts
		}
		sc.skip(false)
		if sc.peek() != '.' {
			return parts
		}
		sc.i++
	}
	return parts
}

// text reads a string of any of the four kinds. What it returns is exact for
// the two kinds that may be keys.
func (sc *scanner) text() string {
	quote := sc.s[sc.i : sc.i+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(sc.s[sc.i:], long) {
		sc.i += 3
		sc.until(long, quote == `"`)
		for sc.peek() == quote[0] { // up to two quotes may precede the closing three
			sc.i++
		}
		return ""
	}
	sc.i++
	from := sc.i
	sc.until(quote, quote == `"`)
	raw := strings.TrimSuffix(sc.s[from:sc.i], quote)
	if quote == `"` {
		return unescape(raw)
	}
	return raw
}

// until skips to after the next unescaped occurrence of end.
func (sc *scanner) until(end string, escapes bool) {
	for sc.i < len(sc.s) {
		switch {
		case escapes && sc.s[sc.i] == '\\':
			sc.i = min(sc.i+2, len(sc.s))
		case strings.HasPrefix(sc.s[sc.i:], end):
			sc.i += len(end)
			return
		default:
			sc.i++
		}
	}
}

// skip goes over blanks and, with lines, over line ends and comments.
func (sc *scanner) skip(lines bool) {
	for sc.i < len(sc.s) {
		switch c := sc.s[sc.i]; {
		case c == ' ' || c == '\t':
			sc.i++
		case lines && (c == '\n' || c == '\r'):
			sc.i++
		case lines && c == '#':
			sc.line()
		default:
			return
		}
	}
}

// line goes to the next line end.
func (sc *scanner) line() {
	if n := strings.IndexByte(sc.s[sc.i:], '\n'); n >= 0 {
		sc.i += n
		return
	}
	sc.i = len(sc.s)
}

// peek returns the next byte, or 0 at the end.
func (sc *scanner) peek() byte {
	if sc.i < len(sc.s) {
		return sc.s[sc.i]
	}
	return 0
}

// unescape resolves the escapes of a basic string.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]; n > 0 && i+n < len(s) {
			code, _ := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			b.WriteRune(rune(code))
			i += n
			continue
		}
		if k := strings.IndexByte(`btnfre"\`, s[i]); k >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b\"\\"[k])
		}
	}
	return b.String()
}

// LineCol turns a byte offset into a line and a column, both from 1, the column
// in characters.
func LineCol(text string, at int) (line, col int) {
	at = min(at, len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return strings.Count(text[:start], "\n") + 1, utf8.RuneCountInString(text[start:at]) + 1
}

// Read is Locate for a caller who has checked the document, or takes a near
// place as well.
func Read(text string) Document {
	root, _ := Locate(text)
	return Document{text, root}
}

// A Document is a text with its tree.
type Document struct {
	text string
	root *Position
}

// Position returns the line and column, both from 1, of the key at a path;
// array elements are named by their number. Of an unknown path it is the
// nearest known place.
func (d Document) Position(path ...string) (line, col int) {
	s := d.root
	for _, name := range path {
		if i, err := strconv.Atoi(name); err == nil && i < len(s.Items) && i >= 0 {
			s = s.Items[i]
			continue
		}
		s = s.table().Key(name)
	}
	return LineCol(d.text, s.At)
}

// Fault returns the line and column of an error of the TOML library, both from 1,
// the column in characters. The library's own column counts bytes, and is beyond
// the end of the previous line for an error at the beginning of one.
func Fault(text string, pe toml.ParseError) (line, col int) {
	line, col = LineCol(strings.TrimPrefix(text, "\uFEFF"), max(pe.Position.Start, 0))
	if line != pe.Position.Line {
		return max(pe.Position.Line, 1), 1
	}
	return line, col
}

// Explain returns the message of an error of Decode with its place, if it has one.
func Explain(err error) string {
	if pe, ok := errors.AsType[toml.ParseError](err); ok {
		return fmt.Sprintf("line %d, column %d: %s", pe.Position.Line, pe.Position.Col, Reason(pe))
	}
	return err.Error()
}

// Reason returns the message of an error of the TOML library, without Go's types and the
// final period.
func Reason(pe toml.ParseError) string {
	text := strings.NewReplacer("toml: ", "", " for int64", "", " for float64", "").Replace(pe.Message)
	return strings.TrimSuffix(text, ".")
}
