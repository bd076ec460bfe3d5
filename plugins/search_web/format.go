package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// wording is the language of an answer: that of the question.
type wording struct {
	summary, results, source, content string
	cutBefore, cutAfter               string // around the number of results
	nothing                           string
}

var (
	english = wording{
		summary: "AI summary: ", results: "Search results:\n\n", source: "Source: ", content: "Content: ",
		cutBefore: "(Results cut off; there are ", cutAfter: " in all.)", nothing: "No results.",
	}
	chinese = wording{
		summary: "AI 摘要：", results: "搜索结果：\n\n", source: "来源：", content: "内容：",
		cutBefore: "（结果已截断，共 ", cutAfter: " 条结果）", nothing: "没有搜索结果。",
	}
)

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// write formats the summary and the results from start on. Only whole results
// are written, as many as fit maxChars and maxLines; the first one always is,
// because nothing at all would help less than one that the host cuts.
func (w wording) write(a answer, start, maxChars, maxLines int) guest.Result {
	var r guest.Result
	text := ""
	if a.Answer != "" && start == 1 {
		text = w.summary + oneLine(a.Answer) + "\n\n"
	}
	if len(a.Results) == 0 {
		return guest.Text(strings.TrimSpace(text))
	}
	text += w.results
	cut := w.cutBefore + strconv.Itoa(len(a.Results)) + w.cutAfter
	shown := 0
	for i, e := range a.Results[start-1:] {
		item := strconv.Itoa(start+i) + ". " + oneLine(e.Title) + "\n" +
			w.source + e.URL + "\n" + w.content + strings.TrimSpace(e.Content) + "\n\n"
		longer := text + item
		if start+i < len(a.Results) {
			longer += cut
		}
		if shown > 0 && (utf8.RuneCountInString(longer) > maxChars || strings.Count(longer, "\n")+1 > maxLines) {
			break
		}
		text += item
		shown++
		r.Sources = append(r.Sources, tool.Source{Title: oneLine(e.Title), URL: e.URL})
	}
	r.Text = strings.TrimRight(text, "\n")
	if next := start + shown; next <= len(a.Results) {
		r.Text += "\n\n" + cut
		r.More = &tool.More{Shown: shown, Total: len(a.Results)}
		r.More.Args, _ = json.Marshal(map[string]int{"start": next})
	}
	return r
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
