package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/weirhost/weir/sdk/tool"
)

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.AlertError](err)
	return ok
}

// reason names the common causes of a failed connection.
func reason(err error) tool.Text {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return tool.Textf("the connection was refused")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return tool.Textf("the connection was reset")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return tool.Textf("the network is unreachable")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return tool.Textf("the connection was closed early")
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return tool.Textf("its name could not be looked up")
	}
	return tool.Textf("the connection failed")
}

// validHeader reports whether s is a header's name.
func validHeader(s string) bool {
	return s != "" && len(s) <= 256 && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	}) < 0
}
