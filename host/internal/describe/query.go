package describe

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/snippet"
)

// MaxQuery is the most characters of a query.
const MaxQuery = 500

// maxValue is the most characters of one argument in a query.
const maxValue = 160

// leading are the arguments that describe a call best, the best first.
var leading = []string{
	"query", "q", "question", "pattern", "expression", "url", "sql", "command", "cmd",
	"file_path", "filepath", "path", "repo_path", "keyword", "keywords", "search", "name", "text",
}

// Query returns what a call asked for, on one line of at most 500 characters:
// its most important argument without its name, the others as name=value. For a call
// without arguments it returns the tool's name. The summary is the same in every
// language, because it contains only words of the tool and of the call.
func Query(tool string, input json.RawMessage) string {
	text := strings.TrimSpace(string(input))
	if !jsonscan.Looks(text) || text[0] != '{' {
		if text = snippet.ClipLine(text, MaxQuery); text == "" || text == "null" {
			text = snippet.Clip(tool, MaxQuery)
		}
		return text
	}
	first, rank := "", len(leading)
	var rest []string
	for key, value := range jsonscan.Members(text) {
		shown := snippet.ClipLine(plainValue(value), maxValue)
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
		rest = append(rest, snippet.ClipLine(key, maxValue)+"="+shown)
	}
	if first == "" && len(rest) == 1 {
		_, first, _ = strings.Cut(rest[0], "=")
		rest = nil
	}
	if first != "" {
		rest = append([]string{first}, rest...)
	}
	if len(rest) == 0 {
		return snippet.Clip(tool, MaxQuery)
	}
	return snippet.Clip(strings.Join(rest, ", "), MaxQuery)
}

// rankOf returns the index of key in leading, len(leading) for any other.
func rankOf(key string) int {
	key = strings.ToLower(key)
	for i, name := range leading {
		if key == name {
			return i
		}
	}
	return len(leading)
}

// plainValue returns the text of a string, or another value as it is written.
func plainValue(value string) string {
	if strings.HasPrefix(value, `"`) {
		return jsonscan.Unquote(value)
	}
	return value
}
