package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Stage is how far a request had come when it failed.
type Stage int

// A failure while Opening means that no answer began; while Reading, that one
// broke off.
const (
	Opening Stage = iota
	Reading
)

// Transport returns the error of a failed connection. ctx is the context of the
// request, made by NewWatch or not; where it ended automatically, its error comes
// back bare.
func (p Peer) Transport(ctx context.Context, at Stage, err error) error {
	if silent, ok := errors.AsType[*silence](context.Cause(ctx)); ok {
		return p.stalled(at, silent)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if at == Reading {
		e := p.Error(agent.ModelCut, tool.Textf("the connection broke off in the middle of the answer"),
			tool.Textf("ask again; if it happens often, look at the server or at a proxy in between"))
		e.Err = io.ErrUnexpectedEOF
		return e
	}
	return p.unreachable(err)
}

func (p Peer) stalled(at Stage, s *silence) *agent.ModelError {
	code, hint := agent.ModelCut, tool.Textf("ask again, or raise timeout in [models.%s]", p.Name)
	if at == Opening {
		code = agent.ModelUnreachable
	}
	switch {
	case s.look:
		hint = tool.Textf("the server may still be loading the model; a question waits longer, see first_timeout in [models.%s]; base_url is %s", p.Name, p.Where())
	case !s.begun:
		hint = tool.Textf("the server may still be loading the model; if it needs longer, raise first_timeout in [models.%s]", p.Name)
	}
	e := p.Error(code, tool.Textf("the server said nothing for %s", s.after), hint)
	e.Err = errors.Join(s, errFinal)
	return e
}

func (p Peer) unreachable(err error) *agent.ModelError {
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		auth x509.UnknownAuthorityError
		head tls.RecordHeaderError
		no   syscall.Errno
	)
	switch {
	case errors.As(err, &dns):
		e := p.Error(agent.ModelUnreachable, tool.Textf("the host %q is not known", dns.Name), p.urlHint())
		if dns.IsNotFound {
			e.Err, e.Final = errFinal, true
		}
		return e
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &head):
		return p.final(agent.ModelUnreachable, tool.Textf("no secure connection to %s: the server speaks http", p.Where()),
			tool.Textf("write http:// in base_url of [models.%s]", p.Name))
	case errors.As(err, &cert), errors.As(err, &auth):
		return p.untrusted(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		e := p.Error(agent.ModelUnreachable, tool.Textf("no server listens at %s", p.Where()), p.startHint())
		e.Err = syscall.ECONNREFUSED
		return e
	}
	e := p.Error(agent.ModelUnreachable, tool.Textf("no answer from %s", p.Where()), p.urlHint())
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		e = p.Error(agent.ModelUnreachable, tool.Textf("%s closed the connection without an answer", p.Where()),
			tool.Textf("ask again; if it happens often, look at the server or at a proxy in between"))
	}
	if errors.As(err, &no) {
		e.Err = no // a number of the system; the error around it may hold the URL
	}
	return e
}

// untrusted returns the fault of a server's certificate.
func (p Peer) untrusted(err error) *agent.ModelError {
	var (
		name  x509.HostnameError
		spent x509.CertificateInvalidError
	)
	why := tool.Textf("this machine does not trust its certificate")
	hint := tool.Textf("add the authority that made the certificate to the system's, or name its file in SSL_CERT_FILE; or correct base_url in [models.%s]", p.Name)
	switch {
	case errors.As(err, &name):
		why = tool.Textf("its certificate is for another name")
		hint = tool.Textf("write the name of the certificate in base_url of [models.%s]", p.Name)
	case errors.As(err, &spent) && spent.Reason == x509.Expired:
		why = tool.Textf("its certificate has expired, or is not valid yet")
		hint = tool.Textf("renew the certificate, or set this machine's clock")
	}
	return p.final(agent.ModelUnreachable, tool.Textf("no secure connection to %s: %s", p.Where(), why), hint)
}

func (p Peer) startHint() tool.Text {
	if p.Kind == Ollama {
		return tool.Textf("start the server: ollama serve (base_url is %s)", p.Where())
	}
	return tool.Textf("start the server, or correct base_url in [models.%s]", p.Name)
}

// Garbage returns the error of an answer that violates the API. what describes the
// answer in a few words.
func (p Peer) Garbage(what tool.Text) *agent.ModelError {
	return p.Error(agent.ModelGarbage, tool.Textf("the server answers something else than its API promises: %s", what), p.urlHint())
}

// Cut returns the error of a stream that ended without a complete reply.
func (p Peer) Cut() *agent.ModelError {
	e := p.Error(agent.ModelCut, tool.Textf("the answer ended before the server said that it was complete"),
		tool.Textf("ask again; if it happens often, look at the server or at a proxy in between"))
	e.Err = io.ErrUnexpectedEOF
	return e
}

// Filtered returns the error of a reply that the provider's content filter ended.
func (p Peer) Filtered() *agent.ModelError {
	return p.Error(agent.ModelBadRequest, tool.Textf("the provider's content filter ended the reply"),
		tool.Textf("word the question differently, or choose another model"))
}

// A silence is the cause of a context that a Watch ended.
type silence struct {
	after fmt.Stringer
	begun bool // the reply had begun: the wait between pieces was bounded, not the first
	look  bool // the server was asked about itself, and the question may wait longer
}

func (s *silence) Error() string { return "silent for " + s.after.String() }
