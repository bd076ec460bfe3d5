package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/egress"
)

// client returns an HTTP client that may reach one loopback server; private grants the
// private address.
func client(t *testing.T, server string, private bool, secrets ...egress.Secret) *egress.Client {
	t.Helper()
	rule, err := egress.ParseRule(server)
	if err != nil {
		t.Fatal(err)
	}
	p := egress.Policy{Allow: []egress.Rule{rule}, Secrets: secrets}
	if private {
		p.AllowPrivate = []string{rule.Host}
	}
	c, err := egress.New(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestHTTPOfAGuest(t *testing.T) {
	m := guest(t)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a request reached the other server: %s", r.URL)
	}))
	defer outside.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/out" {
			http.Redirect(w, r, outside.URL+"/metadata", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Header.Get("X-Asked"))
		fmt.Fprintf(w, "%s %s %q key %s", r.Method, r.URL.Path, body, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	host, _ := url.Parse(server.URL)
	secret := egress.Secret{Name: "KEY", Header: "Authorization", Format: "Bearer {}", Host: server.URL, Value: "sk-canary-12345"}

	for _, row := range []struct {
		name, path string
		http       Sender
		status     int
		says       string // of the body, or of the error
	}{
		{"granted", "/page", client(t, server.URL, true), 200, `POST /page "hello" key `},
		{"granted, with a secret it never sees", "/page", client(t, server.URL, true, secret), 200, `POST /page "hello" key [KEY]`},
		{"not granted at all", "/page", nil, 0, "denied: this tool has no network access"},
		{"another host granted", "/page", client(t, "https://example.com", false), 0, "denied: requests to " + server.URL + " are not allowed for this tool (allowed: example.com)"},
		{"granted, but private", "/page", client(t, server.URL, false), 0, "denied: " + server.URL + " leads to this machine or a private network, which is not allowed (only the operator can allow a private address)"},
		{"a redirect out", "/out", client(t, server.URL, true), 0, "denied: " + server.URL + " redirected elsewhere: requests to "},
	} {
		t.Run(row.name, func(t *testing.T) {
			req, _ := json.Marshal(wireRequest{Method: "POST", URL: server.URL + row.path + "?token=in-the-url", Headers: map[string]string{"X-Asked": "yes"}, Body: []byte("hello")})
			raw := answer(t, m, Invocation{Export: "http", Input: req, Grant: Grant{HTTP: row.http}})
			var resp wireResponse
			if err := json.Unmarshal([]byte(raw), &resp); err != nil {
				t.Fatalf("%v in %q", err, raw)
			}
			said := string(resp.Body)
			if resp.Error != nil {
				said = resp.Error.Error()
			}
			if resp.Status != row.status || !strings.HasPrefix(said, row.says) {
				t.Errorf("got %d %q, want %d %q", resp.Status, said, row.status, row.says)
			}
			if strings.Contains(raw, "canary") || resp.Error != nil && strings.Contains(raw, "in-the-url") {
				t.Errorf("a secret came back: %s", raw)
			}
			if row.status == 200 && resp.Headers["X-Seen"] != "yes" {
				t.Errorf("headers: %v", resp.Headers)
			}
		})
	}

	t.Run("Extism's own request takes the same way", func(t *testing.T) {
		req := []byte(`{"url":"` + server.URL + `/old","method":"PUT","headers":{"x-asked":"yes"}}`)
		got := answer(t, m, Invocation{Export: "exthttp", Input: req, Grant: Grant{HTTP: client(t, server.URL, true)}})
		if !strings.HasPrefix(got, `200 PUT /old "body of the guest" key  {`) || !strings.Contains(got, `"x-seen":"yes"`) {
			t.Errorf("got %s", got)
		}
		got = answer(t, m, Invocation{Export: "exthttp", Input: req})
		if want := `403 denied: this tool has no network access (the operator can grant hosts to it) {"x-weir-error":"denied"}`; got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a request that is no JSON", func(t *testing.T) {
		if got := answer(t, m, Invocation{Export: "http", Input: []byte("GET " + host.Host)}); !strings.Contains(got, `"code":"bad_args"`) {
			t.Errorf("got %s", got)
		}
	})
}
