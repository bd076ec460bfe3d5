package demo

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

var (
	backEn = whenAsked(`(?i)\b(?:earlier|before|previous(?:ly)?|just now|last time|of (?:that|it)|(?:that|those|the) (?:result|results|output|text|search|list|answer)|(?:you|it) (?:said|showed|found|returned)|again|above|in (?:that|it))\b`)
	backZh = whenAsked(`之前|刚才|刚刚|上次|上面|前面|那个结果|那段|那份|该结果|上一个|上一次`)
	// loadCall is the call that a notice names.
	loadCall = whenAsked(`load_tool_history\(uuid="([^"]+)"`)
)

// refersBack says whether a question speaks of something earlier.
func refersBack(question string) bool {
	return backEn().MatchString(question) || backZh().MatchString(question)
}

// load calls load_tool_history on the placeholder that the question means: the
// one it shares most words with, or else the newest.
func load(s scene) ([]tool.Call, bool) {
	i := slices.IndexFunc(s.tools, func(t toolInfo) bool { return t.name == loadTool })
	if i < 0 || len(s.archived) == 0 {
		return nil, false
	}
	best, _ := s.meant()
	args := selectors(s.tools[i], s.archived[best].uuid, factsOf(s.question))
	return s.newCalls([]choice{{tool: s.tools[i], args: args}}), true
}

// meant returns the placeholder that shares most with the question, and how
// much that is; the newest where none does.
func (s scene) meant() (best, most int) {
	f, asked := factsOf(s.question), termSet(s.question)
	most = -1
	for i, a := range s.archived {
		n := 0
		for w := range termSet(strings.ReplaceAll(a.tool, "_", " ") + " " + a.query + " " + a.summary) {
			if asked[w] {
				n++
			}
		}
		for _, path := range f.paths {
			if strings.Contains(a.query, path) {
				n += 5
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best, most
}

// search looks through all archives when there are several, the question names
// something to look for, and nothing in it says which of them is meant.
func search(s scene) ([]tool.Call, bool) {
	i := slices.IndexFunc(s.tools, func(t toolInfo) bool { return t.name == searchTool })
	if i < 0 || len(s.archived) < 2 {
		return nil, false
	}
	f := factsOf(s.question)
	wanted := firstOf(append(f.quoted, f.idents...))
	if _, most := s.meant(); wanted == nil || most > 0 || f.from != "" || f.first != "" || f.last != "" {
		return nil, false
	}
	var args object
	args.set("query", wanted)
	return s.newCalls([]choice{{tool: s.tools[i], args: args}}), true
}

// selectors turn what a question asks for into the part that is loaded: its
// lines, its end, or the lines that hold what it names. Without any of these
// it is the beginning.
func selectors(t toolInfo, uuid string, f facts) object {
	var args object
	args.set("uuid", uuid)
	takes := func(name string) bool {
		return len(t.params) == 0 || slices.ContainsFunc(t.params, func(p paramInfo) bool { return p.name == name })
	}
	set := func(name string, value any) bool {
		if value == nil || !takes(name) || len(args.keys) > 1 {
			return false
		}
		args.set(name, value)
		return true
	}
	switch {
	case f.from != "" && f.to != "" && set("lines", f.from+"-"+f.to):
	case f.from != "" && set("lines", f.from+"-"):
	case f.last != "" && set("tail", numeral(f.last)):
	case f.first != "" && set("head", numeral(f.first)):
	case set("grep", pattern(f)):
	case wholeRe().MatchString(f.text):
	case set("grep", searched(f)):
	default:
		set("head", numeral("40"))
	}
	return args
}

var wholeRe = whenAsked(`(?i)\b(?:whole|everything|complete|entire|in full|all of)\b|完整|全文|全部`)

// loadMore loads a part that the newest result left out and the question asks
// for: lines by number, or something quoted that is not in what was shown.
func loadMore(s scene) ([]tool.Call, bool) {
	if len(s.results) == 0 || !s.knows(loadTool) || slices.ContainsFunc(s.calls, func(c tool.Call) bool { return c.Tool == loadTool }) {
		return nil, false
	}
	last := s.results[len(s.results)-1]
	uuid := first(loadCall(), noticesIn(last.text))
	if uuid == "" {
		return nil, false
	}
	f := factsOf(s.question)
	var args object
	args.set("uuid", uuid)
	made := s.calls[max(0, len(s.calls)-1):]
	switch p := pattern(f); {
	case f.from != "" && f.to != "" && !(len(made) == 1 && strings.Contains(string(made[0].Args), f.from)):
		args.set("lines", f.from+"-"+f.to)
	case f.from == "" && len(f.quoted) > 0 && p != nil && !strings.Contains(last.text, f.quoted[0]) && !(len(made) == 1 && strings.Contains(string(made[0].Args), f.quoted[0])):
		args.set("grep", p)
	default:
		return nil, false
	}
	return s.newCalls([]choice{{tool: toolInfo{name: loadTool}, args: args}}), true
}
