package limit

import (
	"strings"
	"unicode/utf8"
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
//	[ after functools (Phi)                                          ［…
//	Action Input: at the start of a line (ReAct)                     Ａ…
func Neutralise(s string) string {
	var b strings.Builder
	pos := 0
	for i := nextTrigger(s, 0); i < len(s); i = nextTrigger(s, i+1) {
		alike, size := lookalike(s, i)
		if size == 0 {
			continue
		}
		if pos == 0 {
			b.Grow(len(s) + 64)
		}
		b.WriteString(s[pos:i])
		b.WriteString(alike)
		pos = i + size
	}
	if pos == 0 {
		return s
	}
	b.WriteString(s[pos:])
	return b.String()
}

// clipMark is 📎, the mark of a placeholder.
const clipMark = "📎"

// nextTrigger returns the next offset at or after i at which a token can begin.
func nextTrigger(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '<', '[', '`', '~', 'A', 'a', clipMark[0]:
			return i
		}
	}
	return i
}

// lookalike returns the replacement for the beginning of the token at s[i:], and
// how many bytes it replaces; 0 if no token begins at i.
func lookalike(s string, i int) (string, int) {
	rest := s[i+1:]
	switch s[i] {
	case '<':
		if isTag(rest) {
			return "＜", 1
		}
	case '[':
		if isBracketed(rest) || strings.HasSuffix(s[:i], "functools") {
			return "［", 1
		}
	case '`':
		if isFence(s[i:], '`') {
			return "｀", 1
		}
	case '~':
		if isFence(s[i:], '~') {
			return "～", 1
		}
	case 'A', 'a':
		if (i == 0 || s[i-1] == '\n') && hasFold(s[i:], "action input:") {
			return string(rune(s[i]) - 'A' + 'Ａ'), 1
		}
	case clipMark[0]:
		if after, ok := strings.CutPrefix(s[i:], clipMark); ok {
			after = strings.TrimLeft(after, " \t\u00a0\ufe0e\ufe0f")
			if strings.HasPrefix(after, "[") && isPlaceholder(after[1:]) {
				return "🖇", len(clipMark)
			}
		}
	}
	return "", 0
}

// tags are names of elements, or their beginnings, that chat formats use around
// calls, results and thoughts.
const tags = "tool_call tool_response tool_result tool_output tool_use tool_code tool▁ tools> " +
	"function_call function_result function_response function= parameter= invoke arg_key arg_value " +
	"think> thinking> reasoning> start_of_turn end_of_turn bos> eos> <sys>> </sys>> |tool"

// isTag reports whether s, after a "<", continues as one of tags or as a special
// token of a chat template.
func isTag(s string) bool {
	s = strings.TrimLeft(s, " \t")
	if isSpecial(s) {
		return true
	}
	s = strings.TrimLeft(strings.TrimPrefix(s, "/"), " \t")
	if hasAny(s, tags) {
		return true
	}
	// The name may have a namespace.
	for i := 0; i < min(len(s), 24) && isName(s[i]); i++ {
		if i+1 < len(s) && s[i+1] == ':' {
			return hasAny(s[i+2:], tags)
		}
	}
	return false
}

// isSpecial reports whether s, after a "<", continues as in <|im_start|>, or
// with the full-width bar that some templates use.
func isSpecial(s string) bool {
	if strings.HasPrefix(s, "｜") {
		return true
	}
	s, ok := strings.CutPrefix(s, "|")
	if !ok {
		return false
	}
	end := strings.IndexByte(s[:min(len(s), 64)], '|')
	return end > 0 && isWord(s[:end]) && strings.HasPrefix(s[end+1:], ">")
}

// isWord reports whether s could be the name of a special token.
func isWord(s string) bool {
	for i := range len(s) {
		if !isName(s[i]) && s[i] != '/' && s[i] != '"' {
			return false
		}
	}
	return true
}

// isName reports whether c is a byte of a name in any script.
func isName(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z'
}

// brackets are the control tokens in square brackets, without the first one.
const brackets = "tool_calls] tool_results] tool_content] available_tools] inst] args] call_id] " +
	"system_prompt] think] begin_of_text] end_of_text]"

// isBracketed reports whether s, after a "[", continues as a control token, a
// placeholder or a notice.
func isBracketed(s string) bool {
	s = strings.TrimLeft(s, " \t")
	return hasAny(strings.TrimPrefix(s, "/"), brackets) || isPlaceholder(s) || isNotice(s)
}

// isFence reports whether s begins with three or more of c that open a block of
// tool calls.
func isFence(s string, c byte) bool {
	after := strings.TrimLeft(s, string(rune(c)))
	if len(s)-len(after) < 3 {
		return false
	}
	return hasAny(strings.TrimLeft(after, " \t"), "tool_call tool_code tool_response tool_result tool_output tool_use function_call")
}

// hasAny reports whether s begins with one of the words of list, in any case.
func hasAny(s, list string) bool {
	if s == "" {
		return false
	}
	first := lower(s[0])
	for list != "" {
		end := strings.IndexByte(list, ' ')
		if end < 0 {
			end = len(list)
		}
		if list[0] == first && hasFold(s, list[:end]) {
			return true
		}
		list = list[min(end+1, len(list)):]
	}
	return false
}

// hasFold reports whether s begins with prefix, in any case of ASCII letters.
func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && equalFold(s[:len(prefix)], prefix)
}

// cutFold is strings.CutPrefix in any case of ASCII letters.
func cutFold(s, prefix string) (string, bool) {
	if !hasFold(s, prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
