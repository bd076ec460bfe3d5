package otlp

import (
	"testing"

	"github.com/hashicorp/go-hclog"
)

// A retired Tracing sends the spans that began with it, after they have ended.
func TestRetiredTracing(t *testing.T) {
	c := newCollector(t, yes)
	tr, err := Open(Options{Endpoint: c.URL}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	_, open := tr.Tracer().Start(t.Context(), "open")
	closed := tr.Retire()
	_, child := tr.Tracer().Start(t.Context(), "later")
	child.End()
	open.End()
	<-closed
	spans := 0
	for len(c.got) > 0 {
		for _, rs := range (<-c.got).GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				spans += len(ss.GetSpans())
			}
		}
	}
	if spans != 2 {
		t.Errorf("%d spans were sent, not 2", spans)
	}
}
