package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
)

// Each fault of a certificate has its own message, and is not retried.
func TestUntrusted(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{
		{x509.UnknownAuthorityError{}, "does not trust"},
		{x509.HostnameError{Host: "x"}, "for another name"},
		{x509.CertificateInvalidError{Reason: x509.Expired}, "has expired"},
		{x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}, "does not trust"},
	} {
		p := Peer{Name: "m", BaseURL: "https://server.example/v1"}
		err := p.Transport(t.Context(), Opening, &tls.CertificateVerificationError{Err: row.err})
		me, ok := errors.AsType[*agent.ModelError](err)
		if !ok || me.Code != agent.ModelUnreachable || !strings.Contains(me.Msg, row.want) || !strings.Contains(me.Msg, "https://server.example/v1") || me.Hint == "" || Repeatable(err) {
			t.Errorf("%T: %v", row.err, err)
		}
	}
}
