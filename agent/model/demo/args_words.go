package demo

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// number finds the number that stands beside an argument's name.
func (t toolInfo) number(p paramInfo, f facts) any {
	switch p.role() {
	case roleFrom:
		if f.first != "" && len(f.paths) > 0 {
			return numeral("1")
		}
		return numeral(f.from)
	case roleTo:
		if f.first != "" {
			return numeral(f.first)
		}
		return numeral(f.to)
	}
	for _, n := range f.numbers {
		if n.value == f.from || n.value == f.to || n.value == f.first || n.value == f.last {
			continue // it says which lines are meant
		}
		for _, w := range terms(strings.ReplaceAll(p.name, "_", " ")) {
			if w != "max" && (w == n.after || w == n.before) {
				return numeral(n.value)
			}
		}
		if t.beside(p, n) {
			return numeral(n.value)
		}
	}
	return nil
}

// beside reports whether an example has a number of this argument beside the
// same word.
func (t toolInfo) beside(p paramInfo, n numberFact) bool {
	for _, e := range t.examples {
		raw := strings.Trim(string(e.args[p.name]), `"`)
		for _, x := range factsOf(e.ask).numbers {
			if raw != "" && x.value == raw && (x.after != "" && x.after == n.after || x.before != "" && x.before == n.before) {
				return true
			}
		}
	}
	return false
}

func numeral(s string) any {
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return nil
	}
	return json.Number(s)
}

// zhNames are words of argument names in Chinese.
var zhNames = map[string]string{"sheet": "工作表", "city": "城市", "user": "用户", "branch": "分支"}

// named finds the word beside an argument's name: "sheet Q1", "Q1 工作表".
func named(p paramInfo, f facts) any {
	word, _, _ := strings.Cut(strings.ToLower(p.name), "_")
	if len(word) < 3 || len(f.text) > 1000 {
		return nil
	}
	re := `(?i)\b` + regexp.QuoteMeta(word) + `\s+(?:named\s+|called\s+)?["'“]?([\w-]+)`
	if zh := zhNames[word]; zh != "" {
		re += `|([\w-]+)["”]?\s*(?:这个)?` + zh
	}
	m := regexp.MustCompile(re).FindStringSubmatch(f.plain)
	if m == nil || stop[strings.ToLower(m[1]+m[2])] {
		return nil
	}
	return m[1] + m[2]
}

// byExample uses the tool's examples as patterns: where an example's argument
// stands in its question, the words around it lead to the same place here.
func (t toolInfo) byExample(p paramInfo, f facts) any {
	for _, e := range t.examples {
		var value string
		if json.Unmarshal(e.args[p.name], &value) != nil || value == "" {
			continue
		}
		before, after, ok := strings.Cut(e.ask, value)
		if !ok {
			continue
		}
		if got := between(f.text, lastWord(before), firstWord(after)); got != "" {
			return got
		}
	}
	return nil
}

// between returns the words of text between two words; an empty one is the
// edge of the text.
func between(text, before, after string) string {
	low := strings.ToLower(text)
	start, end := 0, len(text)
	if before != "" {
		i := strings.LastIndex(low, strings.ToLower(before)+" ")
		if i < 0 {
			return ""
		}
		start = i + len(before)
	}
	if after != "" {
		i := strings.Index(low[start:], strings.ToLower(after))
		if i < 0 {
			return ""
		}
		end = start + i
	}
	got := strings.Trim(text[start:end], " ?？.。,，\"'“”")
	if len(strings.Fields(got)) > 5 {
		return ""
	}
	return got
}

func lastWord(s string) string {
	if w := strings.Fields(s); len(w) > 0 {
		return strings.Trim(w[len(w)-1], `"'`)
	}
	return ""
}

func firstWord(s string) string {
	if w := strings.Fields(s); len(w) > 0 {
		return strings.Trim(w[0], `"'`)
	}
	return ""
}

var capitalRe = whenAsked(`(?:\s|^)([A-Z][\p{L}]+(?:\s+[A-Z][\p{L}]+)*)`)

// properNames are capitalised words that do not open the sentence.
func properNames(text string) []string {
	var out []string
	for _, at := range capitalRe().FindAllStringSubmatchIndex(text, -1) {
		if strings.TrimSpace(text[:at[2]]) != "" {
			out = append(out, text[at[2]:at[3]])
		}
	}
	return out
}

var queryLead = whenAsked(`(?i)^\s*(?:please\s+|can you\s+|could you\s+)*(?:search|look up|look|google|find)(?:\s+(?:the\s+)?(?:web|internet|online))?(?:\s+(?:for|about))?\s+|^\s*(?:请|帮我|请帮我)?(?:在网上|上网|联网)?(?:搜索|查一下|搜一下|查找|查)(?:一下|网络上的|网上的)?\s*`)

// asQuery takes the asking out of a question that goes to a search engine.
func asQuery(question string) string {
	q := strings.TrimSpace(queryLead().ReplaceAllString(question, ""))
	return strings.TrimRight(strings.Trim(q, `"“”`), "?？。. ")
}
