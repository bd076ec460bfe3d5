package daemon

import (
	"net/http"
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
)

// TestABodyIsSentAsJSON holds every route that reads a body to its type: the
// types that a form or a script of another site's page may send unasked are not
// taken.
func TestABodyIsSentAsJSON(t *testing.T) {
	s := serverWith(t, replay.New(), func(*host.Config) {})
	for _, path := range []string{
		"/api/chat", "/v1/chat/completions", "/api/results", "/api/tools/calculator/call", "/api/approvals/nobody",
		"/api/plugins/calculator/approve", "/api/plugins/calculator/rollback", "/api/plugins/calculator/disable", "/api/plugins/calculator/enable", "/api/archives/prune", "/api/cut",
	} {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "text/json, application/json", "", ";"} {
			a := s.do("POST", path, `{}`, func(r *http.Request) {
				r.Header.Del("Content-Type")
				if kind != "" {
					r.Header.Set("Content-Type", kind)
				}
			})
			if a.status != 415 || a.code(t) != "content_type" {
				t.Errorf("%s as %q: %d %s", path, kind, a.status, a.body)
			}
		}
		for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"} {
			if a := s.do("POST", path, `{"no such field"`, func(r *http.Request) { r.Header.Set("Content-Type", kind) }); a.status == 415 {
				t.Errorf("%s as %q: %s", path, kind, a.body)
			}
		}
		if a := s.post(path, ""); a.status == 415 {
			t.Errorf("%s without a body: %s", path, a.body)
		}
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8"} {
		a := s.do("POST", "/api/tools/calculator/call", `{"arguments":{"expression":"6*7"}}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) })
		if a.status != 200 {
			t.Errorf("%q: %d %s", kind, a.status, a.body)
		}
	}
	if a := s.post("/api/plugins/reload", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
