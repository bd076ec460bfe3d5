package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/weirhost/weir/agent"
)

// A Refusal is an HTTP answer that is not a success.
type Refusal struct {
	Status int
	Header http.Header
	Body   []byte // at most MaxErrorBody
}

func (*Refusal) Error() string { return "the server refused the request" }

// Intercept is a middleware of a provider's SDK. It removes the headers in which the SDK
// describes this machine, and returns failures as a *Refusal, because an SDK's errors
// contain the request with its key.
func Intercept(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	for k := range req.Header {
		if strings.HasPrefix(k, "X-Stainless-") {
			req.Header.Del(k)
		}
	}
	res, err := next(req)
	if err == nil && res.StatusCode == http.StatusOK && req.Header.Get("Accept") == "application/json" {
		res.Body = http.MaxBytesReader(nil, res.Body, MaxTold) // the SDK reads it whole
	}
	if err != nil || res.StatusCode == http.StatusOK {
		return res, err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxErrorBody)) // what came is enough
	return nil, &Refusal{res.StatusCode, res.Header, body}
}

// Refused returns the *agent.ModelError of a *Refusal, and any other error as it is. tools
// returns those whose descriptions a bad request is about; nil: it has none.
func (p Peer) Refused(err error, tools func(body []byte) []string) error {
	no, ok := errors.AsType[*Refusal](err)
	if !ok {
		return err
	}
	e := p.Status(no.Status, no.Header, no.Body)
	if e.Code == agent.ModelBadRequest && tools != nil {
		e.Tools = tools(no.Body)
	}
	return e
}

// Failed returns the *agent.ModelError of a request without an answer. err is a
// *Refusal, or an error of the connection while Opening.
func (p Peer) Failed(ctx context.Context, err error) error {
	if no, ok := errors.AsType[*Refusal](err); ok {
		return p.Refused(no, nil)
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return p.Garbage(endlessAnswer)
	}
	return p.Transport(ctx, Opening, err)
}
