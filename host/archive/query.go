package archive

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
)

// maxQuery bounds Entry.Query, in characters, and maxValue one argument in it.
const (
	maxQuery = 500
	maxValue = 160
)

// leading are the arguments that say what a call was about, the best first.
var leading = []string{
	"query", "q", "question", "pattern", "expression", "url", "sql", "command", "cmd",
	"file_path", "filepath", "path", "repo_path", "keyword", "keywords", "search", "name", "text",
}

// QuerySummary tells in at most 500 characters, on one line, what a call asked
// for: its most telling argument as it is, the others as name=value. A call
// without arguments is told by the tool's name. The names are the tool's own,
// so it reads the same in every language.
func QuerySummary(tool string, input json.RawMessage) string {
	text := strings.TrimSpace(string(input))
	if !jsonscan.Looks(text) || text[0] != '{' {
		if text = clipLine(text, maxQuery); text == "" || text == "null" {
			text = clip(tool, maxQuery)
		}
		return text
	}
	first, rank := "", len(leading)
	var rest []string
	for key, value := range jsonscan.Members(text) {
		shown := clipLine(plainValue(value), maxValue)
		if shown == "" || shown == "null" {
			continue
		}
		r := rankOf(key)
		if r < rank {
			if first != "" {
				rest = append(rest, leading[rank]+"="+first)
			}
			first, rank = shown, r
			continue
		}
		rest = append(rest, clipLine(key, maxValue)+"="+shown)
	}
	if first == "" && len(rest) == 1 {
		_, first, _ = strings.Cut(rest[0], "=")
		rest = nil
	}
	if first != "" {
		rest = append([]string{first}, rest...)
	}
	if len(rest) == 0 {
		return clip(tool, maxQuery)
	}
	return clip(strings.Join(rest, ", "), maxQuery)
}

// rankOf is the place of key in leading, len(leading) for any other.
func rankOf(key string) int {
	key = strings.ToLower(key)
	for i, name := range leading {
		if key == name {
			return i
		}
	}
	return len(leading)
}

// plainValue is a string's text, or the value as it stands there.
func plainValue(value string) string {
	if strings.HasPrefix(value, `"`) {
		return jsonscan.Unquote(value)
	}
	return value
}
