package mcpclient

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/msg"
)

// inherited returns the variables of our environment that a server's program gets:
// those to find programs, the user's files and the language. It must not get our
// keys and tokens.
func inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"SystemRoot", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "USERPROFILE", "TEMP", "PATHEXT", "ComSpec",
	}
}

// endTime is how long Close waits for the program after each step.
const endTime = 2 * time.Second

func (s *Server) transport() (mcp.Transport, error) {
	if s.cfg.URL == "" {
		s.process = newProcess(s)
		return s.process, nil
	}
	u, err := url.Parse(s.cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, msg.Errorf("its url is not the address of an HTTP server") // the url may contain a secret
	}
	return &mcp.StreamableClientTransport{
		Endpoint:   s.cfg.URL,
		HTTPClient: &http.Client{Transport: headers{base: s.web, scheme: u.Scheme, host: u.Host, set: s.cfg.Headers, unasked: s.unasked}},
	}, nil
}

// headers adds headers to requests for one host and scheme. A redirect to another
// host or to plain HTTP does not get them.
type headers struct {
	base         http.RoundTripper
	scheme, host string
	set          map[string]string
	unasked      *unasked
}

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == h.scheme && r.URL.Host == h.host && len(h.set) > 0 {
		r = r.Clone(r.Context())
		for name, v := range h.set {
			r.Header.Set(name, v)
		}
	}
	resp, err := h.base.RoundTrip(r)
	if a := answerOf(r.Context()); a != nil && err == nil {
		a.status.Store(int64(resp.StatusCode))
	}
	switch {
	case err != nil:
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		resp.Body = newEventBody(resp.Body, h.unasked)
	default:
		resp.Body = &answerBody{ReadCloser: http.MaxBytesReader(nil, resp.Body, MaxBytes)}
	}
	return resp, err
}

// MaxBytes bounds an answer: an HTTP body, or a line of a program.
const MaxBytes = 32 << 20
