package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	png  = "\x89PNG\r\n\x1a\n rest"
	jpeg = "\xff\xd8\xff\xe0 rest"
)

// service is an image service on loopback that keeps the last request.
type service struct {
	status  int
	body    string // URL means its own address
	url     string
	picture string
	asked   map[string]any
	header  http.Header
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == "GET" && r.URL.Path == "/pictures/1":
		io.WriteString(w, s.picture)
	case r.Method == "POST" && r.URL.Path == "/v3/images/generations":
		s.header, s.asked = r.Header, nil
		if err := json.NewDecoder(r.Body).Decode(&s.asked); err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		w.WriteHeader(s.status)
		io.WriteString(w, strings.ReplaceAll(s.body, "URL", s.url))
	default:
		http.Error(w, "gone", http.StatusNotFound)
	}
}

// options sends the tool's requests to the service over real HTTP.
func (s *service) options(t testing.TB, config map[string]string) guest.Options {
	url, do := tooltest.Web(t, s)
	s.url = url
	all := map[string]string{"base_url": url + "/v3/"}
	for k, v := range config {
		all[k] = v
	}
	return guest.Options{Config: all, HTTP: do}
}

func encoded(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

func TestBytes(t *testing.T) {
	for _, tt := range []struct{ body, mime, name, data string }{
		{`{"data":[{"b64_json":"` + encoded(png) + `","size":"2048x2048"}]}`, "image/png", "picture.png", png},
		{`{"data":[{"b64_json":"data:image/jpeg;base64,` + encoded(jpeg) + `"}]}`, "image/jpeg", "picture.jpg", jpeg},
		{`{"data":[{"url":"URL/pictures/1"}]}`, "image/png", "picture.png", png},
	} {
		s := &service{status: 200, body: tt.body, picture: png}
		out, err := guest.Invoke(generate, `{"prompt":" a lighthouse "}`, s.options(t, nil))
		if err != nil {
			t.Fatal(tt.body, err)
		}
		if d := cmp.Diff([]tool.Blob{{Name: tt.name, MIME: tt.mime, Data: []byte(tt.data)}}, out.Parts); d != "" {
			t.Errorf("%s: %s", tt.body, d)
		}
		if strings.Contains(out.Text, "\n") || !strings.Contains(out.Text, tt.mime) || strings.Contains(out.Text, encoded(tt.data)[:8]) {
			t.Errorf("the model reads %q", out.Text)
		}
		want := map[string]any{"model": defaultModel, "prompt": "a lighthouse", "size": "1024x1024", "response_format": "b64_json"}
		if d := cmp.Diff(want, s.asked); d != "" || s.header.Get("Authorization") != "" {
			t.Errorf("asked: %s, key %q", d, s.header.Get("Authorization"))
		}
	}
}

func TestSettings(t *testing.T) {
	s := &service{status: 200, body: `{"data":[{"b64_json":"` + encoded(png) + `"}]}`}
	o := s.options(t, map[string]string{"model": "gpt-image-1", "size": "", "response_format": ""})
	for args, size := range map[string]any{`{"prompt":"x"}`: nil, `{"prompt":"x","size":"2K"}`: "2K"} {
		if _, err := guest.Invoke(generate, args, o); err != nil || s.asked["model"] != "gpt-image-1" || s.asked["size"] != size || s.asked["response_format"] != nil {
			t.Errorf("%s: %v %v", args, s.asked, err)
		}
	}
}

// TestAddress: a picture that cannot be fetched is where the service says.
func TestAddress(t *testing.T) {
	s := &service{status: 200, body: `{"data":[{"url":"URL/nosuch"}]}`}
	out, err := guest.Invoke(generate, `{"prompt":"x"}`, s.options(t, nil))
	if want := s.url + "/nosuch"; err != nil || len(out.Parts) != 0 || !strings.Contains(out.Text, want) || len(out.Sources) != 1 || out.Sources[0].URL != want {
		t.Errorf("%+v %v", out.Result, err)
	}
	o := s.options(t, nil)
	send := o.HTTP
	o.HTTP = func(r guest.Request) (guest.Response, error) {
		if r.Method == "GET" {
			return guest.Response{}, tool.Errorf(tool.Denied, "", "not granted")
		}
		if r.TimeoutSeconds < 60 {
			t.Errorf("waits %d seconds for a picture", r.TimeoutSeconds)
		}
		return send(r)
	}
	if out, err := guest.Invoke(generate, `{"prompt":"x"}`, o); err != nil || !strings.Contains(out.Text, "/nosuch") {
		t.Errorf("%+v %v", out.Result, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		code   tool.Code
		says   string
	}{
		{401, `{}`, tool.Denied, "key"},
		{404, `{"error":{"message":"no such model."}}`, tool.Failed, "gpt: no such model."},
		{429, ``, tool.RateLimited, "slow down"},
		{400, `{"error":{"message":"may be\nsensitive"}}`, tool.BadArgs, "may be sensitive"},
		{500, `x`, tool.Failed, "500"},
		{200, `<html>`, tool.Failed, "JSON"},
		{200, `{"data":[]}`, tool.Failed, "picture"},
		{200, `{"data":[{"b64_json":"###"}]}`, tool.Failed, "picture"},
		{200, `{"data":[{"b64_json":"` + encoded("hello") + `"}]}`, tool.Failed, "picture"},
	} {
		s := &service{status: tt.status, body: tt.body}
		_, err := guest.Invoke(generate, `{"prompt":"x"}`, s.options(t, map[string]string{"model": "gpt"}))
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tt.code || !strings.Contains(e.Msg, tt.says) {
			t.Errorf("%d %s: %v", tt.status, tt.body, err)
		}
	}
	s := &service{status: 200}
	for _, prompt := range []string{"", "  ", strings.Repeat("字", maxPrompt+1)} {
		if _, err := guest.Invoke(generate, `{"prompt":"`+prompt+`"}`, s.options(t, nil)); err == nil || s.asked != nil {
			t.Errorf("a prompt of %d bytes is sent", len(prompt))
		}
	}
}
