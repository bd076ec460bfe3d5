package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// The host's tools over archived results. The agent's own describe_tool is only
// recognised.
const (
	describeTool = tool.DescribeTool
	loadTool     = tool.LoadHistory
	searchTool   = tool.SearchHistory
)

const (
	back = `(?i)\b(?:earlier|before|previous(?:ly)?|just now|last time|of (?:that|it)|(?:that|those|the) (?:result|results|output|text|search|list|answer)|(?:you|it) (?:said|showed|found|returned)|again|above|in (?:that|it))\b` +
		`|之前|刚才|刚刚|上次|上面|前面|那个结果|那段|那份|该结果|上一个|上一次`
	loadCall = `load_tool_history\(uuid="([^"]+)"`
)

// refersBack reports whether a question refers to an earlier result.
func refersBack(question string) bool { return compiled(back).MatchString(question) }

// parts lead from the part of a result that a question asks for to the argument that
// loads it. Two groups are the ends of a range.
var parts = []struct{ argument, expr string }{
	{"lines", `(?i)\blines?\s+(\d+)\s*(?:to|-|–|through|until|and)\s*(\d+)`},
	{"lines", `第?\s*(\d+)\s*(?:到|至|-|~)\s*第?\s*(\d+)\s*行`},
	{"tail", `(?i)\blast (\d+) lines?|(?:最后|后|末尾)\s*(\d+)\s*行`},
	{"head", `(?i)\bfirst (\d+) lines?|前\s*(\d+)\s*行`},
	{"lines", `(?i)\blines?\s+(?:no\.?\s*|number\s+)?(\d+)`},
	{"lines", `第\s*(\d+)\s*行`},
	{"grep", quote},
	{"grep", ident},
}

// part returns the argument that loads what a question asks for, with its value;
// empty: the beginning.
func part(question string) (argument string, value any) {
	for _, p := range parts {
		m := compiled(p.expr).FindStringSubmatch(question)
		if m == nil || p.expr == ident && strings.HasPrefix(question, m[0]) {
			continue
		}
		found := slices.DeleteFunc(m[1:], func(s string) bool { return s == "" })
		switch p.argument {
		case "lines":
			return "lines", found[0] + "-" + found[len(found)-1]
		case "grep":
			return "grep", asPattern(found[0])
		}
		return p.argument, json.Number(found[0])
	}
	return "", nil
}

// load returns the call that loads the archived result which a question means: the one
// whose query has a path of the question, or else the newest.
func load(s scene) (tool.Call, bool) {
	if !s.has(loadTool) || len(s.archived) == 0 {
		return tool.Call{}, false
	}
	argument, value := part(s.question)
	meant, clear := s.archived[0], false
	for _, p := range compiled(path).FindAllString(s.question, -1) {
		if i := slices.IndexFunc(s.archived, func(a archived) bool { return strings.Contains(a.query, p) }); i >= 0 {
			meant, clear = s.archived[i], true
		}
	}
	args := &object{}
	if quoted := compiled(quote).FindStringSubmatch(s.question); quoted != nil && len(s.archived) > 1 && !clear && argument == "grep" && s.has(searchTool) {
		args.set("query", quoted[1])
		return call(searchTool, args), true
	}
	args.set("uuid", meant.uuid)
	switch {
	case argument != "":
		args.set(argument, value)
	case !compiled(`(?i)\b(?:whole|everything|complete|entire|in full|all of)\b|完整|全文|全部`).MatchString(s.question):
		args.set("head", json.Number("40"))
	}
	return call(loadTool, args), true
}

// loadMore returns the call that loads a part which the newest result left out and the
// question asks for: lines by number, or a quotation that is not shown.
func loadMore(s scene) (tool.Call, bool) {
	if len(s.results) == 0 || !s.has(loadTool) || s.called(loadTool) {
		return tool.Call{}, false
	}
	last := s.results[len(s.results)-1]
	_, notices := divide(last.text)
	uuid := compiled(loadCall).FindStringSubmatch(strings.Join(notices, "\n"))
	argument, value := part(s.question)
	lines := argument == "lines" && !strings.Contains(string(s.calls[len(s.calls)-1].Args), strings.Split(value.(string), "-")[0])
	quoted := compiled(quote).FindStringSubmatch(s.question)
	if uuid == nil || !lines && (argument != "grep" || quoted == nil || strings.Contains(last.text, quoted[1])) {
		return tool.Call{}, false
	}
	args := &object{}
	args.set("uuid", uuid[1])
	args.set(argument, value)
	return call(loadTool, args), true
}
