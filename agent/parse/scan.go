package parse

import "bytes"

// maxDepth bounds the nesting of one call; deeper text is not a call.
const maxDepth = 200

// status says how far an incremental reader has come.
type status int

const (
	more status = iota // the text so far does not decide
	done               // complete
	cut                // ended by a closing marker or the end of the reply, brackets still open
	no                 // not what it looked like
)

// A span is a string literal with its quotes. A literal whose closing quote is
// missing ends where its text does.
type span struct{ lo, hi int }

// A scanner finds the end of one bracketed value, in JSON or in Python's
// notation, as the text comes in. It decides where strings end, also when
// quotes inside them are not escaped or a closing one is missing; the value
// reader takes these decisions over. Offsets are relative to the item.
type scanner struct {
	tools *toolset
	pos   int
	stack []byte // the brackets that must close, outermost first
	spans []span

	quote    byte // the string that is open, or 0
	triple   bool
	token    string // what ends it, if that is no quote, or empty
	comment  bool   // inside a comment
	lo       int    // where it began
	value    bool   // it stands where a value does, not a key
	wait     int    // a quote that may be its end, or 0
	newline  bool   // between wait and pos
	comma    bool   // likewise
	searched int    // how far a missing quote has been looked for
	tagAt    int    // the first closing marker of a call inside the open string, or 0
	guessed  bool   // a string was ended, or not, by what follows its quotes
	inner    bool   // it holds a quote that is not escaped
	prev     byte   // the last byte outside strings that is not white space
	mended   bool
}

// run goes on over b, which is the item's text so far.
func (s *scanner) run(b []byte, final bool) status {
	for s.pos < len(b) {
		var st status
		switch {
		case s.comment:
			s.comment = b[s.pos] != '\n'
			s.pos++
			st = goOn
		case s.token != "":
			st = s.inToken(b, final)
		case s.wait > 0:
			st = s.afterQuote(b, final)
		case s.quote != 0:
			st = s.inString(b, final)
		default:
			st = s.outside(b, final)
		}
		if st != goOn {
			return st
		}
	}
	if !final {
		return more
	}
	if s.wait > 0 {
		s.endString(s.wait + 1)
	}
	return cut
}

// goOn is the inner answer of a step that made progress.
const goOn status = -1

func (s *scanner) outside(b []byte, final bool) status {
	c := b[s.pos]
	switch c {
	case ' ', '\t', '\n', '\r':
		s.pos++
		return goOn
	case '"', '\'':
		return s.openQuote(b, final)
	case '{', '[', '(':
		if len(s.stack) >= maxDepth {
			return no
		}
		s.stack = append(s.stack, closer(c))
	case '}', ']', ')':
		if s.closeBracket(c) {
			s.pos++
			return done
		}
	case '/':
		if s.pos > 0 && (isSpace(b[s.pos-1]) || b[s.pos-1] == ',') {
			if s.pos+1 == len(b) && !final {
				return more
			}
			s.comment = s.pos+1 < len(b) && b[s.pos+1] == '/'
		}
	case 0xE2:
		if st := s.openToken(b, final); st != no {
			return st
		}
	case '<', '`':
		if st := s.openToken(b, final); st != no {
			return st
		}
		if st := s.marker(b, final); st != goOn {
			return st
		}
	}
	s.prev = c
	s.pos++
	return goOn
}

func closer(c byte) byte {
	switch c {
	case '{':
		return '}'
	case '[':
		return ']'
	}
	return ')'
}

// closeBracket closes the innermost bracket that c fits, and with it what was
// left open inside. It reports whether the item is complete.
func (s *scanner) closeBracket(c byte) bool {
	i := bytes.LastIndexByte(s.stack, c)
	if i < 0 {
		return false
	}
	s.mended = s.mended || i < len(s.stack)-1
	s.stack = s.stack[:i]
	return i == 0
}

// marker ends the item where a closing tag, a token or a fence stands outside
// any string.
func (s *scanner) marker(b []byte, final bool) status {
	rest := b[s.pos:]
	if rest[0] == '`' {
		if len(rest) < 3 && !final {
			return more
		}
		if bytes.HasPrefix(rest, []byte("```")) {
			return cut
		}
		return goOn
	}
	if len(rest) < 2 && !final {
		return more
	}
	if len(rest) < 2 || rest[1] != '/' && rest[1] != '|' && rest[1] != 0xEF {
		return goOn
	}
	switch _, st := s.tools.tokenAt(b, s.pos, final); st {
	case done:
		return cut
	case more:
		return more
	}
	return goOn
}

// stringTokens are what some models write for quotes, opening and closing.
var stringTokens = [][2]string{{`<|"|>`, `<|"|>`}, {"<escape>", "<escape>"}, {"“", "”"}}

// openToken begins a string that something else than a quote opens.
func (s *scanner) openToken(b []byte, final bool) status {
	rest := b[s.pos:]
	for _, tok := range stringTokens {
		if bytes.HasPrefix(rest, []byte(tok[0])) {
			s.token, s.quote, s.lo = tok[1], '<', s.pos
			s.pos += len(tok[0])
			return goOn
		}
		if !final && len(rest) < len(tok[0]) && tok[0][:len(rest)] == string(rest) {
			return more
		}
	}
	return no
}

// inToken finds the end of a string that a special token quotes.
func (s *scanner) inToken(b []byte, final bool) status {
	i := bytes.Index(b[s.pos:], []byte(s.token))
	if i < 0 {
		if final {
			s.pos = len(b)
			return goOn
		}
		s.pos = max(s.pos, len(b)-len(s.token)+1)
		return more
	}
	s.pos += i + len(s.token)
	s.token = ""
	s.endString(s.pos)
	s.mended = true
	return goOn
}

// openQuote begins a string where a value or key may stand. Elsewhere the
// quote is an apostrophe in unquoted text.
func (s *scanner) openQuote(b []byte, final bool) status {
	c := b[s.pos]
	opens := s.prev == 0 || bytes.IndexByte([]byte("{[(,:=>+\""), s.prev) >= 0 ||
		len(s.stack) > 0 && s.stack[len(s.stack)-1] == '}' && c == '"' ||
		s.pos > 0 && bytes.IndexByte([]byte("rRbBfFuU"), b[s.pos-1]) >= 0 && (s.pos < 2 || !isNameByte(b[s.pos-2]))
	if !opens {
		s.prev = 'a'
		s.pos++
		return goOn
	}
	if len(b)-s.pos < 3 && !final && (len(b)-s.pos < 2 || b[s.pos+1] == c) {
		return more
	}
	s.quote, s.lo, s.tagAt, s.inner = c, s.pos, 0, false
	s.value = s.prev == ':' || s.prev == '=' || s.prev == '>'
	s.triple = len(b)-s.pos >= 3 && b[s.pos+1] == c && b[s.pos+2] == c
	s.pos++
	if s.triple {
		s.pos += 2
	}
	return goOn
}

func (s *scanner) inString(b []byte, final bool) status {
	for s.pos < len(b) {
		switch c := b[s.pos]; {
		case c == '\\':
			if s.pos+1 == len(b) {
				if !final {
					return more
				}
				s.pos++
				return goOn
			}
			s.pos += 2
		case c == s.quote && s.triple:
			if len(b)-s.pos < 3 && !final {
				return more
			}
			if bytes.HasPrefix(b[s.pos:], []byte{c, c, c}) {
				s.endString(s.pos + 3)
				s.pos += 3
				return goOn
			}
			s.pos++
		case c == s.quote:
			s.wait, s.newline, s.comma = s.pos, false, false
			s.pos++
			return goOn
		case c == '<' && s.tagAt == 0:
			if s.pos+1 == len(b) && !final {
				return more
			}
			if s.pos+1 < len(b) && b[s.pos+1] == '/' {
				tok, st := s.tools.tokenAt(b, s.pos, final)
				if st == more {
					return more
				}
				if st == done && tok.role == roleClose {
					s.tagAt = s.pos
				}
			}
			s.pos++
		default:
			s.pos++
		}
	}
	return goOn
}

func (s *scanner) endString(hi int) {
	s.spans = append(s.spans, span{s.lo, hi})
	s.quote, s.wait, s.prev = 0, 0, '"'
}

// afterQuote decides by what follows whether a quote ends its string: the end
// of a value is followed by what can follow a value.
func (s *scanner) afterQuote(b []byte, final bool) status {
	c := b[s.pos]
	if isSpace(c) {
		s.newline = s.newline || c == '\n'
		s.pos++
		return goOn
	}
	ends, st := s.stringEnds(b, final)
	if st != done {
		return st
	}
	if ends {
		s.endString(s.wait + 1)
		if s.comma {
			s.prev = ','
		}
		return goOn
	}
	if s.missingQuote(b) {
		return goOn
	}
	s.wait = 0
	s.mended = true
	if s.tagAt > 0 && !s.inner && s.closedBefore(b) {
		s.pos = s.tagAt
		return cut
	}
	s.inner = true
	apostrophe := b[s.pos-1] == s.quote && isWord(c) && isWord(b[s.pos-2])
	s.guessed = s.guessed || !apostrophe
	return goOn
}

// stringEnds reports whether what stands at pos can follow the end of a string.
func (s *scanner) stringEnds(b []byte, final bool) (ends bool, st status) {
	c := b[s.pos]
	switch c {
	case ',':
		if s.comma {
			return false, done
		}
		if s.stack[len(s.stack)-1] != '}' || s.quote != '"' {
			return true, done
		}
		s.comma = true // a key or a closing bracket must follow
		s.pos++
		return false, goOn
	case '}', ']', ')':
		ends = bytes.IndexByte(s.stack, c) >= 0
	case ':', '=':
		ends = !s.value && !s.comma
	case ';', '+':
		ends = !s.comma
	case '"', '\'':
		ends = s.comma || c == s.quote && s.pos > s.wait+1 || s.newline
	case '<', '`':
		switch s.marker(b, final) {
		case more:
			return false, more
		case cut:
			ends = true
		}
	case '-': // an option: --key "value" --key …
		if s.pos+1 == len(b) && !final {
			return false, more
		}
		ends = s.comma || s.pos+1 < len(b) && b[s.pos+1] == '-'
	case '/':
		if s.pos+1 == len(b) && !final {
			return false, more
		}
		ends = s.comma || isSpace(b[s.pos-1]) && s.pos+1 < len(b) && b[s.pos+1] == '/'
	case '#':
		ends = s.comma
	default:
		if !s.comma || !isLetter(c) {
			break
		}
		end, unsure := nameRun(b, s.pos, final)
		end = skipBlank(b, end)
		if unsure || end == len(b) && !final {
			return false, more
		}
		ends = end < len(b) && (b[end] == ':' || b[end] == '=') // a key without quotes
	}
	return ends, done
}

// isWord reports whether c is part of a word, in any script.
func isWord(c byte) bool { return isLetter(c) || c >= 0x80 }

// closedBefore reports whether the first closing marker inside the open string
// stands behind a closing bracket. If the first quote comes only behind it, the
// string has lost its end and the marker is real.
func (s *scanner) closedBefore(b []byte) bool {
	text := bytes.TrimRight(b[s.lo:s.tagAt], " \t\r\n")
	return len(text) > 1 && bytes.IndexByte([]byte("}])"), text[len(text)-1]) >= 0
}

// missingQuote looks whether the string swallowed the next call because its
// own closing quote is missing: f(a="x), f(a="y"). If so, the string ends
// before that call and the scan goes back to there.
func (s *scanner) missingQuote(b []byte) bool {
	if s.inner || bytes.IndexByte([]byte("=([{:"), b[s.wait-1]) < 0 {
		return false
	}
	from := max(s.lo+1, s.searched)
	s.searched = s.wait
	for i := from; i < s.wait; i++ {
		if b[i] != ')' {
			continue
		}
		j := i + 1
		for j < s.wait && (isSpace(b[j]) || b[j] == ',' || b[j] == ';' || b[j] == ']' || b[j] == '[') {
			j++
		}
		if j == i+1 {
			continue
		}
		end, _ := nameRun(b[:s.wait], j, true)
		if end < s.wait && b[end] == '(' && end > j && s.tools.find(string(b[j:end])) != nil {
			s.pos = i
			s.endString(i)
			s.mended = true
			return true
		}
	}
	return false
}
