package main

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultBase = "https://api.tavily.com"
	maxQuery    = 400 // characters; the service refuses more
	mostResults = 20  // the service gives no more
)

type args struct {
	Query string `json:"query"`
	Mode  string `json:"mode"`        // deep or quick; empty: deep
	Max   int    `json:"max_results"` // 0: the operator's, else by mode
}

// request is the body of Tavily's /search. The key goes into a header that
// the host adds: the tool never sees it.
type request struct {
	Query             string `json:"query"`
	SearchDepth       string `json:"search_depth"`
	MaxResults        int    `json:"max_results"`
	IncludeAnswer     bool   `json:"include_answer"`
	IncludeRawContent bool   `json:"include_raw_content"`
}

type answer struct {
	Answer  string  `json:"answer"`
	Results []entry `json:"results"`
}

type entry struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Content string `json:"content"`
}

// search asks Tavily and writes all results: each search is paid for, so what the host
// does not show must be in the archive.
func search(c *guest.Call, in args) (guest.Result, error) {
	body, err := in.request(c)
	if err != nil {
		return guest.Result{}, err
	}
	a, err := ask(c, body)
	if err != nil {
		return guest.Result{}, err
	}
	wording := english
	if c.Say("", "zh") != "" || hasHan(in.Query) {
		wording = chinese
	}
	if len(a.Results) == 0 && a.Answer == "" {
		return guest.Text(wording.nothing), nil
	}
	return wording.write(a), nil
}

// request returns the body for the service: by the mode, changed by the operator's
// settings, changed by the call.
func (in args) request(c *guest.Call) ([]byte, error) {
	r := request{Query: strings.TrimSpace(in.Query), SearchDepth: "advanced", MaxResults: 10, IncludeAnswer: true}
	switch in.Mode {
	case "", "deep":
	case "quick":
		r.SearchDepth, r.MaxResults, r.IncludeAnswer = "basic", 3, false
	default:
		return nil, guest.Errorf(tool.BadArgs, "Write \"deep\" for 10 results or \"quick\" for 3.",
			"Argument \"mode\" is %q.", in.Mode).Zh("写 \"deep\" 得 10 条结果，写 \"quick\" 得 3 条。", "参数 \"mode\" 是 %q。")
	}
	if in.Max < 0 || in.Max > mostResults {
		return nil, guest.Errorf(tool.BadArgs, "Leave it out for the usual number.", "\"max_results\" must be 1 to %d.", mostResults).
			Zh("省略即用常用数量。", "\"max_results\" 须为 1 到 %d。")
	}
	r.MaxResults = min(cmp.Or(in.Max, max(c.ConfigInt("max_results", 0), 0), r.MaxResults), mostResults)
	if depth, _ := c.Config("search_depth"); depth == "basic" || depth == "advanced" {
		r.SearchDepth = depth
	}
	switch answer, _ := c.Config("include_answer"); answer {
	case "always":
		r.IncludeAnswer = true
	case "never":
		r.IncludeAnswer = false
	}
	if n := len([]rune(r.Query)); n == 0 || n > maxQuery {
		return nil, guest.Errorf(tool.BadArgs, "Write a few keywords or one question.",
			"Argument \"query\" must have 1 to %d characters; it has %d.", maxQuery, n).
			Zh("请写几个关键词或一个问题。", "参数 \"query\" 须有 1 到 %d 个字符，现有 %d 个。")
	}
	return json.Marshal(r)
}

func ask(c *guest.Call, body []byte) (answer, error) {
	base, ok := c.Config("base_url")
	if !ok {
		base = defaultBase
	}
	resp, err := c.HTTP(guest.Request{
		Method:  "POST",
		URL:     strings.TrimRight(base, "/") + "/search",
		Headers: map[string]string{"Content-Type": "application/json", "Accept": "application/json"},
		Body:    body,
	})
	if err != nil {
		return answer{}, err
	}
	if resp.Status != 200 {
		return answer{}, refused(resp)
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		return answer{}, guest.Errorf(tool.Failed, "Try again later.", "The search service did not answer with JSON.").
			Zh("请稍后再试。", "搜索服务返回的不是 JSON。")
	}
	return a, nil
}

// refused explains a status that is not 200.
func refused(resp guest.Response) error {
	switch {
	case resp.Status == 401 || resp.Status == 403:
		return guest.Errorf(tool.Denied, "The operator must set TAVILY_API_KEY to a valid key.",
			"The search service does not accept the key.").Zh("需由管理员把 TAVILY_API_KEY 设为有效的密钥。", "搜索服务不接受该密钥。")
	case resp.Status == 429:
		return guest.Errorf(tool.RateLimited, "Wait a minute, then search again.", "The search service asks to slow down.").
			Zh("请等一分钟再搜索。", "搜索服务要求放慢请求。")
	case resp.Status == 432 || resp.Status == 433:
		return guest.Errorf(tool.RateLimited, "The operator must raise the plan or wait for the next month.",
			"The search plan is used up.").Zh("需由管理员升级套餐，或等到下个月。", "搜索套餐已用完。")
	case resp.Status == 400 || resp.Status == 422:
		return guest.Errorf(tool.BadArgs, "Write the query differently.", "The search service refused the query%s.", detail(resp.Body)).
			Zh("请换一种写法。", "搜索服务拒绝了该查询%s。")
	}
	return guest.Errorf(tool.Failed, "Try again later.", "The search service answered with status %d.", resp.Status).
		Zh("请稍后再试。", "搜索服务返回状态 %d。")
}

// detail quotes the service's own words, if it gave any that are short.
func detail(body []byte) string {
	var e struct {
		Detail struct {
			Error string `json:"error"`
		} `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil || e.Detail.Error == "" || len(e.Detail.Error) > 200 {
		return ""
	}
	return ": " + strings.TrimRight(e.Detail.Error, ".")
}
