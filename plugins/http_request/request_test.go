package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// api answers every request alike and keeps the last one.
type api struct {
	answer guest.Response
	asked  guest.Request
}

func (a *api) options() guest.Options {
	return guest.Options{HTTP: func(r guest.Request) (guest.Response, error) {
		a.asked = r
		return a.answer, nil
	}}
}

func TestWhatIsSent(t *testing.T) {
	accept := "application/json, text/*;q=0.9, */*;q=0.5"
	for _, tt := range []struct {
		in, why string
		want    guest.Request
	}{
		{`{"url":"api.example.com/a?b=1#c"}`, "https and GET", guest.Request{Method: "GET", URL: "https://api.example.com/a?b=1", Headers: map[string]string{"Accept": accept}}},
		{`{"url":"https://a.example/","json":{"n":[1,2.50]}}`, "JSON by POST, as it was written", guest.Request{Method: "POST", URL: "https://a.example/", Headers: map[string]string{"Accept": accept, "Content-Type": "application/json"}, Body: []byte(`{"n":[1,2.50]}`)}},
		{`{"url":"https://a.example/","method":"put","body":"x=1","headers":{"content-type":"application/x-www-form-urlencoded","ACCEPT":"text/plain"}}`, "headers in any case", guest.Request{Method: "PUT", URL: "https://a.example/", Headers: map[string]string{"Accept": "text/plain", "Content-Type": "application/x-www-form-urlencoded"}, Body: []byte("x=1")}},
		{`{"url":"http://a.example/","method":"DELETE","json":null}`, "null is no body", guest.Request{Method: "DELETE", URL: "http://a.example/", Headers: map[string]string{"Accept": accept}}},
		{`{"url":"https://a.example/","json":false}`, "false is one", guest.Request{Method: "POST", URL: "https://a.example/", Headers: map[string]string{"Accept": accept, "Content-Type": "application/json"}, Body: []byte("false")}},
	} {
		a := &api{answer: guest.Response{Status: 204}}
		if _, err := guest.Invoke(request, tt.in, a.options()); err != nil {
			t.Errorf("%s: %v", tt.why, err)
		}
		if d := cmp.Diff(tt.want, a.asked); d != "" {
			t.Errorf("%s: %s", tt.why, d)
		}
	}
}

func TestWhatIsShown(t *testing.T) {
	h := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		in, want, why string
		answer        guest.Response
	}{
		{`{"url":"a.example"}`, "200 OK\nContent-Type: application/json\n\n{\n  \"a\": [\n    1.50\n  ]\n}\n", "JSON", guest.Response{Status: 200, Headers: h("Content-Type", "application/json"), Body: []byte(`{"a":[1.50]}`)}},
		{`{"url":"a.example"}`, "404 Not Found\nContent-Type: application/problem+json\n\n{\n  \"title\": \"gone\"\n}\n", "an error's status is an answer", guest.Response{Status: 404, Headers: h("Content-Type", "application/problem+json"), Body: []byte(`{"title":"gone"}`)}},
		{`{"url":"a.example"}`, "429 Too Many Requests\nRetry-After: 30\n\n(no body)\n", "when to come again", guest.Response{Status: 429, Headers: h("retry-after", "30")}},
		{`{"url":"a.example"}`, "200 OK\nContent-Type: text/plain\n\nplain <text>", "text", guest.Response{Status: 200, Headers: h("Content-Type", "text/plain"), Body: []byte("plain <text>")}},
		{`{"url":"a.example"}`, "200 OK\n\n[]\n", "JSON that nobody calls so", guest.Response{Status: 200, Body: []byte("[]")}},
		{`{"url":"a.example"}`, "200 OK\nContent-Type: application/json\n\n{broken", "no JSON after all", guest.Response{Status: 200, Headers: h("Content-Type", "application/json"), Body: []byte("{broken")}},
		{`{"url":"a.example","method":"HEAD"}`, "200 OK\nEtag: x\n\nEtag: x\nServer: s\n", "headers", guest.Response{Status: 200, Headers: h("Server", "s", "Etag", "x")}},
	} {
		a := &api{answer: tt.answer}
		out, err := guest.Invoke(request, tt.in, a.options())
		if err != nil || out.Text != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.why, out.Text, err, tt.want)
		}
	}
	a := &api{answer: guest.Response{Status: 200, Headers: h("Content-Type", "image/png"), Body: []byte("\x89PNG\r\n\x1a\n\x00\x00")}}
	out, err := guest.Invoke(request, `{"url":"a.example"}`, a.options())
	if err != nil || strings.Contains(out.Text, "\x00") || !strings.Contains(out.Text, "10 bytes") {
		t.Errorf("bytes: %q, %v", out.Text, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, in := range []string{
		`{"url":"ftp://a.example"}`, `{"url":"https://user:pw@a.example"}`, `{"url":" "}`, `{"url":"https://"}`, `{"url":"` + strings.Repeat("a", 4001) + `"}`,
		`{"url":"a.example","method":"TRACE"}`, `{"url":"a.example","json":1,"body":"x"}`, `{"url":"a.example","method":"GET","body":"x"}`,
	} {
		a := &api{}
		_, err := guest.Invoke(request, in, a.options())
		if e, ok := err.(*tool.Error); !ok || e.Code != tool.BadArgs || e.Hint == "" {
			t.Errorf("%.60s: %v", in, err)
		}
		if a.asked.URL != "" {
			t.Errorf("%.60s was sent", in)
		}
	}
	_, err := guest.Invoke(request, `{"url":"a.example"}`, guest.Options{})
	if e, ok := err.(*tool.Error); !ok || e.Code != tool.Denied {
		t.Errorf("without a grant: %v", err)
	}
}
