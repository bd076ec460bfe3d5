package marker

import (
	"bytes"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// MaxHeader bounds a channel's header, in bytes.
const MaxHeader = 200

// Header reads a channel's header at offset from, which ends with <|message|>: who is
// spoken to, and whether it is a thought.
func Header(text []byte, from int, final bool) (to string, thought bool, end int, st lex.Status) {
	b := text[from:min(len(text), from+MaxHeader)]
	n := bytes.Index(b, []byte("<|message|>"))
	if n < 0 {
		return "", false, from, lex.Unless(final || len(b) == MaxHeader)
	}
	head := strings.ToLower(string(b[:n]))
	if i := strings.Index(head, "to="); i >= 0 {
		to = string(b[i+3 : n])
		if j := strings.IndexAny(to, " <\n"); j >= 0 {
			to = to[:j]
		}
	}
	return to, strings.Contains(head, "analysis"), from + n + len("<|message|>"), lex.Done
}

// Calling reads [Calling tool: name with arguments: at offset i, up to the bracket that
// opens the arguments. It returns the name, also if the bracket is still to come, where
// the name begins, and where the bracket is.
func Calling(text []byte, i int, final bool) (name string, at, open int, st lex.Status) {
	b := text[i:min(len(text), i+MaxToken)]
	limit := len(b) == MaxToken || final
	colon := 1
	for colon < len(b) && (lex.IsLetter(b[colon]) || b[colon] == ' ') {
		colon++
	}
	label := strings.ToLower(string(b[1:colon]))
	known := false
	for _, f := range CallingForms {
		known = known || label == f || colon == len(b) && strings.HasPrefix(f, label)
	}
	switch {
	case !known:
		return "", 0, 0, lex.No
	case colon == len(b):
		return "", 0, 0, lex.Unless(limit)
	case b[colon] != ':':
		return "", 0, 0, lex.No
	}
	j := colon + 1
	for j < len(b) && b[j] == ' ' {
		j++
	}
	end, unsure := lex.NameRun(b, j, limit)
	if unsure {
		return "", 0, 0, lex.More
	}
	args := bytes.IndexAny(b[end:], "{(]\n")
	switch {
	case args < 0:
		return string(b[j:end]), 0, 0, lex.Unless(limit)
	case end == j || b[end+args] != '{' && b[end+args] != '(':
		return "", 0, 0, lex.No
	}
	return string(b[j:end]), i + j, i + end + args, lex.Done
}
