package demo

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/limit"
)

// How much of a result an answer quotes.
const (
	quoteLines = 10
	quoteChars = 1200
	lineChars  = 240
)

// divide separates the lines that the agent adds to a result from the tool's own.
func divide(text string) (own, notices []string) {
	for l := range strings.SplitSeq(text, "\n") {
		switch {
		case limit.IsNotice(l):
			notices = append(notices, l)
		case strings.TrimSpace(l) != "":
			own = append(own, l)
		}
	}
	return own, notices
}

// answer writes the answer from what is there.
func answer(s scene) string {
	if s.wantsJSON {
		return exampleOf(s.schema, s.question)
	}
	w := textsOf(s.locale)
	var parts []string
	for _, r := range s.results {
		if r.tool != describeTool {
			parts = append(parts, report(w, r, s.question))
		}
	}
	if len(parts) == 0 && refersBack(s.question) && len(s.earlier) > 0 {
		last := s.earlier[len(s.earlier)-1]
		parts = append(parts, w.earlier(last.tool)+"\n"+quotation(last.text, s.question))
	}
	if len(parts) == 0 {
		return w.refuse(toolNames(s.tools))
	}
	return strings.Join(parts, "\n\n") + "\n\n" + w.mark
}

// report shows what one tool returned: its relevant lines, and what was left out.
func report(w *texts, r result, question string) string {
	if isFailure(r.text) {
		return w.failed(r.tool) + "\n" + quotation(r.text, question)
	}
	var b strings.Builder
	b.WriteString(w.says(r.tool) + "\n" + quotation(r.text, question))
	_, notices := divide(r.text)
	for _, n := range notices {
		if text := w.leftOut(n); text != "" {
			b.WriteString("\n" + text)
		}
	}
	return b.String()
}

func isFailure(text string) bool {
	return strings.HasPrefix(text, "Error (") || strings.HasPrefix(text, "错误 (")
}

// quotation quotes the lines of a result that hold what the question asks to
// find, in their order; the first ones where none does.
func quotation(text, question string) string {
	lines, _ := divide(text)
	if len(lines) == 0 {
		return "> –"
	}
	shown := relevant(lines, question)
	var b strings.Builder
	before := -1
	for _, i := range shown {
		if before >= 0 && i > before+1 && !compiled(hit).MatchString(lines[i]) { // a hit names its own line
			b.WriteString("> …\n")
		}
		b.WriteString("> " + harmless(lines[i]) + "\n")
		before = i
		if b.Len() > quoteChars {
			break
		}
	}
	if before < len(lines)-1 {
		b.WriteString("> …\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// relevant returns the indices of the lines to quote.
func relevant(lines []string, question string) []int {
	all := make([]int, len(lines))
	for i := range all {
		all[i] = i
	}
	if len(lines) <= quoteLines {
		return all
	}
	wanted := wantedWords(question)
	score := make([]int, len(lines))
	for i, l := range lines {
		for _, w := range wanted {
			if strings.Contains(strings.ToLower(l), w) {
				score[i]++
			}
		}
	}
	best := slices.Clone(all)
	slices.SortStableFunc(best, func(a, b int) int { return score[b] - score[a] })
	if score[best[0]] == 0 {
		return all[:quoteLines]
	}
	best = best[:quoteLines]
	if score[best[quoteLines-1]] == 0 { // fewer lines match than are quoted
		best = slices.DeleteFunc(best, func(i int) bool { return score[i] == 0 })
	}
	if !slices.Contains(best, 0) {
		best = append(best, 0) // searches begin with their totals
	}
	slices.Sort(best)
	return best
}

// wantedWords are what a question asks to find, in lower case.
func wantedWords(question string) []string {
	var out []string
	for _, expr := range []string{quote, ident} {
		for _, m := range compiled(expr).FindAllStringSubmatch(question, -1) {
			out = append(out, strings.ToLower(m[1]))
		}
	}
	return out
}

// harmless shortens a line and takes fences out of it.
func harmless(line string) string {
	line = strings.ReplaceAll(strings.TrimRight(line, "\r"), "```", "'''")
	if r := []rune(line); len(r) > lineChars {
		return string(r[:lineChars]) + "…"
	}
	return line
}

func toolNames(tools []toolInfo) []string {
	var out []string
	for _, t := range tools {
		if t.name != describeTool && t.name != loadTool && t.name != searchTool {
			out = append(out, t.name)
		}
	}
	return out
}
