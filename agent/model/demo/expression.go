package demo

import "strings"

// spoken are operators in words, and full-width signs.
var spoken = strings.NewReplacer(
	" multiplied by ", " * ", " times ", " * ", " divided by ", " / ", " plus ", " + ", " minus ", " - ", " to the power of ", " ^ ",
	" squared", " ^ 2", " factorial", "!", "的阶乘", "!", "乘以", "*", "除以", "/", "加上", "+", "减去", "-", "乘", "*", "加", "+", "减", "-", "的平方", "^2",
	"×", "*", "÷", "/", "（", "(", "）", ")", "＋", "+", "－", "-", "，", " ; ", "。", " ; ", "？", " ; ")

const (
	functions = `(?:sqrt|sin|cos|tan|ln|log10|log|exp|abs|round|floor|ceil|min|max|avg|gcd|lcm|ncr)`
	sum       = `(?i)(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|//|[-+*/%^()!,]|(?:` + functions + `|pi|of)\b| )+`
	operation = `(?i)\d[^-+*/%^!,(]*[-+*/%^!]|` + functions + `\s*\(.*\d`
)

// expression returns the longest arithmetic expression in a question; empty: there is
// none.
func expression(question string) string {
	text := compiled(`https?://\S+|\b\d+[-–]\d+ ?(?:行|lines)`).ReplaceAllString(" "+question+" ", " ; ")
	text = compiled(`(?:[\w.-]*[A-Za-z_][\w.-]*/[\w./-]*)`).ReplaceAllString(text, " ; ") // a path
	text = compiled(`(?i)(?:the )?square root of (\d+(?:\.\d+)?)|(\d+(?:\.\d+)?) ?的平方根`).ReplaceAllString(text, " sqrt($1$2) ")
	text = compiled(`(\d+(?:\.\d+)?) ?的 ?(\d+) ?次方`).ReplaceAllString(text, " $1^$2 ")
	text = compiled(`(\d+(?:\.\d+)?) ?的 ?(\d+(?:\.\d+)?) ?%`).ReplaceAllString(text, " $2% of $1 ")
	text = spoken.Replace(text)
	text = compiled(`\b\d{1,3}(?:,\d{3})+\b`).ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ",", "") })
	best := ""
	for _, e := range compiled(sum).FindAllString(text, -1) {
		e = strings.TrimRight(strings.TrimLeft(e, " )*/%^!,"), " (+-*/^,")
		for _, word := range []string{"of ", " of"} {
			e = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(e, word), word))
		}
		if compiled(operation).MatchString(e) && len(e) > len(best) {
			best = e
		}
	}
	return best
}
