package main

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultBase  = "https://{lang}.wikipedia.org"
	defaultLimit = 3
	maxLimit     = 10
	maxWords     = 300 // characters; the service refuses more
)

type args struct {
	Query string `json:"query"`
	Title string `json:"title"`
	Lang  string `json:"lang"`
	Limit int    `json:"limit"` // 0: 3
}

// answer is what the service sends, as far as it is read here.
type answer struct {
	Error *struct {
		Code string `json:"code"`
		Info string `json:"info"`
	} `json:"error"`
	Query struct {
		Pages []page `json:"pages"`
	} `json:"query"`
}

type page struct {
	Index   int    `json:"index"`
	Title   string `json:"title"`
	Missing bool   `json:"missing"`
	Extract string `json:"extract"`
	URL     string `json:"fullurl"`
}

// search finds articles, or reads the one that is named.
func search(c *guest.Call, in args) (guest.Result, error) {
	lang, err := in.check(c)
	if err != nil {
		return guest.Result{}, err
	}
	a, err := ask(c, lang, in.parameters(lang))
	if err != nil {
		return guest.Result{}, err
	}
	pages := slices.DeleteFunc(a.Query.Pages, func(p page) bool { return p.Missing })
	slices.SortFunc(pages, func(a, b page) int { return a.Index - b.Index })
	switch {
	case len(pages) == 0 && in.Title != "":
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Search for it with \"query\".", "%s.wikipedia.org has no article with the title %q.", lang, in.Title).
			Zh("请用 \"query\" 搜索它。", "%s.wikipedia.org 没有标题为 %q 的条目。")
	case len(pages) == 0:
		return guest.Text(c.Say("No article was found.", "没有找到条目。")), nil
	}
	var b guest.List
	var sources []tool.Source
	for i, p := range pages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if len(pages) > 1 {
			b.Entry()
		}
		b.WriteString("# " + p.Title + "\n" + p.URL + "\n\n" + plain(p.Extract, c.Say))
		sources = append(sources, tool.Source{Title: p.Title, URL: p.URL})
	}
	r := b.Result()
	r.Sources = sources
	return r, nil
}

var language = regexp.MustCompile(`^[a-z][a-z-]{1,11}$`)

// check returns the language to ask in.
func (in args) check(c *guest.Call) (string, error) {
	words := strings.TrimSpace(in.Query + in.Title)
	switch {
	case in.Query != "" && in.Title != "":
		return "", guest.Errorf(tool.BadArgs, "Leave one of them out.", "Both \"query\" and \"title\" are given.").
			Zh("请去掉其中一个。", "同时给出了 \"query\" 和 \"title\"。")
	case words == "":
		return "", guest.Errorf(tool.BadArgs, "Give \"query\" to search, or \"title\" to read one article.", "There is nothing to look for.").
			Zh("请给出 \"query\" 来搜索，或给出 \"title\" 来读取一个条目。", "没有要查找的内容。")
	case utf8.RuneCountInString(words) > maxWords:
		return "", guest.Errorf(tool.BadArgs, "Write a few keywords.", "That is longer than %d characters.", maxWords).
			Zh("请写几个关键词。", "内容超过 %d 个字符。")
	case in.Lang != "" && !language.MatchString(in.Lang):
		return "", guest.Errorf(tool.BadArgs, "Write for example en, zh or de.", "Argument \"lang\" is %q.", in.Lang).
			Zh("请写成例如 en、zh 或 de。", "参数 \"lang\" 是 %q。")
	case in.Limit < 0 || in.Limit > maxLimit:
		return "", guest.Errorf(tool.BadArgs, "Leave it out for 3.", "\"limit\" must be 1 to %d.", maxLimit).
			Zh("省略时为 3。", "\"limit\" 须为 1 到 %d。")
	case in.Lang != "":
		return in.Lang, nil
	}
	return written(words), nil
}

// scripts returns the scripts that identify a language, the most certain first:
// Japanese texts contain Chinese characters too, and a Greek letter may be part of a
// formula.
func scripts() []script {
	return []script{
		{"ja", []*unicode.RangeTable{unicode.Hiragana, unicode.Katakana}}, {"ko", []*unicode.RangeTable{unicode.Hangul}},
		{"zh", []*unicode.RangeTable{unicode.Han}}, {"ru", []*unicode.RangeTable{unicode.Cyrillic}}, {"ar", []*unicode.RangeTable{unicode.Arabic}},
		{"he", []*unicode.RangeTable{unicode.Hebrew}}, {"th", []*unicode.RangeTable{unicode.Thai}}, {"hi", []*unicode.RangeTable{unicode.Devanagari}},
		{"el", []*unicode.RangeTable{unicode.Greek}},
	}
}

type script struct {
	lang   string
	tables []*unicode.RangeTable
}

// written is the language that the words are written in, as far as their
// characters tell.
func written(words string) string {
	for _, s := range scripts() {
		if strings.ContainsFunc(words, func(r rune) bool { return unicode.In(r, s.tables...) }) {
			return s.lang
		}
	}
	return "en"
}

func (in args) parameters(lang string) url.Values {
	v := url.Values{
		"action": {"query"}, "format": {"json"}, "formatversion": {"2"}, "redirects": {"1"},
		"prop": {"extracts|info"}, "inprop": {"url"}, "explaintext": {"1"}, "exsectionformat": {"wiki"},
	}
	if lang == "zh" {
		v.Set("variant", "zh-cn")
	}
	if in.Title != "" {
		v.Set("titles", strings.TrimSpace(in.Title))
		return v
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	v.Set("generator", "search")
	v.Set("gsrsearch", strings.TrimSpace(in.Query))
	v.Set("gsrlimit", strconv.Itoa(limit))
	v.Set("exintro", "1")
	v.Set("exlimit", "max")
	return v
}

// ask sends a request to the encyclopedia of a language.
func ask(c *guest.Call, lang string, v url.Values) (answer, error) {
	base, ok := c.Config("base_url")
	if !ok || base == "" {
		base = defaultBase
	}
	base = strings.ReplaceAll(strings.TrimRight(base, "/"), "{lang}", lang)
	resp, err := c.HTTP(guest.Request{
		URL: base + "/w/api.php?" + v.Encode(),
		// The service asks its users to say who they are.
		Headers: map[string]string{"Accept": "application/json", "User-Agent": "weir-search-wikipedia/1.0"},
	})
	if err != nil {
		return answer{}, err
	}
	switch {
	case resp.Status == 429:
		return answer{}, guest.Errorf(tool.RateLimited, "Wait a minute, then ask again.", "Wikipedia asks to slow down.").
			Zh("请等一分钟再查询。", "维基百科要求放慢请求。")
	case resp.Status != 200:
		return answer{}, guest.Errorf(tool.Failed, "Try again later.", "Wikipedia answered with status %d.", resp.Status).
			Zh("请稍后再试。", "维基百科返回状态 %d。")
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		return answer{}, guest.Errorf(tool.Failed, "Try again later.", "Wikipedia did not answer with JSON.").
			Zh("请稍后再试。", "维基百科返回的不是 JSON。")
	}
	if a.Error != nil {
		return answer{}, guest.Errorf(tool.Failed, "Change the words.", "Wikipedia refuses: %s.", strings.TrimSuffix(a.Error.Info, ".")).
			Zh("请换用其他词语。", "维基百科拒绝了请求：%s。")
	}
	return a, nil
}

var (
	heading = regexp.MustCompile(`(?m)^(=+) *(.+?) *=+ *$`)
	gaps    = regexp.MustCompile(`\n{3,}`)
)

// plain writes an article's headings as Markdown and takes out empty lines.
func plain(extract string, say func(en, zh string) string) string {
	text := heading.ReplaceAllStringFunc(extract, func(s string) string {
		m := heading.FindStringSubmatch(s)
		return strings.Repeat("#", min(len(m[1]), 6)) + " " + m[2]
	})
	if text = strings.TrimSpace(gaps.ReplaceAllString(text, "\n\n")); text == "" {
		return say("(the article has no text of its own)", "（条目没有正文）")
	}
	return text
}
