package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// encyclopedia answers on loopback and keeps the last request.
type encyclopedia struct {
	status int
	body   string
	path   string
	asked  url.Values
	agent  string
}

func (e *encyclopedia) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.path, e.asked, e.agent = r.URL.Path, r.URL.Query(), r.Header.Get("User-Agent")
	w.WriteHeader(e.status)
	io.WriteString(w, e.body)
}

// options sends the tool's requests to the encyclopedia over real HTTP.
func (e *encyclopedia) options(t *testing.T) guest.Options {
	t.Helper()
	url, do := tooltest.Web(t, e)
	return guest.Options{Config: map[string]string{"base_url": url + "/{lang}/"}, HTTP: do}
}

const two = `{"batchcomplete":true,"query":{"pages":[
	{"pageid":2,"title":"Weir (surname)","index":2,"extract":"Weir is a surname.","fullurl":"https://en.wikipedia.org/wiki/Weir_(surname)"},
	{"pageid":1,"title":"Weir","index":1,"extract":"A weir is a low barrier.\n\n\n\n== Uses ==\nMany.","fullurl":"https://en.wikipedia.org/wiki/Weir"}]}}`

func TestSearch(t *testing.T) {
	e := &encyclopedia{status: 200, body: two}
	out, err := guest.Invoke(search, `{"query":" weir ","limit":2}`, e.options(t))
	want := "# Weir\nhttps://en.wikipedia.org/wiki/Weir\n\nA weir is a low barrier.\n\n## Uses\nMany.\n\n# Weir (surname)\nhttps://en.wikipedia.org/wiki/Weir_(surname)\n\nWeir is a surname."
	if err != nil || out.Text != want || len(out.Sources) != 2 || out.Sources[0].Title != "Weir" {
		t.Errorf("%q %v, %v", out.Text, out.Sources, err)
	}
	if e.path != "/en/w/api.php" || e.asked.Get("gsrsearch") != "weir" || e.asked.Get("gsrlimit") != "2" || e.asked.Get("exintro") != "1" || e.agent == "" {
		t.Errorf("asked %s %v by %q", e.path, e.asked, e.agent)
	}
}

func TestWholeArticle(t *testing.T) {
	e := &encyclopedia{status: 200, body: two}
	if _, err := guest.Invoke(search, `{"title":"Weir","lang":"de"}`, e.options(t)); err != nil {
		t.Error(err)
	}
	if e.path != "/de/w/api.php" || e.asked.Get("titles") != "Weir" || e.asked.Has("exintro") || e.asked.Has("generator") {
		t.Errorf("asked %s %v", e.path, e.asked)
	}
}

func TestLanguage(t *testing.T) {
	for words, want := range map[string]string{"Ada Lovelace": "en", "王羲之": "zh", "富士山の高さ": "ja", "서울": "ko", "Москва": "ru", "Łódź": "en", "中文 α": "zh", "Ελλάδα Жук": "ru"} {
		e := &encyclopedia{status: 200, body: two}
		if _, err := guest.Invoke(search, `{"query":"`+words+`"}`, e.options(t)); err != nil || e.path != "/"+want+"/w/api.php" {
			t.Errorf("%s: %s, %v; want %s", words, e.path, err, want)
		}
		if want == "zh" && e.asked.Get("variant") != "zh-cn" {
			t.Error("no variant of Chinese")
		}
	}
}

func TestNothing(t *testing.T) {
	e := &encyclopedia{status: 200, body: `{"batchcomplete":true}`}
	o := e.options(t)
	o.Locale = tool.Zh
	if out, err := guest.Invoke(search, `{"query":"qqqq"}`, o); err != nil || out.Text != "没有找到条目。" {
		t.Errorf("%q, %v", out.Text, err)
	}
	e.body = `{"query":{"pages":[{"title":"Qqqq","missing":true}]}}`
	if _, err := guest.Invoke(search, `{"title":"Qqqq"}`, o); err == nil || !strings.Contains(err.Error(), `没有标题为 "Qqqq" 的条目`) {
		t.Error(err)
	}
	e.body = `{"query":{"pages":[{"title":"A","fullurl":"u"}]}}`
	if out, err := guest.Invoke(search, `{"title":"A"}`, o); err != nil || !strings.Contains(out.Text, "（条目没有正文）") {
		t.Errorf("%q, %v", out.Text, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		in     string
		status int
		body   string
		code   tool.Code
	}{
		{`{}`, 200, two, tool.BadArgs}, {`{"query":" "}`, 200, two, tool.BadArgs},
		{`{"query":"a","title":"b"}`, 200, two, tool.BadArgs}, {`{"query":"a","lang":"en.evil.example/"}`, 200, two, tool.BadArgs},
		{`{"query":"a","limit":99}`, 200, two, tool.BadArgs}, {`{"query":"` + strings.Repeat("a", 301) + `"}`, 200, two, tool.BadArgs},
		{`{"query":"a"}`, 429, "", tool.RateLimited}, {`{"query":"a"}`, 503, "", tool.Failed}, {`{"query":"a"}`, 200, "<html>", tool.Failed},
		{`{"query":"a"}`, 200, `{"error":{"code":"x","info":"The search is down."}}`, tool.Failed},
	} {
		e := &encyclopedia{status: tt.status, body: tt.body}
		_, err := guest.Invoke(search, tt.in, e.options(t))
		if te, ok := err.(*tool.Error); !ok || te.Code != tt.code || te.Hint == "" {
			t.Errorf("%.60s %d: %v; want %s", tt.in, tt.status, err, tt.code)
		}
	}
	_, err := guest.Invoke(search, `{"query":"a"}`, guest.Options{})
	if te, ok := err.(*tool.Error); !ok || te.Code != tool.Denied {
		t.Errorf("without a grant: %v", err)
	}
}
