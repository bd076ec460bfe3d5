package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/weirhost/weir/sdk/tool"
)

// generic are words in names of tools that say nothing of their subject.
var generic = strings.Fields("get set list find search fetch look up lookup read show query run call do execute create make add the a an of for by to in tool tools function api data info current my user")

// fitting returns a call of a tool whose name the question speaks of, as a newcomer's own
// tool get_weather with "What is the weather in Paris?". Tools with examples have those.
func fitting(tools []toolInfo, question string) (tool.Call, bool) {
	said := wordsOf(question)
	for _, t := range tools {
		about := slices.DeleteFunc(wordsOf(t.name), func(w string) bool { return slices.Contains(generic, w) })
		if len(about) == 0 || len(t.examples) > 0 || slices.ContainsFunc(about, func(w string) bool { return !slices.Contains(said, w) && !slices.Contains(said, w+"s") }) {
			continue
		}
		return t.called(question), true
	}
	return tool.Call{}, false
}

// forced returns a call of one of the tools for a question that may speak of none.
func forced(tools []toolInfo, question string) []tool.Call {
	if len(tools) == 0 {
		return nil
	}
	if c, ok := callFor(tools, question); ok {
		return []tool.Call{c}
	}
	return []tool.Call{tools[0].called(question)}
}

// called returns a call with the arguments that the tool needs.
func (t toolInfo) called(question string) tool.Call {
	args := &object{}
	for _, p := range t.needed() {
		args.set(p.name, p.value(question))
	}
	return call(t.name, args)
}

// wordsOf returns the words of a name or a sentence, in lower case.
func wordsOf(s string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteRune(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.Fields(b.String())
}

// needed returns the arguments without which the tool is not called; if it needs none, the first.
func (t toolInfo) needed() []argument {
	var out []argument
	for _, p := range t.args {
		if p.required {
			out = append(out, p)
		}
	}
	if len(out) == 0 && len(t.args) > 0 {
		return t.args[:1]
	}
	return out
}

// An argument is one that a tool takes: its type in the words of the prompt.
type argument struct {
	name, kind string
	required   bool
}

// value returns what a question gives to the argument.
func (a argument) value(question string) any {
	switch kind := a.kind; {
	case strings.HasPrefix(kind, `"`):
		return chosen(kind, question)
	case strings.HasPrefix(kind, "integer"), strings.HasPrefix(kind, "number"):
		if n := first(`(-?\d+(?:\.\d+)?)`, question); n != "" {
			return json.RawMessage(n)
		}
		return 1
	case strings.HasPrefix(kind, "boolean"):
		return true
	case strings.HasPrefix(kind, "array"):
		return []any{argument{kind: strings.TrimPrefix(kind, "array of ")}.value(question)}
	case strings.HasPrefix(kind, "{"), strings.HasPrefix(kind, "object"):
		return map[string]any{}
	}
	return subject(question)
}

// chosen returns the first of the values "a"|"b" that the question names, else the first of all.
func chosen(kind, question string) string {
	var all []string
	for _, literal := range strings.Split(kind, "|") {
		var v string
		if json.Unmarshal([]byte(strings.TrimSpace(literal)), &v) == nil {
			all = append(all, v)
		}
	}
	for _, v := range all {
		if strings.Contains(strings.ToLower(question), strings.ToLower(v)) {
			return v
		}
	}
	return append(all, "")[0]
}

// subject returns what a question is about: what it quotes, a name after a preposition, the last
// name in it, or all of it.
func subject(question string) string {
	for _, expr := range []string{quote, `\b(?:in|for|of|at|to|from|about|named|called) ([A-Z][\w'-]*(?: [A-Z][\w'-]*)*)`, `(?:查询|查一下|查|看看)?([\p{Han}]{2,6}?)(?:今天|明天|现在|的)`, `\s([A-Z][\w'-]*(?: [A-Z][\w'-]*)*)[?.!]*$`} {
		if s := first(expr, question); s != "" {
			return s
		}
	}
	return strings.TrimRight(strings.TrimSpace(question), "?.!？。！")
}
