package demo

import (
	"regexp"
	"slices"
	"strings"
)

// facts are the pieces of a question that can become arguments.
type facts struct {
	text    string // the question
	plain   string // without quotations, addresses and paths
	quoted  []string
	urls    []string
	paths   []string // files, and folders with a slash
	globs   []string
	idents  []string // names as programs write them
	expr    string   // an arithmetic expression
	from    string   // lines from … to …
	to      string
	cell    string
	first   string // the first n lines
	last    string // the last n lines
	numbers []numberFact
}

// A numberFact is a number with the words beside it.
type numberFact struct{ value, before, after string }

var (
	quotedRe = whenAsked("\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|『([^』]+)』|`([^`]+)`|(?:^|[\\s(：:，])'([^']+)'")
	urlRe    = whenAsked(`https?://[^\s<>"'，。；、）)]+`)
	globRe   = whenAsked(`(?:[\w./-]*\*\.?[\w.*/-]*)`)
	pathRe   = whenAsked(`(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]*[\w]|\b[\w-]+(?:\.[\w-]+)*\.(?:go|py|js|ts|tsx|jsx|rs|c|h|cc|cpp|java|kt|rb|sh|sql|md|txt|toml|yaml|yml|json|csv|tsv|xml|html|css|log|xlsx|xls|pdf|docx|mod|sum|lock|ini|cfg|conf|env|wat|wasm|proto)\b|\b(?:README|LICENSE|Makefile|Dockerfile|CHANGELOG)\b`)
	rangeRe  = whenAsked(`(?i)\blines?\s+(\d+)\s*(?:to|-|–|through|until|and)\s*(\d+)|第?\s*(\d+)\s*(?:到|至|-|~)\s*第?\s*(\d+)\s*行`)
	lineRe   = whenAsked(`(?i)\blines?\s+(?:no\.?\s*|number\s+)?(\d+)|第\s*(\d+)\s*行`)
	fromRe   = whenAsked(`(?i)\bfrom (?:line|row) (\d+)|从第?\s*(\d+)\s*行`)
	firstRe  = whenAsked(`(?i)\bfirst (\d+) lines?|前\s*(\d+)\s*行`)
	lastRe   = whenAsked(`(?i)\blast (\d+) lines?|(?:最后|后|末尾)\s*(\d+)\s*行`)
	cellRe   = whenAsked(`\b([A-Z]{1,3}[1-9]\d{0,6})\b`)
	identRe  = whenAsked(`[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)*(?:\(\))?`)
	camelRe  = whenAsked(`[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|_|::|\(\)|^[A-Z]{3,}$|[a-z]\.[A-Za-z]`)
	lineMark = whenAsked(`(\.[a-z]+)[-:]\d+$`) // as searches write a file and its line
	digitsRe = whenAsked(`\d[\d,]*(?:\.\d+)?`)
)

// factsOf finds what a question holds.
func factsOf(question string) facts {
	f := facts{text: question}
	rest := question
	rest = f.take(&f.quoted, quotedRe(), rest)
	rest = f.take(&f.urls, urlRe(), rest)
	f.range_(rest)
	noPaths := f.take(&f.paths, pathRe(), rest)
	if f.paths = slices.DeleteFunc(f.paths, isNumeric); len(f.paths) == 0 {
		noPaths = rest // 1/3 is no path
	}
	for _, g := range globRe().FindAllString(rest, -1) {
		if strings.Contains(g, "*.") || strings.Contains(g, "/*") {
			f.globs = append(f.globs, g)
		}
	}
	f.plain = noPaths
	f.cell = first(cellRe(), noPaths)
	for _, id := range identRe().FindAllString(noPaths, -1) {
		if camelRe().MatchString(id) && id != f.cell {
			f.idents = append(f.idents, strings.TrimSuffix(id, "()"))
		}
	}
	if f.from == "" && f.first == "" && f.last == "" {
		f.expr = expression(noPaths)
		for _, q := range f.quoted {
			if f.expr == "" {
				f.expr = expression(q)
			}
		}
	}
	f.count(noPaths)
	return f
}

// plainOf is facts.plain alone.
func plainOf(question string) string {
	return pathRe().ReplaceAllString(urlRe().ReplaceAllString(quotedRe().ReplaceAllString(question, " "), " "), " ")
}

func isNumeric(s string) bool { return strings.Trim(s, "0123456789./") == "" }

// take moves the matches of re out of text into list.
func (f *facts) take(list *[]string, re *regexp.Regexp, text string) string {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		value := m[0]
		for _, g := range m[1:] {
			if g != "" {
				value = g
			}
		}
		*list = append(*list, lineMark().ReplaceAllString(strings.TrimRight(value, ".,;?!"), ""))
	}
	return re.ReplaceAllString(text, " ")
}

// range_ reads which lines are meant.
func (f *facts) range_(text string) {
	group := func(re *regexp.Regexp) []string {
		var out []string
		if m := re.FindStringSubmatch(text); m != nil {
			for _, g := range m[1:] {
				if g != "" {
					out = append(out, g)
				}
			}
		}
		return out
	}
	if g := group(rangeRe()); len(g) == 2 {
		f.from, f.to = g[0], g[1]
	} else if g := group(firstRe()); len(g) == 1 {
		f.first = g[0]
	} else if g := group(lastRe()); len(g) == 1 {
		f.last = g[0]
	} else if g := group(fromRe()); len(g) == 1 {
		f.from = g[0]
	} else if g := group(lineRe()); len(g) == 1 {
		f.from, f.to = g[0], g[0]
	}
}

// count notes every number with the words beside it.
func (f *facts) count(text string) {
	for _, at := range digitsRe().FindAllStringIndex(text, -1) {
		after := firstTerm(text[at[1]:])
		if strings.HasPrefix(strings.TrimSpace(text[at[1]:]), "行") {
			after = "line"
		}
		f.numbers = append(f.numbers, numberFact{
			value:  strings.ReplaceAll(strings.TrimRight(text[at[0]:at[1]], ",."), ",", ""),
			before: lastTerm(text[:at[0]]), after: after,
		})
	}
}

func lastTerm(s string) string {
	if t := terms(lastRunes(s, 24)); len(t) > 0 {
		return t[len(t)-1]
	}
	return ""
}

func firstTerm(s string) string {
	if t := terms(firstRunes(s, 24)); len(t) > 0 {
		return t[0]
	}
	return ""
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

func lastRunes(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-n):])
}

var (
	spoken = strings.NewReplacer(
		" multiplied by ", " * ", " times ", " * ", " divided by ", " / ", " plus ", " + ", " minus ", " - ", " to the power of ", " ^ ",
		" squared", " ^ 2", " factorial", "!", "的阶乘", "!", "乘以", "*", "除以", "/", "加上", "+", "减去", "-", "乘", "*", "加", "+", "减", "-", "的平方", "^2",
		"×", "*", "÷", "/", "（", "(", "）", ")", "＋", "+", "－", "-", "，", " ; ", "。", " ; ", "？", " ; ")
	rootRe   = whenAsked(`(?i)(?:the )?square root of (\d+(?:\.\d+)?)|(\d+(?:\.\d+)?) ?的平方根`)
	powerRe  = whenAsked(`(\d+(?:\.\d+)?) ?的 ?(\d+) ?次方`)
	ofRe     = whenAsked(`(\d+(?:\.\d+)?) ?的 ?(\d+(?:\.\d+)?) ?%`)
	groupRe  = whenAsked(`\b\d{1,3}(?:,\d{3})+\b`)
	tokenRe  = whenAsked(`(?i)^(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|//|[-+*/%^()!,]|(?:sqrt|sin|cos|tan|ln|log10|log|exp|abs|round|floor|ceil|min|max|avg|gcd|lcm|ncr|pi|of)\b)`)
	letterRe = whenAsked(`^[A-Za-z_0-9.]+`)
	mathRe   = whenAsked(`(?i)\d[^-+*/%^!,(]*[-+*/%^!]|(?:sqrt|sin|cos|tan|ln|log10|log|exp|abs|round|floor|ceil|min|max|avg|gcd|lcm|ncr)\s*\(.*\d`)
)

// expression finds the longest arithmetic expression in text; empty: there is none.
func expression(text string) string {
	text = rootRe().ReplaceAllString(" "+text+" ", " sqrt($1$2) ")
	text = powerRe().ReplaceAllString(text, " $1^$2 ")
	text = ofRe().ReplaceAllString(text, " $2% of $1 ")
	text = spoken.Replace(text)
	text = groupRe().ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ",", "") })
	best, run := "", ""
	for text != "" {
		m := tokenRe().FindString(text)
		switch {
		case m != "":
			run += m
		case text[0] == ' ':
			m = " "
			run += m
		default:
			best, run = longer(best, run), ""
			if m = letterRe().FindString(text); m == "" {
				m = text[:1]
			}
		}
		text = text[len(m):]
	}
	return longer(best, run)
}

// longer returns the longer expression; what holds no operation is none.
func longer(a, b string) string {
	b = strings.TrimSpace(b)
	b = strings.TrimRight(strings.TrimLeft(b, " )*/%^!,"), " (+-*/^,")
	for _, word := range []string{"of ", " of", "of"} {
		b = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(b, word), word))
	}
	b = strings.TrimRight(b, " ,")
	if !mathRe().MatchString(b) || len(b) <= len(a) {
		return a
	}
	return b
}
