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
	var silent *silence
	if errors.As(context.Cause(ctx), &silent) {
		return p.stalled(at, silent)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if at == Reading {
		e := p.Error(agent.ModelCut, p.Say("the connection broke off in the middle of the answer", "连接在回答中途断开"),
			p.Say("ask again; if it happens often, look at the server or at a proxy in between", "请重试；若经常发生，请检查服务端或中间的代理"))
		e.Err = io.ErrUnexpectedEOF
		return e
	}
	return p.unreachable(err)
}

func (p Peer) stalled(at Stage, s *silence) *agent.ModelError {
	code, hint := agent.ModelCut, p.Say("ask again, or raise timeout in [models.%s]", "请重试，或调大 [models.%s] 的 timeout", p.Name)
	if at == Opening {
		code, hint = agent.ModelUnreachable, p.Say("the server may still be loading the model; or raise timeout in [models.%s]",
			"服务端可能仍在加载模型；也可调大 [models.%s] 的 timeout", p.Name)
	}
	e := p.Error(code, p.Say("the server said nothing for %s", "服务端已 %s 没有任何响应", s.after), hint)
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
		e := p.Error(agent.ModelUnreachable, p.Say("the host %q is not known", "无法解析主机 %q", dns.Name), p.urlHint())
		if dns.IsNotFound {
			e.Err = errFinal
		}
		return e
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &head):
		return p.final(agent.ModelUnreachable, p.Say("no secure connection to %s: the server speaks http", "无法与 %s 建立安全连接：服务端使用的是 http", p.Where()),
			p.Say("write http:// in base_url of [models.%s]", "请把 [models.%s] 的 base_url 改为 http://", p.Name))
	case errors.As(err, &cert), errors.As(err, &auth):
		return p.untrusted(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		e := p.Error(agent.ModelUnreachable, p.Say("no server listens at %s", "%s 没有服务在监听", p.Where()), p.startHint())
		e.Err = syscall.ECONNREFUSED
		return e
	}
	e := p.Error(agent.ModelUnreachable, p.Say("no answer from %s", "无法连接 %s", p.Where()), p.urlHint())
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
	why := p.Say("this machine does not trust its certificate", "本机不信任其证书")
	hint := p.Say("add the authority that made the certificate to the system's, or name its file in SSL_CERT_FILE; or correct base_url in [models.%s]",
		"请把签发该证书的机构加入系统信任，或用 SSL_CERT_FILE 指定其文件；或修正 [models.%s] 的 base_url", p.Name)
	switch {
	case errors.As(err, &name):
		why = p.Say("its certificate is for another name", "其证书属于另一个域名")
		hint = p.Say("write the name of the certificate in base_url of [models.%s]", "请在 [models.%s] 的 base_url 中使用证书上的域名", p.Name)
	case errors.As(err, &spent) && spent.Reason == x509.Expired:
		why = p.Say("its certificate has expired, or is not valid yet", "其证书已过期或尚未生效")
		hint = p.Say("renew the certificate, or set this machine's clock", "请更新证书，或校准本机时钟")
	}
	return p.final(agent.ModelUnreachable, p.Say("no secure connection to %s: %s", "无法与 %s 建立安全连接：%s", p.Where(), why), hint)
}

func (p Peer) startHint() string {
	if p.Kind == Ollama {
		return p.Say("start the server: ollama serve (base_url is %s)", "请启动服务：ollama serve（base_url 是 %s）", p.Where())
	}
	return p.Say("start the server, or correct base_url in [models.%s]", "请启动该服务，或修正 [models.%s] 的 base_url", p.Name)
}

// Garbage returns the error of an answer that violates the API; what is a few
// words about it, already in the peer's language.
func (p Peer) Garbage(what string) *agent.ModelError {
	return p.Error(agent.ModelGarbage, p.Say("the server answers something else than its API promises: %s", "服务端的回答不符合其 API：%s", what), p.urlHint())
}

// Cut returns the error of a stream that ended without a complete reply.
func (p Peer) Cut() *agent.ModelError {
	e := p.Error(agent.ModelCut, p.Say("the answer ended before the server said that it was complete", "回答在服务端表示完成之前就结束了"),
		p.Say("ask again; if it happens often, look at the server or at a proxy in between", "请重试；若经常发生，请检查服务端或中间的代理"))
	e.Err = io.ErrUnexpectedEOF
	return e
}

// Filtered returns the error of a reply that the provider's content filter ended.
func (p Peer) Filtered() *agent.ModelError {
	return p.Error(agent.ModelBadRequest, p.Say("the provider's content filter ended the reply", "回答被服务商的内容过滤器终止"),
		p.Say("word the question differently, or choose another model", "请换一种问法，或改用其他模型"))
}

// A silence is the cause of a context that a Watch ended.
type silence struct{ after fmt.Stringer }

func (s *silence) Error() string { return "silent for " + s.after.String() }
