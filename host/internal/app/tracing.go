package app

import (
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/otlp"
)

// tracing is the destination of spans. content says whether they hold the texts of
// questions and answers.
type tracing struct {
	*otlp.Tracing
	content bool
}

func openTracing(t config.TelemetrySettings, env config.Lookup, log hclog.Logger, version string) (*tracing, error) {
	out, err := otlp.Open(t.Tracing(env, version), log)
	if err != nil {
		return nil, msg.Usagef("set endpoint in [telemetry], or OTEL_EXPORTER_OTLP_ENDPOINT", "%s", err)
	}
	return &tracing{out, t.Content}, nil
}

// forDaemon returns the tracer for the daemon; without one, the zero value.
func (t *tracing) forDaemon() telemetry.Tracing {
	if t == nil {
		return telemetry.Tracing{}
	}
	if tracer := t.Tracer(); tracer != nil {
		return telemetry.Tracing{Tracer: tracer, Content: t.content}
	}
	return telemetry.Tracing{}
}

func (t *tracing) close() {
	if t != nil {
		t.Close()
	}
}
