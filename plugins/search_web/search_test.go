package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// service is a search service on loopback that answers with a fixed body and
// keeps the last request.
type service struct {
	status int
	body   string
	asked  map[string]any
	header http.Header
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.header = r.Header
	s.asked = nil
	if r.Method != "POST" || r.URL.Path != "/search" || json.NewDecoder(r.Body).Decode(&s.asked) != nil {
		http.Error(w, "wrong request", http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.status)
	io.WriteString(w, s.body)
}

// options sends the tool's requests to the service over real HTTP.
func (s *service) options(t testing.TB) guest.Options {
	url, do := tooltest.Web(t, s)
	return guest.Options{Config: map[string]string{"base_url": url + "/"}, HTTP: do}
}

const weather = `{"query":"q","answer":"今天晴，  最高 25 度。\n微风。","results":[
 {"title":"北京天气\n预报","url":"https://example.com/bj","content":"晴转多云。\n夜间 12 度。","score":0.9,"raw_content":"RAW"},
 {"title":"Weather & more","url":"https://example.com/w?a=1&b=2","content":"<b>Sunny</b>"}]}`

func TestAnswer(t *testing.T) {
	s := &service{status: 200, body: weather}
	o := s.options(t)
	out, err := guest.Invoke(search, `{"query":"今天北京天气"}`, o)
	want := "AI 摘要：今天晴， 最高 25 度。 微风。\n\n搜索结果：\n\n" +
		"1. 北京天气 预报\n来源：https://example.com/bj\n内容：晴转多云。\n夜间 12 度。\n\n" +
		"2. Weather & more\n来源：https://example.com/w?a=1&b=2\n内容：<b>Sunny</b>"
	if d := cmp.Diff(want, out.Text); err != nil || d != "" {
		t.Errorf("in Chinese: %v %s", err, d)
	}
	sources := []tool.Source{{Title: "北京天气 预报", URL: "https://example.com/bj"}, {Title: "Weather & more", URL: "https://example.com/w?a=1&b=2"}}
	if d := cmp.Diff(sources, out.Sources); d != "" || out.More != nil {
		t.Errorf("sources %s, more %v", d, out.More)
	}

	out, err = guest.Invoke(search, `{"query":"weather in Beijing"}`, o)
	if err != nil || !strings.HasPrefix(out.Text, "AI summary: 今天晴， 最高 25 度。 微风。\n\nSearch results:\n\n1. 北京天气 预报\nSource: https://example.com/bj\nContent: 晴转多云。") {
		t.Errorf("in English: %v %q", err, out.Text)
	}
}

func TestRequest(t *testing.T) {
	s := &service{status: 200, body: weather}
	o := s.options(t)
	for _, tt := range []struct {
		args string
		want map[string]any
		why  string
	}{
		{`{"query":" go "}`, map[string]any{"query": "go", "search_depth": "advanced", "max_results": 10.0, "include_answer": true, "include_raw_content": false}, "deep when nothing is said"},
		{`{"query":"go","mode":"deep"}`, map[string]any{"query": "go", "search_depth": "advanced", "max_results": 10.0, "include_answer": true, "include_raw_content": false}, "deep"},
		{`{"query":"go","mode":"quick"}`, map[string]any{"query": "go", "search_depth": "basic", "max_results": 3.0, "include_answer": false, "include_raw_content": false}, "quick"},
	} {
		if _, err := guest.Invoke(search, tt.args, o); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, s.asked); d != "" {
			t.Errorf("%s: %s", tt.why, d)
		}
		if s.header.Get("Authorization") != "" {
			t.Error("the tool must leave the key to the host")
		}
	}
}

// The operator's settings change what a search asks for, and the call changes that.
func TestRequestSettings(t *testing.T) {
	s := &service{status: 200, body: weather}
	for _, tt := range []struct {
		args   string
		config map[string]string
		depth  string
		most   float64
		answer bool
	}{
		{`{"query":"go"}`, map[string]string{"max_results": "5", "search_depth": "basic", "include_answer": "never"}, "basic", 5, false},
		{`{"query":"go","max_results":2}`, map[string]string{"max_results": "5"}, "advanced", 2, true},
		{`{"query":"go","mode":"quick","max_results":20}`, map[string]string{"search_depth": "advanced", "include_answer": "always"}, "advanced", 20, true},
		{`{"query":"go"}`, map[string]string{"max_results": "0", "search_depth": "", "include_answer": "auto"}, "advanced", 10, true},
		{`{"query":"go"}`, map[string]string{"max_results": "99"}, "advanced", 20, true},
	} {
		o := s.options(t)
		for k, v := range tt.config {
			o.Config[k] = v
		}
		if _, err := guest.Invoke(search, tt.args, o); err != nil {
			t.Fatal(err)
		}
		if s.asked["search_depth"] != tt.depth || s.asked["max_results"] != tt.most || s.asked["include_answer"] != tt.answer {
			t.Errorf("%s with %v asks %v", tt.args, tt.config, s.asked)
		}
	}
	if _, err := guest.Invoke(search, `{"query":"go","max_results":21}`, s.options(t)); err == nil || !strings.Contains(err.Error(), "1 to 20") {
		t.Errorf("21 results: %v", err)
	}
}

// many is an answer of n results with contents of so many characters.
func many(n, chars int) string {
	a := answer{Answer: "short"}
	for i := range n {
		a.Results = append(a.Results, entry{fmt.Sprint("T", i+1), fmt.Sprint("https://e.com/", i+1), strings.Repeat("字", chars)})
	}
	b, _ := json.Marshal(a)
	return string(b)
}

// Every result that was sent is handed over, whatever the limits in force, and the
// entries say where each begins.
func TestAllResultsAreHandedOver(t *testing.T) {
	s := &service{status: 200, body: many(10, 1500)}
	for _, limits := range []tool.Limits{{}, {MaxChars: 300, MaxLines: 2}} {
		o := s.options(t)
		o.Limits = limits
		out, err := guest.Invoke(search, `{"query":"长"}`, o)
		if err != nil || strings.Count(out.Text, strings.Repeat("字", 1500)) != 10 || len(out.Sources) != 10 || out.More != nil {
			t.Fatalf("%+v: %v, %d sources, %+v in\n%s", limits, err, len(out.Sources), out.More, out.Text)
		}
		if out.Entries == nil || len(out.Entries.Lines) != 10 || out.Entries.Show != 0 {
			t.Fatalf("entries %+v", out.Entries)
		}
		lines := strings.Split(out.Text, "\n")
		for i, n := range out.Entries.Lines {
			if want := fmt.Sprintf("%d. T%d", i+1, i+1); lines[n-1] != want {
				t.Errorf("entry %d begins with %q", i+1, lines[n-1])
			}
		}
	}
}

func TestEmptyAnswers(t *testing.T) {
	for _, tt := range []struct{ query, body, want, why string }{
		{"x", `{"results":[]}`, "No results.", "nothing found"},
		{"无", `{"results":[]}`, "没有搜索结果。", "in Chinese"},
		{"x", `{"answer":"42","results":[]}`, "AI summary: 42", "only a summary"},
		{"x", `{"answer":null,"results":[{"title":"T","url":"u","content":"c"}]}`, "Search results:\n\n1. T\nSource: u\nContent: c", "no summary"},
	} {
		s := &service{status: 200, body: tt.body}
		out, err := guest.Invoke(search, fmt.Sprintf(`{"query":%q}`, tt.query), s.options(t))
		if err != nil || out.Text != tt.want {
			t.Errorf("%s: %q %v", tt.why, out.Text, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		args, body, says string
		status           int
		code             tool.Code
		why              string
	}{
		{`{"query":""}`, weather, "1 to 400", 200, tool.BadArgs, "no query"},
		{`{"query":"` + strings.Repeat("问", 401) + `"}`, weather, "401", 200, tool.BadArgs, "a long query"},
		{`{"query":"x","mode":"slow"}`, weather, `"deep"`, 200, tool.BadArgs, "an unknown mode"},
		{`{"query":"x"}`, `{}`, "TAVILY_API_KEY", 401, tool.Denied, "a wrong key"},
		{`{"query":"x"}`, `{}`, "minute", 429, tool.RateLimited, "too fast"},
		{`{"query":"x"}`, `{}`, "plan", 432, tool.RateLimited, "used up"},
		{`{"query":"x"}`, `{"detail":{"error":"Query is too odd."}}`, "refused the query: Query is too odd.", 400, tool.BadArgs, "the service's own words"},
		{`{"query":"x"}`, `oops`, "refused the query.", 400, tool.BadArgs, "without any"},
		{`{"query":"x"}`, `<html>`, "status 502", 502, tool.Failed, "the service is down"},
		{`{"query":"x"}`, `<html>`, "JSON", 200, tool.Failed, "no JSON"},
	} {
		s := &service{status: tt.status, body: tt.body}
		_, err := guest.Invoke(search, tt.args, s.options(t))
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
	_, err := guest.Invoke(search, `{"query":"x"}`, guest.Options{})
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tool.Denied {
		t.Errorf("no network granted: %v", err)
	}
}

func TestDefaultAddress(t *testing.T) {
	var asked string
	_, err := guest.Invoke(search, `{"query":"x"}`, guest.Options{HTTP: func(r guest.Request) (guest.Response, error) {
		asked = r.Method + " " + r.URL
		return guest.Response{Status: 200, Body: []byte(`{}`)}, nil
	}})
	if err != nil || asked != "POST https://api.tavily.com/search" {
		t.Errorf("%q %v", asked, err)
	}
}
