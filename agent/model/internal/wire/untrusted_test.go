package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Each fault of a certificate has its own message, and is not retried.
func TestUntrusted(t *testing.T) {
	for _, row := range []struct {
		err    error
		en, zh string
	}{
		{x509.UnknownAuthorityError{}, "does not trust", "不信任"},
		{x509.HostnameError{Host: "x"}, "for another name", "另一个域名"},
		{x509.CertificateInvalidError{Reason: x509.Expired}, "has expired", "已过期"},
		{x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}, "does not trust", "不信任"},
	} {
		for l, want := range map[tool.Locale]string{tool.En: row.en, tool.Zh: row.zh} {
			p := Peer{Name: "m", BaseURL: "https://server.example/v1", Locale: l}
			err := p.Transport(t.Context(), Opening, &tls.CertificateVerificationError{Err: row.err})
			me, ok := errors.AsType[*agent.ModelError](err)
			if !ok || me.Code != agent.ModelUnreachable || !strings.Contains(me.Msg, want) || !strings.Contains(me.Msg, "https://server.example/v1") || me.Hint == "" || Repeatable(err) {
				t.Errorf("%T in %s: %v", row.err, l, err)
			}
		}
	}
}
