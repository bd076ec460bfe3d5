package quote

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// A Request is what a person says before a call.
type Request struct {
	Typed  string // in the question
	Answer string // of the model, which the question follows; empty: it is the first one
}

// Asks reports whether a person asks for a call without writing it. They do in three ways:
//
//   - What they typed has all values of the call.
//   - They want done what a text says.
//   - They agree, and the model's answer in front of that has the call.
//
// In the first two ways they name the tool as well, unless it only reads.
func (t *Tools) Asks(r Request, c Call, reads bool) bool {
	if strings.TrimSpace(r.Typed) == "" {
		return false
	}
	text := words(r.Typed)
	if agreement().MatchString(text) && r.Answer != "" {
		var shown Calls
		shown.Read([]string{r.Answer}, t, nil)
		if shown.Holds(c, t) {
			return true
		}
	}
	values, all := t.valuesOf(c), true
	for _, value := range values {
		all = all && hasWords(text, words(value))
	}
	named := namesTool(text, c.Tool)
	return all && (named || reads && len(values) > 0) || (named || reads) && obedience().MatchString(text)
}

// agreement is a short text that says yes.
var agreement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:yes|yep|ok|okay|sure|please do|go ahead|do it|do that|do so|run it|make it|call it)\b.{0,60}|(?:好|可以|是的|行|对|请执行|执行吧|运行吧).{0,20})$`)
})

// obedience is a request to do what a text says.
var obedience = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[.!?,;:] ?|\b(?:please|then|and|now|just|(?:can|could|would|will) you) )` +
		`(?:follow|do (?:what|as|the)|run|execute|call|make|try|use|apply|perform|carry out)\b[^.?!]{0,80}\b` +
		`(?:recommend(?:s|ed|ation|ations)?|suggest(?:s|ed|ion|ions)?|advis(?:es|ed)|advice|propos(?:es|ed)|says?|tells?|describ(?:es|ed)|instruct(?:s|ions?)|steps?|examples?|shows?|shown|docs?|documentation|guide)\b` +
		`|(?:按照?|照着?|遵循|执行|运行|调用|跟着).{0,20}(?:推荐|建议|示例|例子|说的|写的|要求|指示|步骤)`)
})

// valuesOf returns the texts, numbers and truth values in the arguments of a call, but for those
// that say the same as leaving the argument out.
func (t *Tools) valuesOf(c Call) []string {
	v, _ := decode(t.set.Arguments(c.Tool, c.Args))
	args, _ := v.(map[string]any)
	maps.DeleteFunc(args, func(name string, v any) bool { return t.isDefault(c.Tool, name, v) })
	return leaves(args, nil)
}

// namesTool reports whether a text has the name of a tool or the words of it.
func namesTool(text, name string) bool {
	if hasWords(text, words(name)) {
		return true
	}
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, part := range parts {
		if !hasWords(text, part) {
			return false
		}
	}
	return len(parts) > 0
}

// leaves appends the texts, numbers and truth values in a value.
func leaves(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case json.Number:
		out = append(out, string(v))
	case bool:
		out = append(out, map[bool]string{true: "true", false: "false"}[v])
	case []any:
		for _, item := range v {
			out = leaves(item, out)
		}
	case map[string]any:
		for _, item := range v {
			out = leaves(item, out)
		}
	}
	return out
}

// words returns a text in lower case with single blanks.
func words(s string) string { return strings.Join(strings.Fields(strings.ToLower(original(s))), " ") }

// hasWords reports whether a text has a part that is not in the middle of a word or number.
// An empty part is in none.
func hasWords(text, part string) bool {
	for at := 0; part != ""; {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(part)
		if !(from > 0 && isWord(text[from-1]) && isWord(part[0])) && !(to < len(text) && isWord(text[to]) && isWord(part[len(part)-1])) {
			return true
		}
		at = from + 1
	}
	return false
}

// isWord reports whether c is a letter or digit of ASCII: other scripts write words
// without blanks.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
