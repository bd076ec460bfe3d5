// Package marks recognises what announces a call, a role or a thought to a chat model:
// tags, special tokens, control tokens in brackets, fences and labels. What calls need is
// generated from the tables of package agent/parse.
package marks

import (
	"strings"
	"unicode/utf8"
)

// tags are names of elements, or their beginnings, that chat formats use around
// calls, results and thoughts.
const tags = "tool_call tool_response tool_result tool_output tool_use tool_code tool▁ tools> " +
	"function_call function_result function_response function= parameter= invoke arg_key arg_value " +
	"think> thinking> reasoning> start_of_turn end_of_turn bos> eos> <sys>> </sys>> |tool " +
	"|turn> turn|> |channel> channel|> special_10> special_11> special_12> extra_id_0> extra_id_1> " + // Gemma 4, Nemotron
	"role>human< role>assistant< role>system< role>observation<" // Ling

// IsTag reports whether s, after a "<", continues as one of tags or as a special
// token of a chat template.
func IsTag(s string) bool {
	s = strings.TrimLeft(s, " \t")
	if isSpecial(s) || isTableMark(s) {
		return true
	}
	s = strings.TrimLeft(strings.TrimPrefix(s, "/"), " \t")
	if hasAny(s, tags) || strings.HasPrefix(s, "｜") {
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
		if !isName(s[i]) && s[i] != '.' && s[i] != '/' && s[i] != '"' {
			return false
		}
	}
	return true
}

// isTableMark reports whether s, after a "<", continues as a tag of the recogniser: the word,
// in any case and with any separators, maybe with a slash, bars and a namespace.
func isTableMark(s string) bool {
	var word [48]byte
	n := 0
	prefixed := false
	known := func() bool {
		return isMarkWord(string(word[:n])) || prefixed && n > 0 && isMarkWord(string(word[1:n]))
	}
	for i := 0; i < len(s) && n < len(word); i++ {
		c := s[i]
		switch {
		case c == '/' && (n == 0 || n == 1 && word[0] == '|'):
			continue
		case c == '|' || strings.HasPrefix(s[i:], "｜"):
			if n > 0 && !hasAnyOf(string(word[:n])+" ", namespaceMarks) {
				return known()
			}
			prefixed = n > 0
			if c != '|' {
				i += len("｜") - 1
			}
			n, c = 0, '|'
		case strings.HasPrefix(s[i:], "▁"):
			i += len("▁") - 1
			c = '_'
		case c == ':' && n > 0 && word[0] != '|':
			if known() { // with a suffix
				return true
			}
			n = 0
			continue
		case c == '-' || c == '.' || c == ':':
			c = '_'
		case c == '\\':
			continue
		case !isName(c) || c >= utf8.RuneSelf:
			return known()
		}
		word[n] = lower(c)
		n++
	}
	return known()
}

// decoration is what may be before the first letter of a line that announces a call.
var decoration = func() (is [256]bool) {
	for _, c := range []byte(" \t\r*_-+#>.)0123456789") {
		is[c] = true
	}
	return is
}()

// Line returns where a line that announces a call has its first letter; -1: it
// announces none. Bullets, numbers and emphasis may be before it: decoration.
func Line(s string) int {
	n := 0
	for n < len(s) && n < 32 && decoration[s[n]] {
		n++
	}
	line := s[n:min(len(s), n+32)]
	if line == "" || lower(line[0]) < 'a' || lower(line[0]) > 'z' {
		return -1
	}
	if hasAnyOf(line, recipientMarks) {
		return n
	}
	end := strings.IndexByte(line, ':')
	if end < 0 {
		return -1
	}
	label := strings.TrimRight(strings.ReplaceAll(line[:end], "_", " "), " *0123456789")
	if strings.IndexByte(label, ' ') >= 0 && hasAnyOf(label+":", labelMarks) {
		return n
	}
	return -1
}

// hasAnyOf reports whether s begins with one of the phrases of list, which | divides, in
// any case.
func hasAnyOf(s, list string) bool {
	for list != "" {
		phrase, rest, _ := strings.Cut(list, "|")
		if hasFold(s, phrase) {
			return true
		}
		list = rest
	}
	return false
}

// isName reports whether c is a byte of a name in any script.
func isName(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z'
}

// brackets are the control tokens in square brackets, without the first one.
const brackets = "tool_calls] tool_results] tool_content] available_tools] inst] args] call_id] " +
	"system_prompt] think] begin_of_text] end_of_text] e~["

// IsBracket reports whether s, after a "[", continues as a control token or announces a call.
func IsBracket(s string) bool {
	word := strings.TrimPrefix(s, "/")
	return hasAny(word, brackets) || hasAny(word, squareMarks) || hasAnyOf(s, callingMarks)
}

// IsFence reports whether s begins with three or more of c that open a block of
// tool calls.
func IsFence(s string, c byte) bool {
	after := strings.TrimLeft(s, string(rune(c)))
	if len(s)-len(after) < 3 {
		return false
	}
	after = strings.TrimLeft(after, " \t")
	n := 0
	for n < len(after) && isName(after[n]) {
		n++
	}
	return hasAnyOf(after[:n]+" ", fenceMarks) || hasAny(after, "tool_call tool_code tool_response tool_result tool_output tool_use function_call")
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

// hasFold reports whether s begins with prefix, in any case.
func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// lower returns the lower case of a letter of ASCII.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
