package value

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// Literal tells numbers and constants from other unquoted text.
func Literal(s string) Node {
	switch s {
	case "true", "True", "TRUE":
		return Node{Kind: Bool, Value: "true", Raw: s}
	case "false", "False", "FALSE":
		return Node{Kind: Bool, Value: "false", Raw: s}
	case "null", "None", "nil", "undefined", "":
		return Node{Kind: Null, Raw: s}
	}
	if num, ok := ParseNumber(s); ok {
		return Node{Kind: Number, Value: num, Raw: s}
	}
	return Node{Kind: Bare, Value: lex.UnescapeMarkdown(s)}
}

// ParseNumber writes a number of JSON or Python as JSON does.
func ParseNumber(s string) (string, bool) {
	if s == "" || !lex.IsDigit(s[len(s)-1]) && s[len(s)-1] != '.' && !lex.IsLetter(s[len(s)-1]) {
		return "", false
	}
	if json.Valid([]byte(s)) && (s[0] == '-' || lex.IsDigit(s[0])) {
		return s, true
	}
	t := strings.TrimPrefix(s, "+")
	if len(t) > 2 && t[0] == '0' && strings.IndexByte("xXbBoO", t[1]) >= 0 {
		if i, err := strconv.ParseInt(t, 0, 64); err == nil {
			return strconv.FormatInt(i, 10), true
		}
		return "", false
	}
	neg := strings.HasPrefix(t, "-")
	t = strings.TrimPrefix(t, "-")
	if t == "" || !lex.IsDigit(t[0]) && t[0] != '.' || len(t) > 1 && t[0] == '0' && lex.IsDigit(t[1]) {
		return "", false // 007 is not a number
	}
	if t[0] == '.' {
		t = "0" + t
	}
	t = strings.Replace(t, "_", "", strings.Count(t, "_"))
	if strings.HasSuffix(t, ".") {
		t += "0"
	}
	t = strings.NewReplacer(".e", ".0e", ".E", ".0E").Replace(t)
	if neg {
		t = "-" + t
	}
	return t, json.Valid([]byte(t))
}
