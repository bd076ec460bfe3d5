package otlp

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TracesPath is the protocol's path for traces.
const TracesPath = "/v1/traces"

const defaultService = "weir"

// Options are the destination of spans, and the service that makes them.
type Options struct {
	Endpoint string // the protocol's path is added if it is missing; empty: no spans
	Headers  map[string]string
	Timeout  time.Duration // of one request; 0: the default
	Service  string        // empty: weir
	Version  string        // of the service
	// Attributes are name=value,name=value, as in OTEL_RESOURCE_ATTRIBUTES.
	Attributes string
	Ratio      float64 // the share of traces that are sent, from 0 to 1; 0: all
}

// Tracing makes spans and sends them. The zero value and nil send none.
type Tracing struct {
	provider *sdk.TracerProvider // nil: none
	open     *spanCounter
}

// Open returns the Tracing that o describes. It does not connect to the collector.
func Open(o Options, log hclog.Logger) (*Tracing, error) {
	out := &Tracing{}
	if o.Endpoint == "" {
		return out, nil
	}
	exporter, err := New(Config{URL: traceURL(o.Endpoint), Headers: o.Headers, Timeout: o.Timeout, Failed: func(err error) {
		log.Warn("spans are lost", "error", err)
	}})
	if err != nil {
		return nil, err
	}
	out.open = &spanCounter{idle: make(chan struct{})}
	options := []sdk.TracerProviderOption{
		sdk.WithBatcher(exporter), sdk.WithSpanProcessor(out.open), sdk.WithResource(resourceOf(o)),
	}
	if o.Ratio > 0 {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Ratio))))
	}
	out.provider = sdk.NewTracerProvider(options...)
	return out, nil
}

// traceURL adds the protocol's path to an address without it.
func traceURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.HasSuffix(u.Path, TracesPath) {
		return endpoint
	}
	u.Path = strings.TrimRight(u.Path, "/") + TracesPath
	return u.String()
}

// resourceOf returns the attributes of the service. Its name overrides that of
// Attributes.
func resourceOf(o Options) *resource.Resource {
	all := map[string]string{"service.name": defaultService, "service.version": o.Version}
	if given, err := Pairs(o.Attributes); err == nil {
		maps.Copy(all, given)
	}
	if o.Service != "" {
		all["service.name"] = o.Service
	}
	var attrs []attribute.KeyValue
	for _, name := range slices.Sorted(maps.Keys(all)) {
		attrs = append(attrs, attribute.String(name, all[name]))
	}
	return resource.NewSchemaless(attrs...)
}

// Tracer returns the tracer. Nil: no spans are sent.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil || t.provider == nil {
		return nil
	}
	return t.provider.Tracer("github.com/weirhost/weir")
}

// flushTime bounds how long Close waits until spans are sent.
const flushTime = 5 * time.Second

// Close sends the remaining spans. It does not wait for open ones.
func (t *Tracing) Close() {
	if t == nil || t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has reported lost spans
}

// Retire closes t when its last open span has ended. The spans of a running answer thus
// go where the first of them went. The channel is closed afterwards.
func (t *Tracing) Retire() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if t == nil || t.provider == nil {
			return
		}
		<-t.open.retired()
		t.Close()
	}()
	return closed
}

// Pairs decodes name=value,name=value with values encoded as in URLs.
func Pairs(text string) (map[string]string, error) {
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

// spanCounter counts the spans that are open.
type spanCounter struct {
	mu   sync.Mutex
	open int
	last bool // no span may begin any more
	idle chan struct{}
}

var _ sdk.SpanProcessor = (*spanCounter)(nil)

// OnStart implements sdk.SpanProcessor.
func (l *spanCounter) OnStart(context.Context, sdk.ReadWriteSpan) { l.add(1) }

// OnEnd implements sdk.SpanProcessor.
func (l *spanCounter) OnEnd(sdk.ReadOnlySpan) { l.add(-1) }

// Shutdown implements sdk.SpanProcessor.
func (l *spanCounter) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor.
func (l *spanCounter) ForceFlush(context.Context) error { return nil }

func (l *spanCounter) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
	l.settle()
}

// retired returns a channel that is closed when no span is open any more.
func (l *spanCounter) retired() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = true
	l.settle()
	return l.idle
}

func (l *spanCounter) settle() {
	if l.last && l.open <= 0 {
		select {
		case <-l.idle:
		default:
			close(l.idle)
		}
	}
}
