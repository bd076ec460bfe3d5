package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Valid is json.Valid in a fraction of the time.
func Valid(text []byte) bool {
	c := checker{s: text}
	c.space()
	ok := c.value(0)
	if c.deep {
		return json.Valid(text)
	}
	c.space()
	return ok && c.i == len(c.s)
}

// Text is the text of a JSON string, which may be a part of it; ok is false for what
// is none, and for what only a lenient reader takes for one.
func Text(quoted []byte) (text string, ok bool) {
	out, ok := AppendText(make([]byte, 0, len(quoted)), quoted)
	return unsafe.String(unsafe.SliceData(out), len(out)), ok // nothing else has out
}

// AppendText appends the Text to b. It copies a text once, which may have 8 MiB:
// encoding/json needs three times as much.
func AppendText(b, quoted []byte) (out []byte, ok bool) {
	c := checker{s: quoted}
	if c.next() != '"' || !c.text() || c.i != len(quoted) || !utf8.Valid(quoted) {
		return b, false
	}
	s := quoted[1 : len(quoted)-1]
	for out = slices.Grow(b, len(s)); ; {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...), true
		}
		out = append(out, s[:i]...)
		escape := s[i+1]
		s = s[i+2:]
		switch escape {
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, "\b\f\n\r\t"[strings.IndexByte("bfnrt", escape)])
		case 'u':
			r := unit(s)
			s = s[4:]
			if utf16.IsSurrogate(r) && bytes.HasPrefix(s, []byte(`\u`)) {
				if pair := utf16.DecodeRune(r, unit(s[2:])); pair != utf8.RuneError {
					r, s = pair, s[6:]
				}
			}
			out = utf8.AppendRune(out, r) // a surrogate alone becomes U+FFFD
		default:
			out = append(out, escape)
		}
	}
}

// unit returns the UTF-16 code unit of four hexadecimal digits.
func unit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // the checker has read them
	return rune(n)
}

// longestEscape is the length of the longest character of a JSON string, in bytes: two
// escape sequences for one.
const longestEscape = 12

// TextStart returns the beginning of the text of a JSON string: all of it, whatever
// follows, or what is complete of it where the string has no end. ok is false for what
// begins no string.
func TextStart(s []byte) (text string, ok bool) {
	c := checker{s: s}
	if c.next() != '"' {
		return "", false
	}
	if c.text() {
		return Text(s[:c.i])
	}
	for end := len(s); end > max(0, len(s)-longestEscape); end-- {
		if text, ok := Text(append(bytes.Clone(s[:end]), '"')); ok {
			return text, true
		}
	}
	return "", false
}

// maxChecked bounds the nesting of what a checker reads itself: it is a call deeper
// at each level.
const maxChecked = 64

// checker is where Valid is in its text.
type checker struct {
	s    []byte
	i    int
	deep bool // it has met maxChecked and knows nothing of the text
}

// next returns the next byte, or 0 after the last one; 0 is invalid in JSON.
func (c *checker) next() byte {
	if c.i < len(c.s) {
		return c.s[c.i]
	}
	return 0
}

func (c *checker) space() {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\n' || c.s[c.i] == '\t' || c.s[c.i] == '\r') {
		c.i++
	}
}

// take goes over a byte, if it is the next one.
func (c *checker) take(b byte) bool {
	ok := c.next() == b
	if ok {
		c.i++
	}
	return ok
}

func (c *checker) value(depth int) bool {
	switch c.next() {
	case '"':
		return c.text()
	case '{':
		return c.object(depth)
	case '[':
		return c.list(depth)
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

// down reports whether there may be one more level.
func (c *checker) down(depth int) bool {
	c.deep = c.deep || depth == maxChecked
	return !c.deep
}

func (c *checker) object(depth int) bool {
	if !c.down(depth) {
		return false
	}
	c.i++
	c.space()
	if c.take('}') {
		return true
	}
	for {
		if c.next() != '"' || !c.text() {
			return false
		}
		if c.space(); !c.take(':') {
			return false
		}
		if c.space(); !c.value(depth + 1) {
			return false
		}
		if c.space(); !c.take(',') {
			return c.take('}')
		}
		c.space()
	}
}

func (c *checker) list(depth int) bool {
	if !c.down(depth) {
		return false
	}
	c.i++
	c.space()
	if c.take(']') {
		return true
	}
	for {
		if !c.value(depth + 1) {
			return false
		}
		if c.space(); !c.take(',') {
			return c.take(']')
		}
		c.space()
	}
}

func (c *checker) word(w string) bool {
	end := c.i + len(w)
	ok := end <= len(c.s) && string(c.s[c.i:end]) == w
	c.i = end
	return ok
}

func (c *checker) number() bool {
	c.take('-')
	if !c.take('0') && !c.digits() {
		return false
	}
	if c.take('.') && !c.digits() {
		return false
	}
	if !c.take('e') && !c.take('E') {
		return true
	}
	if !c.take('+') {
		c.take('-')
	}
	return c.digits()
}

// digits goes over some, at least one.
func (c *checker) digits() bool {
	begin := c.i
	for c.next() >= '0' && c.next() <= '9' {
		c.i++
	}
	return c.i > begin
}

// text goes over a string.
func (c *checker) text() bool {
	for c.i++; c.i < len(c.s); {
		switch b := c.s[c.i]; {
		case b == '"':
			c.i++
			return true
		case b == '\\':
			if c.i++; !c.escape() {
				return false
			}
		case b < ' ':
			return false
		default:
			if c.i++; c.i%8 == 0 { // seldom enough where strings are short
				c.plain()
			}
		}
	}
	return false
}

// ones times a byte is a word of that byte.
const ones = 0x0101010101010101

// plain skips bytes of a string that need no check; it may stop before the last of
// them.
func (c *checker) plain() {
	for ; c.i+8 <= len(c.s); c.i += 8 {
		// Each term has a high bit where a byte is under 0x20, a quote or a backslash;
		// a false alarm costs a closer look.
		w := binary.LittleEndian.Uint64(c.s[c.i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		if ((w-' '*ones)&^w|(quote-ones)&^quote|(slash-ones)&^slash)&(0x80*ones) != 0 {
			return
		}
	}
}

// escape skips the escape sequence after a backslash.
func (c *checker) escape() bool {
	b := c.next()
	c.i++
	switch b {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		return c.hex() && c.hex() && c.hex() && c.hex()
	}
	return false
}

// hex goes over a digit of base 16.
func (c *checker) hex() bool {
	b := c.next()
	c.i++
	return b >= '0' && b <= '9' || b|' ' >= 'a' && b|' ' <= 'f'
}
