package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// A pattern leads from a question to a call.
type pattern struct {
	tool string
	when string // a question that matches
	// args fill the arguments that their groups name, the first that matches.
	args []string
	set  string // a further argument, as "name value", after the first of args
	need string // the argument without which there is no call
}

// What the patterns are made of.
const (
	path  = `((?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]*\w|\b[\w-]+\.(?:go|py|js|ts|rs|c|h|java|sh|sql|md|txt|toml|ya?ml|json|csv|xml|html|css|log|mod|sum)\b|\b(?:README|LICENSE|Makefile)\b)`
	book  = `([\w./-]+\.xlsx?)`
	dir   = `([a-z][\w./-]*)`
	quote = "[\"“「`]([^\"”」`]+)[\"”」`]"
	ident = `\b([A-Z]+[a-z0-9]+[A-Z]\w*|[A-Z]{3,}|[a-z]+[A-Z]\w*|\w+_\w+)\b`
)

// patterns are tried in this order.
var patterns = []pattern{
	{tool: "fetch_url", when: `https?://`, args: []string{`(?P<url>https?://[^\s<>"'，。；、）)]+)`}},
	{tool: "read_data_from_excel", when: `\.xlsx?\b`, args: []string{
		`(?P<filepath>` + book + `)`, `(?i)\bsheet (?:named )?"?(?P<sheet_name>[\w-]+)`, `(?P<sheet_name>[\w-]+) ?工作表`, `\bfrom (?P<start_cell>[A-Z]{1,3}\d+)`}},
	{tool: "read_file", when: `(?i)first \d+ lines|前 ?\d+ ?行`, set: "start_line 1", need: "file_path",
		args: []string{`(?P<file_path>` + path + `)`, `(?i)(?:first|前) ?(?P<end_line>\d+)`}},
	{tool: "read_file", when: `(?i)\blines? \d|\d ?行`, need: "file_path", args: []string{`(?P<file_path>` + path + `)`,
		`(?i)lines? (?P<start_line>\d+)(?: ?(?:to|-|and|through) ?(?P<end_line>\d+))?`, `第? ?(?P<start_line>\d+) ?(?:到|至|-) ?(?P<end_line>\d+) ?行`}},
	{tool: "calculator", args: []string{}, need: "expression"}, // see expression.go
	{tool: "search_web", when: `(?i)\b(?:web|internet|online|news|weather)\b|上网|网上|新闻|天气`, need: "query"},
	{tool: "long_text", when: `(?i)\b(?:long|test) text\b|长文本|测试文本`, args: []string{`(?i)(?P<lines>\d+) ?(?:lines|行)`}},
	{tool: "repo_map", when: `(?i)\boverview\b|\bmain types\b|概览|概述`, set: "repo_path .", args: []string{`(?i)\b(?:in|of) (?:the )?(?P<repo_path>` + dir + `)`}},
	{tool: "grep_search", when: `(?i)\b(?:search|find|grep|where|which\b.* files|any file)\b|搜索|查找|检索|哪里|提到`, need: "pattern", args: []string{
		quotedPattern, `(?:define|import|mention)\w* (?:a )?(?:type (?:named )?)?(?P<pattern>[\w.]+)`, `(?P<pattern>` + ident + `)`,
		`(?i)\b(?:for|function|type|named|find|grep) (?:the )?(?P<pattern>[\w.]+)`, `(?:搜索|查找|检索|提到了?) ?(?P<pattern>[^\s，。？！的]{1,30})`,
		`(?i)\b(?:under|in|inside) (?:the folder )?(?P<path>` + dir + `)`, `在 ?(?P<path>` + dir + `) ?(?:目录|文件夹)`, `(?P<glob>\*\.\w+)`}},
	{tool: "get_repo_structure", when: `(?i)\bstructure\b|\btree\b|\b(?:list the|what|which) files\b|\bfolder\b|目录|结构|哪些文件`, args: []string{
		`(?i)\bfolder (?P<path>` + dir + `)`, `(?i)\bthe (?P<path>` + dir + `) folder`}},
	{tool: "read_file", when: `(?i)\b(?:read|show|cat|open|view|say|what is in)\b|读取|查看|看看|显示|打开|什么`, need: "file_path", args: []string{`(?P<file_path>` + path + `)`}},
}

const quotedPattern = `(?P<pattern>` + quote + `)`

// noFolder are words after "in" that name no folder.
var noFolder = strings.Fields("the this that my our it a an all go python files file project repository code here there tree")

// expressions are the compiled forms of patterns, made when the first question comes:
// at the start of the process they would take a third of its time.
var expressions sync.Map // of *regexp.Regexp, by their text

func compiled(expr string) *regexp.Regexp {
	re, ok := expressions.Load(expr)
	if !ok {
		re, _ = expressions.LoadOrStore(expr, regexp.MustCompile(expr))
	}
	return re.(*regexp.Regexp)
}

// callFor returns the call for one clause of a question.
func callFor(tools []toolInfo, question string) (tool.Call, bool) {
	if c, ok := explicit(tools, question); ok {
		return c, true
	}
	for _, t := range tools {
		if args, ok := t.likeExample(question); ok {
			return call(t.name, args), true
		}
	}
	if c, ok := fitting(tools, question); ok {
		return c, true
	}
	for _, p := range patterns {
		name, ok := p.among(tools)
		if !ok {
			continue
		}
		if args, ok := p.match(question); ok {
			return call(name, args), true
		}
	}
	return tool.Call{}, false
}

// among returns the name that the pattern's tool has among tools. Some MCP clients put the
// server's name in front, as in weir_calculator.
func (p pattern) among(tools []toolInfo) (name string, ok bool) {
	for _, t := range tools {
		switch {
		case t.name == p.tool:
			return t.name, true
		case !ok && strings.HasSuffix(t.name, "_"+p.tool) && (p.need == "" || slices.Contains(t.params, p.need)):
			name, ok = t.name, true
		}
	}
	return name, ok
}

// match returns the arguments that a question gives to the pattern's tool.
func (p pattern) match(question string) (*object, bool) {
	args := &object{}
	if p.when != "" && !compiled(p.when).MatchString(question) {
		return nil, false
	}
	for i, expr := range p.args {
		if name, value, ok := strings.Cut(p.set, " "); ok && i == 1 {
			args.setText(name, value)
		}
		re := compiled(expr)
		for _, m := range re.FindAllStringSubmatch(question, -1) {
			if args.fill(re, m) {
				break
			}
		}
	}
	switch p.need {
	case "expression":
		args.setText("expression", expression(question))
	case "query":
		args.setText("query", query(question))
	}
	if name, value, ok := strings.Cut(p.set, " "); ok {
		args.setText(name, value)
	}
	return args, p.need == "" || args.has(p.need)
}

// fill sets the arguments that the groups of a match name. It reports whether it set
// one.
func (o *object) fill(re *regexp.Regexp, m []string) bool {
	set := false
	for i, name := range re.SubexpNames() {
		value := strings.Trim(m[i], ".,?？")
		folder := name == "path" || name == "repo_path"
		if name == "" || value == "" || o.has(name) || folder && slices.Contains(noFolder, strings.ToLower(value)) {
			continue
		}
		if name == "pattern" {
			value = asPattern(strings.Trim(value, "\"“”「」`"))
		}
		o.setText(name, strings.TrimSuffix(value, "/"))
		set = true
	}
	return set
}

// asPattern returns a regular expression as it is, and quotes other text.
func asPattern(s string) string {
	if _, err := regexp.Compile(s); err != nil || !strings.ContainsAny(s, `\[(|*+?^$`) {
		return regexp.QuoteMeta(s)
	}
	return s
}

// query removes the words of asking from a question for a search engine.
func query(question string) string {
	const lead = `(?i)^\s*(?:please )?(?:search|look up|find)(?: the)?(?: web| internet| online)?(?: for| about)? |^\s*(?:请|帮我|请帮我)?(?:在网上|上网)?(?:搜索|查一下|查找|查)(?:一下)?\s*`
	return strings.TrimRight(strings.Trim(compiled(lead).ReplaceAllString(question, ""), " \"“”"), "?？。. ")
}

// explicit reads a call that is written out: word_count text="a b" n=3.
func explicit(tools []toolInfo, question string) (tool.Call, bool) {
	name, rest, _ := strings.Cut(strings.TrimSpace(question), " ")
	pairs := compiled(`([a-z_]\w*)=("[^"]*"|\S+)`).FindAllStringSubmatch(rest, -1)
	if !slices.ContainsFunc(tools, func(t toolInfo) bool { return t.name == name }) || len(pairs) == 0 {
		return tool.Call{}, false
	}
	args := &object{}
	for _, m := range pairs {
		args.setText(m[1], strings.Trim(m[2], `"`))
	}
	return call(name, args), true
}

// likeExample compares a question with the tool's examples. An equal question has
// the example's arguments; one that differs in the text of an argument has its own
// text there.
func (t toolInfo) likeExample(question string) (*object, bool) {
	bare := func(s string) string { return strings.ToLower(strings.TrimRight(strings.TrimSpace(s), ".?!。？！")) }
	for _, e := range t.examples {
		if bare(question) == bare(e.ask) {
			args := &object{}
			for _, name := range t.params {
				if v, ok := e.args[name]; ok {
					args.set(name, v)
				}
			}
			return args, true
		}
	}
	for _, e := range t.examples {
		for name, raw := range e.args {
			var value string
			if len(e.args) != 1 || json.Unmarshal(raw, &value) != nil || !strings.Contains(bare(e.ask), bare(value)) {
				continue
			}
			before, after, _ := strings.Cut(bare(e.ask), bare(value))
			if len(before)+len(after) < 12 || !strings.HasPrefix(bare(question), before) || !strings.HasSuffix(bare(question), after) {
				continue
			}
			asked := strings.TrimRight(strings.TrimSpace(question), ".?!。？！")
			if end := len(asked) - len(after); end > len(before) {
				args := &object{}
				args.set(name, asked[len(before):end])
				return args, true
			}
		}
	}
	return nil, false
}

func call(name string, args *object) tool.Call { return tool.Call{Tool: name, Args: args.json()} }

// An object is the arguments of a call, in the order they were set.
type object struct {
	keys   []string
	values []any
}

func (o *object) has(key string) bool { return slices.Contains(o.keys, key) }

// set adds an argument; the first value of a key stays.
func (o *object) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
		o.values = append(o.values, value)
	}
}

// setText adds an argument, as a number if it is one; empty text is left out.
func (o *object) setText(key, value string) {
	switch {
	case value == "":
	case compiled(`^[1-9]\d{0,8}$`).MatchString(value) && key != "query" && key != "pattern" && key != "expression":
		o.set(key, json.Number(value))
	default:
		o.set(key, value)
	}
}

func (o *object) json() json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(k)             // a string always encodes
		value, _ := json.Marshal(o.values[i]) // so do strings and numbers
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}
