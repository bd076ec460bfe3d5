package value

import (
	"bytes"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// maxDepth bounds the nesting of one call; deeper text is not a call.
const maxDepth = 200

// A Span is a string literal with its quotes. A literal whose closing quote is
// missing ends where its text does.
type Span struct{ lo, hi int }

// Names are the declared tools as a scanner needs them.
type Names interface {
	marker.Names
	// Known reports whether a name in front of a bracket may be a tool's.
	Known(spelled string) bool
}

// NoNames is the set without tools.
type NoNames struct{ marker.None }

// Known returns false.
func (NoNames) Known(string) bool { return false }

// A Scanner finds the end of one bracketed value, in JSON or in Python's
// notation, as the text comes in. It decides where strings end, also when
// quotes inside them are not escaped or a closing one is missing; the value
// reader takes these decisions over. Offsets are relative to the item.
type Scanner struct {
	Names Names
	Pos   int
	stack []byte // the brackets that must close, outermost first
	Spans []Span

	Quote    byte // the string that is open, or 0
	triple   bool
	token    string // what ends it, if that is no quote, or empty
	comment  bool   // inside a comment
	lo       int    // where it began
	value    bool   // it is where a value does, not a key
	wait     int    // a quote that may be its end, or 0
	newline  bool   // between wait and pos
	comma    bool   // likewise
	searched int    // how far a missing quote has been looked for
	TagAt    int    // the first closing marker of a call inside the open string, or 0
	Guessed  bool   // a string was ended, or not, by what follows its quotes
	inner    bool   // it holds a quote that is not escaped
	prev     byte   // the last byte outside strings that is not white space
	Repaired bool
}

// Run goes on over b, which is the item's text so far.
func (s *Scanner) Run(b []byte, final bool) lex.Status {
	for s.Pos < len(b) {
		var st lex.Status
		switch {
		case s.comment:
			s.comment = b[s.Pos] != '\n'
			s.Pos++
			st = goOn
		case s.token != "":
			st = s.inToken(b, final)
		case s.wait > 0:
			st = s.afterQuote(b, final)
		case s.Quote != 0:
			st = s.inString(b, final)
		default:
			st = s.outside(b, final)
		}
		if st != goOn {
			return st
		}
	}
	if !final {
		return lex.More
	}
	if s.wait > 0 {
		s.endString(s.wait + 1)
	}
	return lex.Cut
}

// goOn is the inner answer of a step that made progress.
const goOn lex.Status = -1

func (s *Scanner) outside(b []byte, final bool) lex.Status {
	c := b[s.Pos]
	switch c {
	case ' ', '\t', '\n', '\r':
		s.Pos++
		return goOn
	case '"', '\'':
		return s.openQuote(b, final)
	case '{', '[', '(':
		if len(s.stack) >= maxDepth {
			return lex.No
		}
		s.stack = append(s.stack, closer(c))
	case '}', ']', ')':
		if s.closeBracket(c) {
			s.Pos++
			return lex.Done
		}
	case '/':
		if s.Pos > 0 && (lex.IsSpace(b[s.Pos-1]) || b[s.Pos-1] == ',') {
			if s.Pos+1 == len(b) && !final {
				return lex.More
			}
			s.comment = s.Pos+1 < len(b) && b[s.Pos+1] == '/'
		}
	case 0xE2:
		if st := s.openToken(b, final); st != lex.No {
			return st
		}
	case '<', '`':
		if st := s.openToken(b, final); st != lex.No {
			return st
		}
		if st := s.marker(b, final); st != goOn {
			return st
		}
	}
	s.prev = c
	s.Pos++
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
func (s *Scanner) closeBracket(c byte) bool {
	i := bytes.LastIndexByte(s.stack, c)
	if i < 0 {
		return false
	}
	s.Repaired = s.Repaired || i < len(s.stack)-1
	s.stack = s.stack[:i]
	return i == 0
}

// marker ends the item where a closing tag, a token or a fence is outside
// any string.
func (s *Scanner) marker(b []byte, final bool) lex.Status {
	rest := b[s.Pos:]
	if rest[0] == '`' {
		if len(rest) < 3 && !final {
			return lex.More
		}
		if bytes.HasPrefix(rest, []byte("```")) {
			return lex.Cut
		}
		return goOn
	}
	if len(rest) < 2 && !final {
		return lex.More
	}
	if len(rest) < 2 || rest[1] != '/' && rest[1] != '|' && rest[1] != 0xEF {
		return goOn
	}
	switch _, st := marker.At(s.Names, b, s.Pos, final); st {
	case lex.Done:
		return lex.Cut
	case lex.More:
		return lex.More
	}
	return goOn
}

// stringTokens are what some models write for quotes, opening and closing.
var stringTokens = [][2]string{{`<|"|>`, `<|"|>`}, {"<escape>", "<escape>"}, {"“", "”"}}

// openToken begins a string that something else than a quote opens.
func (s *Scanner) openToken(b []byte, final bool) lex.Status {
	rest := b[s.Pos:]
	for _, tok := range stringTokens {
		if bytes.HasPrefix(rest, []byte(tok[0])) {
			s.token, s.Quote, s.lo = tok[1], '<', s.Pos
			s.Pos += len(tok[0])
			return goOn
		}
		if !final && len(rest) < len(tok[0]) && tok[0][:len(rest)] == string(rest) {
			return lex.More
		}
	}
	return lex.No
}

// inToken finds the end of a string that a special token quotes.
func (s *Scanner) inToken(b []byte, final bool) lex.Status {
	i := bytes.Index(b[s.Pos:], []byte(s.token))
	if i < 0 {
		if final {
			s.Pos = len(b)
			return goOn
		}
		s.Pos = max(s.Pos, len(b)-len(s.token)+1)
		return lex.More
	}
	s.Pos += i + len(s.token)
	s.token = ""
	s.endString(s.Pos)
	s.Repaired = true
	return goOn
}

// openQuote begins a string where a value or key may be. Elsewhere the
// quote is an apostrophe in unquoted text.
func (s *Scanner) openQuote(b []byte, final bool) lex.Status {
	c := b[s.Pos]
	opens := s.prev == 0 || bytes.IndexByte([]byte("{[(,:=>+\""), s.prev) >= 0 ||
		len(s.stack) > 0 && s.stack[len(s.stack)-1] == '}' && c == '"' ||
		s.Pos > 0 && bytes.IndexByte([]byte("rRbBfFuU"), b[s.Pos-1]) >= 0 && (s.Pos < 2 || !lex.IsNameByte(b[s.Pos-2]))
	if !opens {
		s.prev = 'a'
		s.Pos++
		return goOn
	}
	if len(b)-s.Pos < 3 && !final && (len(b)-s.Pos < 2 || b[s.Pos+1] == c) {
		return lex.More
	}
	s.Quote, s.lo, s.TagAt, s.inner = c, s.Pos, 0, false
	s.value = s.prev == ':' || s.prev == '=' || s.prev == '>'
	s.triple = len(b)-s.Pos >= 3 && b[s.Pos+1] == c && b[s.Pos+2] == c
	s.Pos++
	if s.triple {
		s.Pos += 2
	}
	return goOn
}

func (s *Scanner) inString(b []byte, final bool) lex.Status {
	for s.Pos < len(b) {
		switch c := b[s.Pos]; {
		case c == '\\':
			if s.Pos+1 == len(b) {
				if !final {
					return lex.More
				}
				s.Pos++
				return goOn
			}
			s.Pos += 2
		case c == s.Quote && s.triple:
			if len(b)-s.Pos < 3 && !final {
				return lex.More
			}
			if bytes.HasPrefix(b[s.Pos:], []byte{c, c, c}) {
				s.endString(s.Pos + 3)
				s.Pos += 3
				return goOn
			}
			s.Pos++
		case c == s.Quote:
			s.wait, s.newline, s.comma = s.Pos, false, false
			s.Pos++
			return goOn
		case c == '<' && s.TagAt == 0:
			if s.Pos+1 == len(b) && !final {
				return lex.More
			}
			if s.Pos+1 < len(b) && b[s.Pos+1] == '/' {
				tok, st := marker.At(s.Names, b, s.Pos, final)
				if st == lex.More {
					return lex.More
				}
				if st == lex.Done && tok.Role == marker.RoleClose {
					s.TagAt = s.Pos
				}
			}
			s.Pos++
		default:
			s.Pos++
		}
	}
	return goOn
}

func (s *Scanner) endString(hi int) {
	s.Spans = append(s.Spans, Span{s.lo, hi})
	s.Quote, s.wait, s.prev = 0, 0, '"'
}

// afterQuote decides by what follows whether a quote ends its string: the end
// of a value is followed by what can follow a value.
func (s *Scanner) afterQuote(b []byte, final bool) lex.Status {
	c := b[s.Pos]
	if lex.IsSpace(c) {
		s.newline = s.newline || c == '\n'
		s.Pos++
		return goOn
	}
	ends, st := s.stringEnds(b, final)
	if st != lex.Done {
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
	s.Repaired = true
	if s.TagAt > 0 && !s.inner && s.closedBefore(b) {
		s.Pos = s.TagAt
		return lex.Cut
	}
	s.inner = true
	apostrophe := b[s.Pos-1] == s.Quote && lex.IsWord(c) && lex.IsWord(b[s.Pos-2])
	s.Guessed = s.Guessed || !apostrophe
	return goOn
}

// stringEnds reports whether what is at pos can follow the end of a string.
func (s *Scanner) stringEnds(b []byte, final bool) (ends bool, st lex.Status) {
	c := b[s.Pos]
	switch c {
	case ',':
		if s.comma {
			return false, lex.Done
		}
		if s.stack[len(s.stack)-1] != '}' || s.Quote != '"' {
			return true, lex.Done
		}
		s.comma = true // a key or a closing bracket must follow
		s.Pos++
		return false, goOn
	case '}', ']', ')':
		ends = bytes.IndexByte(s.stack, c) >= 0
	case ':', '=':
		ends = !s.value && !s.comma
	case ';', '+':
		ends = !s.comma
	case '"', '\'':
		ends = s.comma || c == s.Quote && s.Pos > s.wait+1 || s.newline
	case '<', '`':
		switch s.marker(b, final) {
		case lex.More:
			return false, lex.More
		case lex.Cut:
			ends = true
		}
	case '-': // an option: --key "value" --key …
		if s.Pos+1 == len(b) && !final {
			return false, lex.More
		}
		ends = s.comma || s.Pos+1 < len(b) && b[s.Pos+1] == '-'
	case '/':
		if s.Pos+1 == len(b) && !final {
			return false, lex.More
		}
		ends = s.comma || lex.IsSpace(b[s.Pos-1]) && s.Pos+1 < len(b) && b[s.Pos+1] == '/'
	case '#':
		ends = s.comma
	default:
		if !s.comma || !lex.IsLetter(c) {
			break
		}
		end, unsure := lex.NameRun(b, s.Pos, final)
		end = lex.SkipBlank(b, end)
		if unsure || end == len(b) && !final {
			return false, lex.More
		}
		ends = end < len(b) && (b[end] == ':' || b[end] == '=') // a key without quotes
	}
	return ends, lex.Done
}

// closedBefore reports whether the first closing marker inside the open string
// is after a closing bracket. If the first quote comes only after it, the
// string has lost its end and the marker is real.
func (s *Scanner) closedBefore(b []byte) bool {
	text := bytes.TrimRight(b[s.lo:s.TagAt], " \t\r\n")
	return len(text) > 1 && bytes.IndexByte([]byte("}])"), text[len(text)-1]) >= 0
}

// missingQuote looks whether the string swallowed the next call because its
// own closing quote is missing: f(a="x), f(a="y"). If so, the string ends
// before that call and the scan goes back to there.
func (s *Scanner) missingQuote(b []byte) bool {
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
		for j < s.wait && (lex.IsSpace(b[j]) || b[j] == ',' || b[j] == ';' || b[j] == ']' || b[j] == '[') {
			j++
		}
		if j == i+1 {
			continue
		}
		end, _ := lex.NameRun(b[:s.wait], j, true)
		if end < s.wait && b[end] == '(' && end > j && s.Names.Known(string(b[j:end])) {
			s.Pos = i
			s.endString(i)
			s.Repaired = true
			return true
		}
	}
	return false
}

// QuoteAtEnd ends the string that is open at the end of the reply before the
// bracket that closes its call, as in f(a='French). Only plain words are taken
// for such a string: anything else may be content that was cut off.
func (s *Scanner) QuoteAtEnd(b []byte) bool {
	if len(s.stack) != 1 {
		return false
	}
	text := strings.TrimRight(string(b[s.lo+1:]), " \t\r\n])\"'`;")
	end := s.lo + 1 + len(text)
	last := text[strings.LastIndexByte(text, ' ')+1:]
	if end >= len(b) || b[end] != ')' || len(last) < 3 || strings.TrimFunc(text, func(r rune) bool { return r == ' ' || r < 0x80 && lex.IsLetter(byte(r)) }) != "" {
		return false
	}
	s.Pos = end + 1
	s.endString(end)
	s.Repaired = true
	return true
}
