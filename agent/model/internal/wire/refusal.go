package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// A Refusal is an HTTP answer that is not a success.
type Refusal struct {
	Status int
	Header http.Header
	Body   []byte // at most MaxErrorBody
}

func (*Refusal) Error() string { return "the server refused the request" }

// Intercept stands between a provider's SDK and the connection: it keeps what
// the SDK would tell the server about this machine, and takes failures out of
// its hands as a *Refusal, since an SDK's errors hold the request with its key.
func Intercept(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	for k := range req.Header {
		if strings.HasPrefix(k, "X-Stainless-") {
			req.Header.Del(k)
		}
	}
	res, err := next(req)
	if err != nil || res.StatusCode == http.StatusOK {
		return res, err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxErrorBody)) // what came is enough
	return nil, &Refusal{res.StatusCode, res.Header, body}
}

// Refused tells err where it is a *Refusal; another error comes back as it is.
func (p Peer) Refused(err error) error {
	var no *Refusal
	if errors.As(err, &no) {
		return p.Status(no.Status, no.Header, no.Body)
	}
	return err
}

// Failed tells why a request has no answer: err is a *Refusal, or the
// connection's, as in Transport while Opening.
func (p Peer) Failed(ctx context.Context, err error) error {
	var no *Refusal
	if errors.As(err, &no) {
		return p.Refused(no)
	}
	return p.Transport(ctx, Opening, err)
}
