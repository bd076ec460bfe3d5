package parse

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind int

const (
	kindNone kind = iota
	kindNull
	kindBool
	kindNumber
	kindString
	kindBare // unquoted text, as written
	kindArray
	kindObject
)

// schemaType is the name that JSON Schema has for a kind of constant.
func (k kind) schemaType() string {
	switch k {
	case kindNull:
		return "null"
	case kindBool:
		return "boolean"
	case kindNumber:
		return "number"
	case kindArray:
		return "array"
	case kindObject:
		return "object"
	}
	return "string"
}

// A node is a value as the model wrote it. The numbers keep their digits and
// the keys their order.
type node struct {
	kind  kind
	s     string // string value; number, bool and bare text as written
	keys  []string
	items []node // of an array, or the values of an object's keys
	raw   string // the text of a number or bool, where a schema may want a string
	open  bool   // the text ended before its closing bracket
}

func (n node) get(key string) node {
	if n.kind == kindObject {
		if i := slices.Index(n.keys, key); i >= 0 {
			return n.items[i]
		}
	}
	return node{}
}

// text is the value of a string or of unquoted text.
func (n node) text() (string, bool) { return n.s, n.kind == kindString || n.kind == kindBare }

// appendJSON writes n as JSON.
func (n node) appendJSON(b []byte) []byte {
	switch n.kind {
	case kindBool, kindNumber:
		return append(b, n.s...)
	case kindString, kindBare:
		return appendString(b, n.s)
	case kindArray:
		b = append(b, '[')
		for i, v := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.appendJSON(b)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, v := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, n.keys[i]), ':')
			b = v.appendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendString writes a JSON string, leaving every printable character as it is.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

// readValue reads text that is one bracketed value, in JSON or in Python's
// notation. It fails where something is missing that is not structure.
func readValue(text string) (node, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' && text[0] != '(' {
		return node{}, false
	}
	s := scanner{tools: &toolset{}}
	if st := s.run([]byte(text), true); st != done || s.pos != len(text) {
		return node{}, false
	}
	v := values{t: text, spans: s.spans}
	n := v.value()
	return n, !v.bad
}

// values reads values out of an item whose strings a scanner has found.
type values struct {
	t       string
	i       int
	spans   []span
	mended  bool // something other than strict notation was read
	options bool // entries are written --key value
	bad     bool // something is missing that cannot be mended
}

// open returns the string literal that begins at i.
func (v *values) open(i int) (span, bool) {
	k, ok := slices.BinarySearchFunc(v.spans, i, func(s span, at int) int { return s.lo - at })
	if !ok {
		return span{}, false
	}
	return v.spans[k], true
}

func (v *values) space() {
	for v.i < len(v.t) {
		switch {
		case isSpace(v.t[v.i]):
			v.i++
		case strings.HasPrefix(v.t[v.i:], "//") && v.i > 0 && (isSpace(v.t[v.i-1]) || v.t[v.i-1] == ','):
			end := strings.IndexByte(v.t[v.i:], '\n')
			if end < 0 {
				end = len(v.t) - v.i
			}
			v.i += end
			v.mended = true
		default:
			return
		}
	}
}

func (v *values) peek() byte {
	v.space()
	if v.i < len(v.t) {
		return v.t[v.i]
	}
	return 0
}

func isEnd(c byte) bool { return c == 0 || c == ',' || c == '}' || c == ']' || c == ')' || c == ';' }

// value reads one value up to a comma, a closing bracket or the end. A value
// that goes on as an expression is kept as it is written.
func (v *values) value() node {
	c := v.peek()
	start := v.i
	n, ok := v.primary(c)
	if ok {
		next := v.peek()
		if isEnd(next) {
			return n
		}
		if _, str := v.open(v.i); str || next == '/' || next == '#' || v.options && next == '-' {
			v.mended = true // a comma is missing, or a comment follows
			return n
		}
	}
	v.mended = v.mended || ok
	return v.bare(start)
}

func (v *values) primary(c byte) (node, bool) {
	switch {
	case isQuote(c) || c == '<' || c == 0xE2:
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
	return node{}, false
}

// bare reads unquoted text from start to the next comma or closing bracket at
// its level.
func (v *values) bare(start int) node {
	v.i = start
	depth := 0
	for v.i < len(v.t) {
		if sp, ok := v.open(v.i); ok {
			if depth == 0 && v.i > start && literal(strings.TrimSpace(v.t[start:v.i])).kind != kindBare {
				v.mended = true
				break // a comma is missing behind a number or constant
			}
			v.i = sp.hi
			continue
		}
		c := v.t[v.i]
		if depth == 0 && (isEnd(c) || v.options && c == '-' && v.i > start && strings.HasPrefix(v.t[v.i-1:], " --")) {
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
	n := literal(strings.TrimSpace(v.t[start:v.i]))
	v.bad = v.bad || strings.TrimSpace(v.t[start:v.i]) == ""
	v.mended = v.mended || n.kind == kindBare || n.kind == kindNull && n.raw != "null" || n.kind != kindNull && n.raw != n.s
	return n
}

// literal tells numbers and constants from other unquoted text.
func literal(s string) node {
	switch s {
	case "true", "True", "TRUE":
		return node{kind: kindBool, s: "true", raw: s}
	case "false", "False", "FALSE":
		return node{kind: kindBool, s: "false", raw: s}
	case "null", "None", "nil", "undefined", "":
		return node{kind: kindNull, raw: s}
	}
	if num, ok := number(s); ok {
		return node{kind: kindNumber, s: num, raw: s}
	}
	return node{kind: kindBare, s: unescapeMarkdown(s)}
}

// number writes a number of JSON or Python as JSON does.
func number(s string) (string, bool) {
	if s == "" || !isDigit(s[len(s)-1]) && s[len(s)-1] != '.' && !isLetter(s[len(s)-1]) {
		return "", false
	}
	if json.Valid([]byte(s)) && (s[0] == '-' || isDigit(s[0])) {
		return s, true
	}
	t := strings.TrimPrefix(s, "+")
	if len(t) > 2 && t[0] == '0' && strings.IndexByte("xXbBoO", t[1]) >= 0 {
		if i, err := strconv.ParseInt(t, 0, 64); err == nil {
			return strconv.FormatInt(i, 10), true
		}
		return "", false
	}
	neg := strings.HasPrefix(t, "-")
	t = strings.TrimPrefix(t, "-")
	if t == "" || !isDigit(t[0]) && t[0] != '.' || len(t) > 1 && t[0] == '0' && isDigit(t[1]) {
		return "", false // 007 is not a number
	}
	if t[0] == '.' {
		t = "0" + t
	}
	t = strings.Replace(t, "_", "", strings.Count(t, "_"))
	if strings.HasSuffix(t, ".") {
		t += "0"
	}
	t = strings.NewReplacer(".e", ".0e", ".E", ".0E").Replace(t)
	if neg {
		t = "-" + t
	}
	return t, json.Valid([]byte(t))
}

func (v *values) array() node {
	n := node{kind: kindArray}
	end := closer(v.t[v.i])
	v.mended = v.mended || end != ']'
	v.i++
	for {
		c := v.peek()
		switch {
		case c == 0:
			v.mended, n.open = true, true
			return n
		case c == ',' || c == ';':
			v.mended = v.mended || len(n.items) == 0
			v.i++
			continue
		case c == end:
			v.i++
			return n
		case c == ']' || c == '}' || c == ')':
			v.mended = true // this bracket is the parent's
			return n
		}
		at := v.i
		n.items = append(n.items, v.value())
		if v.i == at {
			v.bad = true
			return n
		}
	}
}

// object reads the entries of {…}, or of a call's brackets.
func (v *values) object(end byte) node {
	n := node{kind: kindObject}
	v.i++
	for {
		c := v.peek()
		switch {
		case c == 0:
			v.mended, n.open = true, true
			return n
		case c == ',' || c == ';':
			v.i++
			continue
		case c == end:
			v.i++
			return n
		case c == ']' || c == '}' || c == ')':
			v.mended = true
			return n
		}
		at := v.i
		key, ok := v.key()
		if !ok {
			v.bad = true
			return n
		}
		n.keys = append(n.keys, key)
		n.items = append(n.items, v.value())
		if v.i == at {
			v.bad = true
			return n
		}
	}
}

// key reads a key with its sign: "a": a= a => --a.
func (v *values) key() (string, bool) {
	v.peek()
	start := v.i
	key := ""
	if strings.HasPrefix(v.t[v.i:], "--") {
		v.i += 2
		end, _ := nameRun([]byte(v.t), v.i, true)
		key = v.t[v.i:end]
		v.i = end
		v.mended, v.options = true, true
		if v.i < len(v.t) && v.t[v.i] == '=' {
			v.i++
		}
		return key, key != ""
	}
	if sp, ok := v.open(v.i); ok {
		key = v.str(sp, false).s
	} else {
		for v.i < len(v.t) && (isNameByte(v.t[v.i]) || v.t[v.i] == '$' || v.t[v.i] >= utf8.RuneSelf || v.t[v.i] == '@') {
			v.i++
		}
		key = strings.ReplaceAll(v.t[start:v.i], `\`, "")
		v.mended = true
	}
	c := v.peek()
	if key == "" || c != ':' && c != '=' || strings.HasPrefix(v.t[v.i:], "==") {
		v.i = start
		return "", false
	}
	v.i++
	if c == '=' && v.i < len(v.t) && v.t[v.i] == '>' {
		v.i++
	}
	return unescapeMarkdown(key), true
}
