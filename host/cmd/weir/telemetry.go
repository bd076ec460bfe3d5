package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/otlp"
)

// TelemetrySettings say where spans go.
type TelemetrySettings struct {
	Endpoint string            `toml:"endpoint" json:"endpoint,omitempty"`
	Headers  map[string]string `toml:"headers" json:"headers,omitempty"`
	Service  string            `toml:"service_name" json:"service_name,omitempty"`
	Ratio    float64           `toml:"sample_ratio" json:"sample_ratio,omitempty"`
	Content  bool              `toml:"content" json:"content,omitempty"`
	Timeout  span              `toml:"timeout" json:"timeout,omitempty"`
	Disabled bool              `toml:"disabled" json:"disabled,omitempty"`
}

const (
	defaultService = "weir"
	tracesPath     = "/v1/traces"
)

// fromEnv adds what the standard variables say where the file says nothing.
// OTEL_SDK_DISABLED goes before the file. The SDK itself reads OTEL_BSP_* and
// OTEL_SPAN_*.
func (t *TelemetrySettings) fromEnv(env lookup) error {
	get := func(names ...string) string {
		for _, name := range names {
			if v, _ := env(name); strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || t.Endpoint == "" && get("OTEL_TRACES_EXPORTER") == "none" {
		t.Disabled = true
	}
	if t.Endpoint == "" {
		t.Endpoint = get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
		if base := get("OTEL_EXPORTER_OTLP_ENDPOINT"); t.Endpoint == "" && base != "" {
			t.Endpoint = strings.TrimRight(base, "/") + tracesPath
		}
	}
	if t.Endpoint == "" || t.Disabled {
		return nil
	}
	if p := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p == "grpc" {
		return usagef("set OTEL_EXPORTER_OTLP_PROTOCOL=http/json and give the collector's address for HTTP, usually with port 4318", "weir sends spans over HTTP, not gRPC")
	}
	if t.Headers == nil {
		h, err := pairs(get("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"))
		if err != nil {
			return usagef("write name=value,name=value with values encoded as in URLs", "OTEL_EXPORTER_OTLP_HEADERS cannot be read")
		}
		t.Headers = h
	}
	def(&t.Service, get("OTEL_SERVICE_NAME"))
	if ms, err := strconv.Atoi(get("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")); err == nil && ms > 0 {
		def(&t.Timeout, span(time.Duration(ms)*time.Millisecond))
	}
	if v := strings.ToLower(get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")); v == "true" || v == "span_only" || v == "span_and_event" {
		t.Content = true
	}
	if t.Ratio == 0 && strings.HasSuffix(get("OTEL_TRACES_SAMPLER"), "traceidratio") {
		t.Ratio, _ = strconv.ParseFloat(get("OTEL_TRACES_SAMPLER_ARG"), 64) // what is no number is left to the default, as the standard wants it
	}
	return nil
}

// pairs reads name=value,name=value.
func pairs(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("not a list of pairs")
		}
		out[name] = value
	}
	return out, nil
}

// checkTelemetry reports what cannot be meant.
func checkTelemetry(t TelemetrySettings, bad func(msg, hint string, key ...string)) {
	if e := t.Endpoint; e != "" && !strings.Contains(e, "${") {
		if u, err := url.Parse(e); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			bad("endpoint is not an http or https address", `write the collector's address for OTLP over HTTP, for example "http://127.0.0.1:4318"`, "telemetry", "endpoint")
		}
	}
	if r := t.Ratio; !(r >= 0 && r <= 1) || math.IsNaN(r) {
		bad(fmt.Sprintf("sample_ratio is %g", r), "give a share from 0 to 1; 0 means all", "telemetry", "sample_ratio")
	}
}

// tracing is where spans go. The zero value sends none.
type tracing struct {
	settings TelemetrySettings
	provider *sdk.TracerProvider // nil: none
	live     *liveSpans
}

// openTracing makes what t describes. It talks to nobody.
func openTracing(t TelemetrySettings, env lookup, log hclog.Logger) (*tracing, error) {
	out := &tracing{settings: t}
	if t.Endpoint == "" || t.Disabled {
		return out, nil
	}
	exporter, err := otlp.New(otlp.Config{URL: traceURL(t.Endpoint), Headers: t.Headers, Timeout: time.Duration(t.Timeout), Failed: func(err error) {
		log.Warn("spans are lost", "error", err)
	}})
	if err != nil {
		return nil, usagef("set endpoint in [telemetry], or OTEL_EXPORTER_OTLP_ENDPOINT", "%s", err)
	}
	attrs, _ := env("OTEL_RESOURCE_ATTRIBUTES")
	out.live = &liveSpans{idle: make(chan struct{})}
	options := []sdk.TracerProviderOption{
		sdk.WithBatcher(exporter), sdk.WithSpanProcessor(out.live), sdk.WithResource(resourceOf(t, attrs)),
	}
	if t.Ratio > 0 {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(t.Ratio))))
	}
	out.provider = sdk.NewTracerProvider(options...)
	return out, nil
}

// traceURL adds the path of the protocol to an address that has none of its own.
func traceURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.HasSuffix(u.Path, tracesPath) {
		return endpoint
	}
	u.Path = strings.TrimRight(u.Path, "/") + tracesPath
	return u.String()
}

// resourceOf says whose spans they are. The service's name goes before the
// attributes that the environment gives.
func resourceOf(t TelemetrySettings, env string) *resource.Resource {
	all := map[string]string{"service.name": defaultService, "service.version": version()}
	if given, err := pairs(env); err == nil {
		maps.Copy(all, given)
	}
	if t.Service != "" {
		all["service.name"] = t.Service
	}
	var attrs []attribute.KeyValue
	for _, name := range slices.Sorted(maps.Keys(all)) {
		attrs = append(attrs, attribute.String(name, all[name]))
	}
	return resource.NewSchemaless(attrs...)
}

// forDaemon is what the daemon makes spans with.
func (t *tracing) forDaemon() daemon.Tracing {
	if t == nil || t.provider == nil {
		return daemon.Tracing{}
	}
	return daemon.Tracing{Tracer: t.provider.Tracer("github.com/weirhost/weir"), Content: t.settings.Content}
}

// flushTime is how long an end waits for spans to be sent.
const flushTime = 5 * time.Second

// close sends what is left. It waits for no span that is open.
func (t *tracing) close() {
	if t == nil || t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has told what was lost
}

// retire closes when the last open span has ended: what runs is told whole to
// where it began. The channel is closed behind that.
func (t *tracing) retire() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if t == nil || t.provider == nil {
			return
		}
		<-t.live.retired()
		t.close()
	}()
	return closed
}

// liveSpans counts the spans that are open.
type liveSpans struct {
	mu   sync.Mutex
	open int
	last bool // no others are to come
	idle chan struct{}
}

var _ sdk.SpanProcessor = (*liveSpans)(nil)

// OnStart implements sdk.SpanProcessor.
func (l *liveSpans) OnStart(context.Context, sdk.ReadWriteSpan) { l.add(1) }

// OnEnd implements sdk.SpanProcessor.
func (l *liveSpans) OnEnd(sdk.ReadOnlySpan) { l.add(-1) }

// Shutdown implements sdk.SpanProcessor.
func (l *liveSpans) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor.
func (l *liveSpans) ForceFlush(context.Context) error { return nil }

func (l *liveSpans) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
	l.settle()
}

// retired is closed when no span is open any more.
func (l *liveSpans) retired() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = true
	l.settle()
	return l.idle
}

func (l *liveSpans) settle() {
	if l.last && l.open <= 0 {
		select {
		case <-l.idle:
		default:
			close(l.idle)
		}
	}
}
