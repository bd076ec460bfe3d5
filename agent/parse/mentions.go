package parse

// Mentions returns the calls of declared tools in a text that no model wrote, such as
// the result of a tool, wherever they are: in prose, in a quotation, in a code block, in
// a thought, after other calls. A reply that repeats the text may begin at any of them.
// The time is linear in the text.
func (s *Set) Mentions(text string) []Call {
	if !s.tools.AreNamed(text) {
		return nil
	}
	p := newParser(s.tools, Reading{})
	p.in.takeAll()
	return Calls(append(p.Feed(text), p.Close(false)...))
}
