package mcpclient

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
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
		return s.program(), nil
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

func (s *Server) program() mcp.Transport {
	cmd := exec.Command(s.cfg.Command, s.cfg.Args...)
	cmd.Dir = s.cfg.Dir
	cmd.Env = []string{} // nil would be all of ours
	for _, name := range inherited() {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	for name, v := range s.cfg.Env {
		cmd.Env = append(cmd.Env, name+"="+v) // after the inherited ones: the last one counts
	}
	cmd.Stderr = &outputLog{server: s}
	cmd.WaitDelay = endTime
	group(cmd)
	s.cmd = cmd
	return &command{cmd, &outputLog{server: s}}
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

// maxLine bounds a logged line, in bytes.
const maxLine = 2000

// An outputLog logs the lines of a program that are not messages. It is not safe
// for concurrent use.
type outputLog struct {
	server *Server
	rest   []byte // of the line that has not ended
}

// Write implements io.Writer. It never fails, because an error would stop the
// program.
func (c *outputLog) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, after, ended := bytes.Cut(p, []byte("\n"))
		c.rest = append(c.rest, line[:min(len(line), maxLine-len(c.rest))]...)
		if !ended {
			return n, nil
		}
		if text := short(string(c.rest), maxLine); text != "" {
			c.server.log.Debug("another server says", "server", c.server.cfg.Name, "line", text)
		}
		c.rest, p = c.rest[:0], after
	}
}

// short returns a text on one line, cut to n bytes.
func short(text string, n int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
