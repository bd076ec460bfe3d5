package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// A role is what kind of thing an argument is, by its name and description.
type role int

const (
	roleOther role = iota
	roleURL
	roleFile
	roleFolder
	roleExpression
	rolePattern
	roleQuery
	roleGlob
	roleCell
	roleFrom
	roleTo
	roleNumber
	roleChoice
	roleSwitch
)

// role reads an argument's name first, then its description.
func (p paramInfo) role() role {
	name, about := strings.ToLower(p.name), strings.ToLower(p.about)
	in := func(s string, list ...string) bool { return containsAny(s, list) }
	switch {
	case strings.HasPrefix(p.kind, `"`):
		return roleChoice
	case p.kind == "boolean":
		return roleSwitch
	case p.kind == "integer" || p.kind == "number":
		switch {
		case in(name, "start", "from", "begin"):
			return roleFrom
		case in(name, "end", "until") || name == "to":
			return roleTo
		}
		return roleNumber
	case in(name, "url", "uri", "link"):
		return roleURL
	case in(name, "expr", "formula"):
		return roleExpression
	case in(name, "glob"):
		return roleGlob
	case in(name, "cell"):
		return roleCell
	case in(name, "pattern", "regex", "symbol"):
		return rolePattern
	case in(name, "dir", "folder", "repo", "root"):
		return roleFolder
	case in(name, "file", "path"):
		if !p.required && in(about, "folder", "director", "目录") {
			return roleFolder
		}
		return roleFile
	case in(name, "query", "question", "search", "keyword", "prompt", "topic") || name == "q":
		return roleQuery
	case in(about, "url", "address of", "网址"):
		return roleURL
	case in(about, "regular expression", "regex", "正则"):
		return rolePattern
	case in(about, "expression", "算式"):
		return roleExpression
	}
	return roleOther
}

// fill makes the arguments of a call from what the question holds. It fails
// when a required one cannot be had.
func (t toolInfo) fill(f facts) (object, bool) {
	var args object
	for _, p := range t.params {
		value := t.value(p, f)
		if value == nil && p.required {
			value = t.fallback(p, f)
		}
		if value == nil && p.required {
			return args, false
		}
		if value != nil && !slices.Contains(args.values, value) {
			args.set(p.name, value)
		}
	}
	return args, true
}

// value finds what a question says for an argument; nil: nothing.
func (t toolInfo) value(p paramInfo, f facts) any {
	switch p.role() {
	case roleURL:
		return firstOf(f.urls)
	case roleFile:
		return firstOf(filesFirst(f.paths))
	case roleFolder:
		return t.folder(p, f)
	case roleExpression:
		return nonEmpty(f.expr)
	case roleGlob:
		return firstOf(f.globs)
	case roleCell:
		return nonEmpty(f.cell)
	case rolePattern:
		return pattern(f)
	case roleFrom, roleTo, roleNumber:
		return t.number(p, f)
	case roleChoice:
		return chosen(p, f)
	case roleSwitch:
		return switched(p, f)
	}
	if p.kind != "string" {
		return nil
	}
	if v := named(p, f); v != nil {
		return v
	}
	return t.byExample(p, f)
}

// fallback is what a required argument takes when nothing in the question is
// made for it.
func (t toolInfo) fallback(p paramInfo, f facts) any {
	switch p.role() {
	case roleQuery:
		return nonEmpty(asQuery(f.text))
	case roleFolder:
		return "."
	case rolePattern:
		return searched(f)
	case roleURL, roleFile, roleExpression, roleCell, roleGlob, roleSwitch, roleFrom, roleTo:
		return nil
	case roleChoice:
		return strings.Trim(strings.SplitN(p.kind, "|", 2)[0], `"`)
	case roleNumber:
		if len(f.numbers) > 0 {
			return numeral(f.numbers[0].value)
		}
		return nil
	}
	if p.kind != "string" && p.kind != "any" {
		return nil
	}
	for _, list := range [][]string{f.quoted, properNames(f.plain), f.idents, f.paths} {
		if len(list) > 0 {
			return list[0]
		}
	}
	return searched(f)
}

func firstOf(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func nonEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// filesFirst puts names with an ending in front of folders.
func filesFirst(paths []string) []string {
	rank := func(p string) int {
		if isFolder(p) {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(paths), func(a, b string) int { return rank(a) - rank(b) })
}

// isFolder guesses by the name: a slash and no ending.
func isFolder(path string) bool {
	return strings.Contains(path, "/") && !strings.Contains(path[strings.LastIndexByte(path, '/')+1:], ".")
}

var (
	inFolder   = whenAsked(`(?i)\b(?:in|under|inside|of|within|below)\s+(?:the\s+)?(?:folder\s+|directory\s+)?([\w./-]+)(?:\s+(?:folder|directory|目录))?`)
	ofFolder   = whenAsked(`(?i)\b(?:folder|directory|package)\s+([\w./-]+)`)
	zhFolder   = whenAsked(`([A-Za-z][\w./-]*)\s*(?:目录|文件夹|下|里|中)`)
	notAFolder = set(`the this that my our it a an all go python files file project repository repo workspace code codebase here there words
	tree structure layout listing map folder directory package overview`)
)

// folder finds the folder a question speaks of.
func (t toolInfo) folder(p paramInfo, f facts) any {
	for _, path := range f.paths {
		if t.takesFile(p) && path == filesFirst(f.paths)[0] {
			continue // another argument wants it
		}
		return strings.TrimSuffix(path, "/")
	}
	for _, re := range []*regexp.Regexp{ofFolder(), inFolder(), zhFolder()} {
		for _, m := range re.FindAllStringSubmatch(f.plain, -1) {
			name := strings.Trim(m[1], ".,/?")
			if name != "" && !notAFolder[strings.ToLower(name)] && strings.ToLower(name) == name && !digitsRe().MatchString(name) {
				return name
			}
		}
	}
	return nil
}

func (t toolInfo) takesFile(but paramInfo) bool {
	return slices.ContainsFunc(t.params, func(p paramInfo) bool { return p.name != but.name && p.role() == roleFile })
}

// pattern is what to search for: a quotation, or a name as programs write it.
func pattern(f facts) any {
	if len(f.quoted) > 0 {
		return asPattern(f.quoted[0])
	}
	if len(f.idents) > 0 {
		return asPattern(f.idents[0])
	}
	return nil
}

// asPattern keeps a regular expression and quotes what is none.
func asPattern(s string) string {
	if _, err := regexp.Compile(s); err != nil || !strings.ContainsAny(s, `\[(|*+?^$`) {
		return regexp.QuoteMeta(s)
	}
	return s
}

var (
	searchEn = whenAsked(`(?i)\b(?:for|containing|contains?|mention(?:s|ing|ed)?|match(?:es|ing)?|named|called|about|defin(?:e|es|ed|ing)|uses?|using|imports?|importing|function|method|type|returns?|word|string|text|find|grep|where is|where are)\s+(?:the\s+|a\s+|an\s+)?(?:(?:words?|string|text|function|func|method|type|variable|constant|symbol)\s+)?([\p{L}_][\w.-]*)`)
	searchZh = whenAsked(`(?:搜索|查找|检索|包含|含有|出现|提到|关键词|寻找|找)(?:一下|到|了|过)?\s*([^\s，。？！、“”"的]{1,30})`)
)

// searched is the word behind "for", "containing", "搜索" and the like.
func searched(f facts) any {
	for _, re := range []*regexp.Regexp{searchZh(), searchEn()} {
		for _, m := range re.FindAllStringSubmatch(f.plain, -1) {
			if word := strings.Trim(m[1], ".-"); word != "" && !stop[strings.ToLower(word)] && !notAFolder[strings.ToLower(word)] {
				return asPattern(word)
			}
		}
	}
	return nil
}

// chosen finds a choice that the question names.
func chosen(p paramInfo, f facts) any {
	low := strings.ToLower(f.plain)
	for option := range strings.SplitSeq(p.kind, "|") {
		var s string
		if json.Unmarshal([]byte(option), &s) == nil && slices.Contains(strings.FieldsFunc(low, notWord), strings.ToLower(s)) {
			return s
		}
	}
	return nil
}

func notWord(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_') }

// switched is true when the question says all words of the argument's name.
func switched(p paramInfo, f facts) any {
	asked := termSet(f.plain)
	name := terms(strings.ReplaceAll(p.name, "_", " "))
	for _, w := range name {
		if !asked[w] {
			return nil
		}
	}
	if len(name) == 0 {
		return nil
	}
	return true
}
