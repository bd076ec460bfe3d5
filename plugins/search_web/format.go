package main

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// wording is the language of an answer: that of the question.
type wording struct {
	summary, results, source, content, nothing string
}

var (
	english = wording{
		summary: "AI summary: ", results: "Search results:\n\n", source: "Source: ", content: "Content: ",
		nothing: "No results.",
	}
	chinese = wording{
		summary: "AI 摘要：", results: "搜索结果：\n\n", source: "来源：", content: "内容：",
		nothing: "没有搜索结果。",
	}
)

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// write formats the summary and all results. The host cuts between two of them.
func (w wording) write(a answer) guest.Result {
	var text guest.List
	if a.Answer != "" {
		text.WriteString(w.summary + oneLine(a.Answer) + "\n\n")
	}
	if len(a.Results) > 0 {
		text.WriteString(w.results)
	}
	var sources []tool.Source
	for i, e := range a.Results {
		text.Entry()
		text.WriteString(strconv.Itoa(i+1) + ". " + oneLine(e.Title) + "\n" +
			w.source + e.URL + "\n" + w.content + strings.TrimSpace(e.Content) + "\n\n")
		sources = append(sources, tool.Source{Title: oneLine(e.Title), URL: e.URL})
	}
	r := text.Result()
	r.Text, r.Sources = strings.TrimRight(r.Text, "\n"), sources
	return r
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
