package limit

import (
	"strings"

	"github.com/weirhost/weir/sdk/limit/internal/marks"
)

// Neutralise changes the tokens in s that a model could read as more than text:
// a call, a role, a placeholder, a notice of weir's. It replaces only the first
// character of a token, with one that looks similar. One code point replaces
// one, and so every count stays correct. It ignores case, and spaces after the
// first character. It is idempotent. Other HTML, code and prose stay unchanged.
//
//	begins with                                                    becomes
//	<tool_call …, </tool_response …, <invoke …, <think>, <<SYS>> …   ＜…
//	<|im_start|>, <|channel|> and every other <|word|>, <｜…          ＜…
//	[TOOL_CALLS], [INST], [/INST], [AVAILABLE_TOOLS] …               ［…
//	[Tool result archived:, [工具结果存档:                             ［…
//	📎 before either                                                 🖇…
//	notices of Render, as in [28,110 of 35,870 characters …          ［…
//	``` or ~~~ fences of tool_call, tool_code, tool_response …       ｀… ～…
//	[ after functools (Phi), [e~[                                    ［…
//	~ of ]~b] and ]~!b[                                              ～
//	[Calling tool: and alike                                         ［…
//	Action Input:, commentary to= and alike, at the start of a line  Ａ… ｃ…
//
// The words of calls and thoughts are those of the recogniser's tables; package marks is
// generated from them.
func Neutralise(s string) string { return neutralise(s, false) }

// NeutraliseCalls is Neutralise for a text with placeholders and notices that weir wrote: those
// stay as they are, so that a model can name them and a copy of them is recognised.
func NeutraliseCalls(s string) string { return neutralise(s, true) }

// neutralise leaves placeholders and notices as they are if own is set.
func neutralise(s string, own bool) string {
	var b strings.Builder
	pos := 0
	if n := marks.Line(s); n >= 0 {
		b.WriteString(s[:n] + wide(s[n]))
		pos = n + 1
	}
	for i := nextTrigger(s, 0); i < len(s); i = nextTrigger(s, i+1) {
		alike, size := lookalike(s, i, own)
		if size == 0 {
			i += run(s[i:]) - 1
			continue
		}
		if pos == 0 {
			b.Grow(len(s) + 64)
		}
		b.WriteString(s[pos:i])
		b.WriteString(alike)
		pos = i + size
		i = pos - 1
	}
	if pos == 0 {
		return s
	}
	b.WriteString(s[pos:])
	return b.String()
}

// clipMark is 📎, the mark of a placeholder.
const clipMark = "📎"

// triggers are the bytes at which a token can begin.
var triggers = [256]uint8{'<': 1, '[': 1, '`': 1, '~': 1, '\n': 1, 0xF0: 1} // 0xF0 begins clipMark

// nextTrigger returns the next offset at or after i at which a token can begin.
func nextTrigger(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		t := s[i : i+8]
		if triggers[t[0]]|triggers[t[1]]|triggers[t[2]]|triggers[t[3]]|triggers[t[4]]|triggers[t[5]]|triggers[t[6]]|triggers[t[7]] != 0 {
			break
		}
	}
	for i < len(s) && triggers[s[i]] == 0 {
		i++
	}
	return i
}

// lookalike returns the replacement for the beginning of the token at s[i:], and
// how many bytes it replaces; 0 if no token begins at i.
func lookalike(s string, i int, own bool) (string, int) {
	rest := s[i+1:]
	switch s[i] {
	case '<':
		if marks.IsTag(rest) {
			return "＜", 1
		}
	case '[':
		if isBracketed(rest, own) || strings.HasSuffix(s[:i], "functools") {
			return "［", 1
		}
	case '`':
		if marks.IsFence(s[i:], '`') {
			n := run(s[i:]) - 2
			return strings.Repeat("｀", n), n
		}
	case '~':
		if marks.IsFence(s[i:], '~') {
			n := run(s[i:]) - 2
			return strings.Repeat("～", n), n
		}
		if strings.HasSuffix(s[:i], "]") && (strings.HasPrefix(rest, "b]") || strings.HasPrefix(rest, "!b[")) { // MiniMax
			return "～", 1
		}
	case '\n':
		if n := marks.Line(rest); n >= 0 {
			return "\n" + rest[:n] + wide(rest[n]), n + 2
		}
	case clipMark[0]:
		if after, ok := strings.CutPrefix(s[i:], clipMark); ok && !own {
			after = strings.TrimLeft(after, " \t\u00a0\ufe0e\ufe0f")
			if strings.HasPrefix(after, "[") && isPlaceholder(after[1:]) {
				return "🖇", len(clipMark)
			}
		}
	}
	return "", 0
}

// run returns the number of equal characters of a fence at the start of s, or 1. A fence
// may be as long as the text, so it is read once.
func run(s string) int {
	n := 1
	for (s[0] == '`' || s[0] == '~') && n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// isBracketed reports whether s, after a "[", continues as a control token or, unless own is
// set, as a placeholder or a notice.
func isBracketed(s string, own bool) bool {
	s = strings.TrimLeft(s, " \t")
	return marks.IsBracket(s) || !own && (isPlaceholder(s) || isNotice(s))
}

// wide returns the full-width form of a letter.
func wide(c byte) string { return string(rune(c) - '!' + '！') }

// hasFold reports whether s begins with prefix, in any case of ASCII letters.
func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// cutFold is strings.CutPrefix in any case of ASCII letters.
func cutFold(s, prefix string) (string, bool) {
	if !hasFold(s, prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
