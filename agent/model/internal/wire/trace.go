package wire

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"
)

// Traced returns a client whose requests carry the trace of their context, where
// there is one, as W3C's traceparent. c is not changed; nil: the default client.
func Traced(c *http.Client) *http.Client {
	out := http.Client{}
	if c != nil {
		out = *c
	}
	if out.Transport == nil {
		out.Transport = http.DefaultTransport
	}
	out.Transport = traced{out.Transport}
	return &out
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
