package parse

import (
	"encoding/json"

	"github.com/weirhost/weir/agent/parse/internal/toolset"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// Mentions returns the calls of declared tools in a text that no model wrote, such as
// the result of a tool, wherever they are: in prose, in a quotation, in a code block, in
// a thought, after other calls. A reply that repeats the text may begin at any of them.
// The time is linear in the text.
func (s *Set) Mentions(text string) []Call {
	if !s.MayName(text) {
		return nil
	}
	p := newParser(s.tools, Reading{})
	p.in.takeAll()
	return Calls(append(p.Feed(text), p.Close(false)...))
}

// MayName reports whether text holds the name of a declared tool, in any spelling, also as a part of
// a longer word: a text without one holds no call. The time is linear in the text.
func (s *Set) MayName(text string) bool { return s.tools.AreNamed(text) }

// MayCall reports whether text holds such a name where a call may have it: not as a part of a
// longer word, and not as a word of a sentence. The time is linear in the text.
func (s *Set) MayCall(text string) bool { return s.tools.MayCall(text) }

// Arguments returns the arguments of a call of a declared tool with the names and types
// of its schema, as a call in text gets them. What does not fit stays as it is.
func (s *Set) Arguments(name string, args json.RawMessage) json.RawMessage {
	info := s.tools.Find(name)
	n, ok := value.Parse(string(args))
	if info == nil || !ok || n.Kind != value.Object {
		return args
	}
	typed, ok := info.Arguments(toolset.Reading{Arguments: value.Arguments{Args: n}})
	if !ok {
		return args
	}
	return typed.AppendJSON(nil)
}
