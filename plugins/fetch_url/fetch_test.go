package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// site serves pages on loopback: path → content type and body.
type site map[string][2]string

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/moved" {
		http.Redirect(w, r, "/dir/page.html", http.StatusFound)
		return
	}
	page, ok := s[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header()["Content-Type"] = nil // never guessed by the server
	if page[0] != "" {
		w.Header().Set("Content-Type", page[0])
	}
	io.WriteString(w, page[1])
}

// serve starts the site and returns its address and a host that may reach it.
func (s site) serve(t *testing.T) (string, guest.Options) {
	url, do := tooltest.Web(t, s)
	return url, guest.Options{HTTP: do}
}

const article = `<!doctype html><html><head><title>The  Weir &amp;
 the river</title><style>p{}</style><script>var x = "<p>no</p>";</script></head><body>
<nav><a href="/">Home</a></nav><header><h1>The weir</h1></header>
<main><p>A <b>weir</b> holds a river back, see <a href="more.html#top">more</a> and <a href="https://go.dev">Go</a>.</p>
<ul><li>one</li><li>two</li></ul>
<table><tr><th>Gate</th><th>Level</th></tr><tr><td>1</td><td>3.4&nbsp;m</td></tr></table>
<pre><code>func main() {}
</code></pre><img alt="dot" src="data:image/png;base64,AAAA"><img alt="map" src="/map.png">
<form><input><button>Search</button></form></main>
<aside>Adverts</aside><footer>© 2025</footer></body></html>`

func TestGolden(t *testing.T) {
	url, o := site{"/dir/page.html": {"text/html; charset=utf-8", article}}.serve(t)
	out, err := guest.Invoke(fetch, `{"url":"`+url+`/dir/page.html#part"}`, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Sources) != 1 || out.Sources[0].Title != "The Weir & the river" || out.Sources[0].URL != url+"/dir/page.html" {
		t.Errorf("sources %v", out.Sources)
	}
	got := strings.ReplaceAll(out.Text, url, "http://example")
	tooltest.Golden(t, "article", got)

	moved, err := guest.Invoke(fetch, `{"url":"`+url+`/moved"}`, o)
	if err != nil || moved.Text != out.Text || moved.Sources[0].URL != url+"/dir/page.html" {
		t.Errorf("after a redirect: %v, %v", err, moved.Sources)
	}
}

func TestKinds(t *testing.T) {
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<html><head><meta charset=\"gbk\"><title>标题</title></head><body><p>" + strings.Repeat("堰挡住河流。", 20) + "</p></body></html>")
	if err != nil {
		t.Fatal(err)
	}
	gbkText, err := simplifiedchinese.GBK.NewEncoder().String("纯文本")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ media, body, want, why string }{
		{"text/plain", "a\n b", "a\n b", "text as it is"},
		{"text/markdown; charset=utf-8", "# T", "# T", "Markdown too"},
		{"application/json", `{"a":[1,2]}`, "{\n \"a\": [\n  1,\n  2\n ]\n}", "JSON in one line is indented"},
		{"application/json", "{\n\"a\":\n1\n}", "{\n\"a\":\n1\n}", "JSON in many stays"},
		{"application/ld+json", `[1]`, "[\n 1\n]", "JSON of a kind"},
		{"application/json", `{"a":`, `{"a":`, "JSON that is none"},
		{"application/rss+xml", "<rss/>", "<rss/>", "XML is text"},
		{"text/html", gbk, "# 标题\n\n" + strings.Repeat("堰挡住河流。", 20), "GBK by the page's own word"},
		{"text/plain; charset=gb2312", gbkText, "纯文本", "GBK by the header"},
		{"text/plain; charset=iso-8859-1", "caf\xe9", "café", "Latin-1"},
		{"text/plain; charset=martian", "caf\xe9", "caf\ufffd", "an encoding nobody knows"},
		{"text/plain; charset=gbk", "已经是 UTF-8", "已经是 UTF-8", "a header that is wrong"},
		{"", "<!DOCTYPE html><p>" + strings.Repeat("x", 100) + "</p>", strings.Repeat("x", 100), "no type: a page by its looks"},
		{"", `{"a":1}`, "{\n \"a\": 1\n}", "JSON by its looks"},
		{"", "words", "words", "else text"},
		{"", "\x89PNG\r\n\x1a\n", "URL is a PNG image, 8 bytes; it has no text to show.", "or bytes"},
		{"application/pdf", "%PDF-1.4 ...", "URL is a PDF document, 12 bytes; it has no text to show.", "a document is described"},
		{"video/mp4", "....", "URL is data of type video/mp4, 4 bytes; it has no text to show.", "by its type when its bytes say nothing"},
		{"text/html", "", "URL is empty.", "nothing at all"},
		{"text/html", "<html><body><script>app()</script></body></html>", "URL has no text; it may be made by a script.", "a page without text"},
		{"text/html", "<html><body><nav><a href='/a'>Only a menu</a></nav></body></html>", "[Only a menu](BASE/a)", "a page that is nothing but its menu"},
	} {
		url, o := site{"/p": {tt.media, tt.body}}.serve(t)
		out, err := guest.Invoke(fetch, `{"url":"`+url+`/p"}`, o)
		want := strings.NewReplacer("URL", url+"/p", "BASE", url).Replace(tt.want)
		if err == nil && strings.Contains(want, "has no text") {
			out.Text = strings.TrimSpace(out.Text)
		}
		if d := cmp.Diff(want, out.Text); err != nil || d != "" {
			t.Errorf("%s: %v %s", tt.why, err, d)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		url  string
		why  string
		says string
	}{
		{"", "nothing", "web address"},
		{"file:///etc/passwd", "a file", "web address"},
		{"ftp://example.com/x", "another protocol", "web address"},
		{"javascript:alert(1)", "a script", "web address"},
		{"http://", "no host", "web address"},
		{"https://user:pass@example.com/", "a password", "password"},
		{"https://example.com/%zz", "a wrong escape", "web address"},
		{"https://example.com/" + strings.Repeat("a", 2000), "too long", "2000"},
	} {
		_, err := guest.Invoke(fetch, `{"url":"`+tt.url+`"}`, guest.Options{})
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tool.BadArgs || !strings.Contains(e.Msg, tt.says) || strings.Contains(e.Msg, "pass@") {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
	_, err := guest.Invoke(fetch, `{"url":"https://example.com"}`, guest.Options{})
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tool.Denied {
		t.Errorf("no network granted: %v", err)
	}
}

func TestStatus(t *testing.T) {
	for status, want := range map[int]tool.Code{
		401: tool.Denied, 403: tool.Denied, 404: tool.BadArgs, 410: tool.BadArgs, 418: tool.Failed, 429: tool.RateLimited, 500: tool.Failed, 304: tool.Failed,
	} {
		_, err := guest.Invoke(fetch, `{"url":"example.com/a?token=t"}`, guest.Options{HTTP: func(guest.Request) (guest.Response, error) {
			return guest.Response{Status: status, Body: []byte("x")}, nil
		}})
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != want || e.Hint == "" || strings.Contains(e.Msg, "token") || !strings.Contains(e.Msg, "example.com") {
			t.Errorf("status %d: %v, want %s", status, err, want)
		}
	}
	_, err := guest.Invoke(fetch, `{"url":"example.com"}`, guest.Options{HTTP: func(guest.Request) (guest.Response, error) {
		return guest.Response{Status: 200, Headers: map[string]string{"content-type": "text/html"}, Body: make([]byte, maxPage+1)}, nil
	}})
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tool.TooLarge {
		t.Errorf("a page over the limit: %v", err)
	}
}

func TestHTTPSIsTheDefault(t *testing.T) {
	for written, want := range map[string]string{"go.dev/doc": "https://go.dev/doc", " http://a.cn ": "http://a.cn", "https://a.cn/x#y": "https://a.cn/x", "例子.中国": "https://%E4%BE%8B%E5%AD%90.%E4%B8%AD%E5%9B%BD"} {
		u, err := address(written)
		if err != nil || u.String() != want {
			t.Errorf("address(%q) = %v, %v; want %s", written, u, err, want)
		}
	}
}

// TestAnyPage: no page, however broken, fails or keeps its scripts.
func TestAnyPage(t *testing.T) {
	u, err := address("https://example.com/a/b")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		page := rapid.StringMatching(`(<(p|div|table|tr|td|ul|li|a href="x"|b|pre|h2|title|img src="data:x")>|</(p|div|table|td|ul|a|b|pre)>|text |中文|&amp;|<!-- c -->|\n){0,40}`).Draw(t, "page")
		title, text, err := markdown(u, "<script>SECRET</script>"+page, func(en, _ string) string { return en })
		if err != nil || title == "" || text == "" || strings.Contains(text, "SECRET") || strings.Contains(text, "(data:") {
			t.Fatalf("%q gives %q %q %v", page, title, text, err)
		}
	})
}
