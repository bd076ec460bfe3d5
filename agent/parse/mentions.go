package parse

import "github.com/weirhost/weir/agent/parse/internal/lex"

// Mentions returns the calls of declared tools in a text that no model wrote, such as
// the result of a tool, wherever they are: in prose, in a quotation, in a code block, in
// a thought, after other calls. A reply that repeats the text may begin at any of them.
// The time is linear in the text.
func (s *Set) Mentions(text string) []Call {
	if !s.tools.AreNamed(text) {
		return nil
	}
	p := newParser(s.tools, false)
	p.mentions = true
	return Calls(append(p.Feed(text), p.Close(false)...))
}

// beginsWord reports whether an object or a word that may be a declared name begins at i.
func (p *parser) beginsWord(i int) bool {
	c := p.buf[i]
	return c == '{' || p.t.First[c] && (i == 0 || !lex.IsNameByte(p.buf[i-1]))
}
