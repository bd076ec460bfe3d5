package wire

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"
)

// maxRedirects is how many redirects one request follows.
const maxRedirects = 5

// Traced returns a client whose requests carry the trace of their context, where
// there is one, as W3C's traceparent, and which follows a redirect only where keys
// may go. c is not changed; nil: the default client. A CheckRedirect of its own stays.
func Traced(c *http.Client) *http.Client {
	out := http.Client{}
	if c != nil {
		out = *c
	}
	if out.Transport == nil {
		out.Transport = http.DefaultTransport
	}
	out.Transport = traced{out.Transport}
	if out.CheckRedirect == nil {
		out.CheckRedirect = stay
	}
	return &out
}

// stay follows a redirect to the same server, or to the same name by https. For
// another one net/http would take along every header but Authorization: Anthropic's
// key, those that the operator configured, and the body with the conversation.
func stay(next *http.Request, via []*http.Request) error {
	from, to := via[0].URL, next.URL
	same := from.Scheme == to.Scheme && from.Host == to.Host
	upgraded := from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname()
	if !same && !upgraded || len(via) > maxRedirects {
		return http.ErrUseLastResponse // which is a Refusal
	}
	return nil
}

type traced struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(r.Context(), trace)
	if len(trace) > 0 {
		r = r.Clone(r.Context())
		for name, v := range trace {
			r.Header.Set(name, v)
		}
	}
	return t.base.RoundTrip(r)
}
