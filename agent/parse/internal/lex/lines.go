package lex

import (
	"slices"
	"strings"
)

// Decoration skips list bullets and emphasis at the start of a line.
func Decoration(b []byte, i int, final bool) (int, Status) {
	for n := 0; n < 3; n++ {
		j := i
		switch c := b[j]; {
		case c == '*' || c == '_':
			for j < len(b) && b[j] == c && j-i < 3 {
				j++
			}
		case c == '-' || c == '+':
			j++
		case IsDigit(c):
			for j < len(b) && IsDigit(b[j]) && j-i < 4 {
				j++
			}
			if j < len(b) && b[j] != '.' && b[j] != ')' {
				return i, Done
			}
			j++
		default:
			return i, Done
		}
		word := j
		for j < len(b) && j-i < MaxIndent && b[j] == ' ' {
			j++
		}
		if j >= len(b) {
			if final {
				return i, Done
			}
			return i, More
		}
		if j == word && b[i] != '*' && b[i] != '_' {
			return i, Done // -5, 3.5
		}
		i = j
	}
	return i, Done
}

// AtLineStart reports whether only blanks are before b[i] on its line.
func AtLineStart(b []byte, i int) bool {
	for i--; i >= 0 && IsBlank(b[i]); i-- {
	}
	return i < 0 || b[i] == '\n'
}

// Label reads "Action:", "**Action 1:**" or "Action_Input :" at b[i] and
// returns which of the words it is and where its value begins.
func Label(b []byte, i int, words []string, final bool) (word string, value int, st Status) {
	if i < len(b) && !slices.ContainsFunc(words, func(w string) bool { return w[0] == b[i]|0x20 }) {
		return "", 0, No
	}
	j := i
	for j < len(b) && j-i < 24 && (IsLetter(b[j]) || b[j] == ' ' || IsDigit(b[j]) || b[j] == '*') {
		j++
	}
	text := strings.ToLower(strings.ReplaceAll(string(b[i:j]), "_", " "))
	if j == len(b) && !final {
		bare := strings.TrimRight(text, " *0123456789")
		if slices.ContainsFunc(words, func(w string) bool { return bare == w || strings.HasPrefix(w, text) }) {
			return "", 0, More
		}
		return "", 0, No
	}
	word = strings.TrimRight(text, " *0123456789")
	if j == len(b) || b[j] != ':' || !slices.Contains(words, word) {
		return "", 0, No
	}
	for j++; j < len(b) && (b[j] == ' ' || b[j] == '*'); j++ {
	}
	if j == len(b) {
		return word, j, Unless(final)
	}
	return word, j, Done
}

var (
	CallFences = []string{"tool_call", "tool_calls", "tool_code", "toolcall", "function_call", "function_calls", "tool_use", "tool", "function", "tools"}
	dataFences = []string{"", "json", "jsonc", "json5", "jsonl", "python", "py", "python3", "xml", "html", "javascript", "js", "text", "txt", "plaintext", "bash", "shell", "sh", "code"}
)

// FenceInfo reads the word after a fence's backticks. The body begins on the
// next line or, where the word ends, on the same one.
func FenceInfo(b []byte, i int, final bool) (body int, info string, st Status) {
	j := i
	for j < len(b) && j-i < 32 && (IsNameByte(b[j]) || b[j] == '+') {
		j++
	}
	info = strings.ToLower(string(b[i:j]))
	k := j
	for k < len(b) && k-j < MaxIndent && (b[k] == ' ' || b[k] == '\t' || b[k] == '\r') {
		k++
	}
	if k == len(b) {
		if final {
			return k, info, No
		}
		return k, info, More
	}
	if b[k] == '\n' {
		k++
	} else if b[k] != '[' && b[k] != '{' && b[k] != '<' {
		return k, info, No
	}
	if !slices.Contains(CallFences, info) && !slices.Contains(dataFences, info) {
		return k, info, No
	}
	return k, info, Done
}
