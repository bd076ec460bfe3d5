package mcpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// unset returns why a server is not started for want of variables.
func (s *Server) unset() error {
	names := strings.Join(s.cfg.Unset, ", ")
	if len(s.cfg.Unset) > 1 {
		return msg.Usagef("", "the variables %s are not set", names).WithHint("set them in the environment or in .env beside tools.toml, then run `weir reload`; write ${NAME:-} where one may be empty")
	}
	return msg.Usagef("", "the variable %s is not set", names).WithHint("set it in the environment or in .env beside tools.toml, then run `weir reload`; write ${%s:-} where it may be empty", names)
}

// lost returns why a connection has ended.
func (s *Server) lost(err error) error {
	if s.process != nil {
		return &msg.Problem{Text: s.process.end()}
	}
	if web := webReason(err); web != nil {
		return web
	}
	return msg.Errorf("the connection has ended")
}

// explain returns a sentence that states why a server cannot be used. ctx is that of the
// attempt.
func (s *Server) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why := tool.Textf("it did not answer within %s", s.cfg.Start)
		if s.process != nil {
			s.process.end()
			why = s.process.withLines(why)
		}
		return &msg.Problem{Text: why}
	}
	var said tool.Text
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Message != notTaken {
		said = tool.Textf("it answers with an error: %s", short(s.masked(wire.Message), 300))
	}
	if s.process != nil {
		switch {
		case !said.IsZero():
			return &msg.Problem{Text: said}
		case s.process.in == nil:
			return s.notStarted(err)
		case broken(err):
			return s.lost(err)
		}
		return s.unusable(err)
	}
	if web := webReason(err); web != nil {
		return web
	}
	if refused := answerOf(ctx).problem(); refused != nil {
		if !said.IsZero() {
			refused.Text = tool.Textf("%v; %v", refused.Text, said)
		}
		return refused
	}
	switch {
	case !said.IsZero():
		return &msg.Problem{Text: said}
	case broken(err):
		return msg.Errorf("the connection has ended")
	}
	return s.unusable(err)
}

// unusable returns the sentence for answers that the SDK cannot use. Its own words are for the
// log.
func (s *Server) unusable(err error) error {
	s.log.Warn("an answer of another server cannot be used", "server", s.cfg.Name, "error", s.masked(reason(err)))
	return msg.Usagef("the log has the details; check that its command or url is that of an MCP server", "its answers cannot be used")
}

// notStarted returns why a program could not be started.
func (s *Server) notStarted(err error) error {
	if dir := s.cfg.Dir; dir != "" {
		switch st, statErr := os.Stat(dir); {
		case errors.Is(statErr, fs.ErrNotExist):
			return msg.Usagef("correct cwd in its entry, or make the folder", "the folder %q does not exist", dir)
		case statErr == nil && !st.IsDir():
			return msg.Usagef("correct cwd in its entry", "%q is not a folder", dir)
		}
	}
	_, found := exec.LookPath(s.cfg.Command)
	switch {
	case errors.Is(err, fs.ErrNotExist) && found == nil:
		return msg.Usagef("correct its first line, or name the interpreter as command", "the interpreter that the first line of the program %q names was not found", s.cfg.Command)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return msg.Usagef("install it, or correct command in its entry", "the program %q was not found", s.cfg.Command)
	case errors.Is(err, fs.ErrPermission):
		return msg.Usagef("make it executable, or correct command in its entry", "the program %q may not be run", s.cfg.Command)
	}
	return msg.Errorf("the program %q cannot be started: %v", s.cfg.Command, msg.Reason(err))
}

// webReason returns the sentence for an error of the network. It names the host at most: an
// address may contain a key. Nil: it is another error.
func webReason(err error) *msg.Problem {
	web, ok := errors.AsType[*url.Error](err)
	if !ok {
		return nil
	}
	host := ""
	if u, err := url.Parse(web.URL); err == nil {
		host = u.Host
	}
	var dns *net.DNSError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &dns):
		return msg.Usagef("correct its url, or check the network", "no address was found for the host %q", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return msg.Usagef("start the server, or correct its url", "nothing answers at %s", host)
	case errors.As(err, &certificate), errors.As(err, &x509.UnknownAuthorityError{}), errors.As(err, &x509.HostnameError{}):
		return msg.Usagef("correct its url, or add the certificate of its authority to those of this machine", "the certificate of %s is not accepted", host)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return msg.Usagef("write http:// in its url if the server has no TLS", "%s does not speak TLS", host)
	case errors.As(err, &timeout) && timeout.Timeout():
		return msg.Usagef("check its url and the network", "%s does not answer in time", host)
	}
	return msg.Usagef("check its url and the network", "the connection to %s has ended", host)
}

// An answer is the status of the last answer to a request over HTTP.
type answer struct{ status atomic.Int64 }

type answerKey struct{}

// withAnswer returns a context that remembers the status of its last answer.
func withAnswer(ctx context.Context) context.Context {
	return context.WithValue(ctx, answerKey{}, &answer{})
}

// answerOf returns what a context remembers; nil: nothing.
func answerOf(ctx context.Context) *answer {
	a, _ := ctx.Value(answerKey{}).(*answer)
	return a
}

// problem returns the sentence for a status that refuses a request. Nil: it does not.
func (a *answer) problem() *msg.Problem {
	if a == nil {
		return nil
	}
	switch status := int(a.status.Load()); {
	case status < 300:
		return nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return msg.Usagef(`write what it expects into headers, for example Authorization = "Bearer ${NAME}"; for a sign-in in a browser use the program mcp-remote as command`,
			"the server wants an authorization (status %d)", status)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return msg.Usagef("correct its url, which often ends in /mcp; if it is one of the old SSE transport, use the program mcp-remote as command, with the url as argument",
			"no MCP server answers at this path (status %d)", status)
	case status < 400:
		return msg.Usagef("write the address that it names as its url", "the server sends requests on to another address (status %d)", status)
	case status == http.StatusTooManyRequests:
		return msg.Usagef("wait, or use it less", "the server refuses more requests for now (status %d)", status)
	case status >= 500:
		return msg.Usagef("look at the log of the server", "the server has failed (status %d)", status)
	default:
		return msg.Usagef("check its url and headers", "the server refuses the request (status %d)", status)
	}
}
