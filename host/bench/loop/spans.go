package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/internal/otlp"
)

// traced makes spans as weir does, and sends them to a collector; empty: none are
// made. ended sends what is left.
func traced(collector string) (_ telemetry.Tracing, ended func(), err error) {
	if collector == "" {
		return telemetry.Tracing{}, func() {}, nil
	}
	exporter, err := otlp.New(otlp.Config{URL: collector + "/v1/traces"})
	if err != nil {
		return telemetry.Tracing{}, nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter))
	return telemetry.Tracing{Tracer: provider.Tracer("benchloop")}, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(ctx) // what is lost is missing in the collector's count
	}, nil
}

// A collector takes spans and counts them.
type collector struct {
	*httptest.Server
	spans atomic.Int64
}

func newCollector() *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.spans.Add(int64(bytes.Count(body, []byte(`"spanId"`))))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}") // who has gone needs no answer
	}))
	return c
}
