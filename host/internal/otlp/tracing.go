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

// Options say where spans go and whose they are.
type Options struct {
	Endpoint string // without the protocol's path, which is added; empty: no spans
	Headers  map[string]string
	Timeout  time.Duration // of one request; 0: the default
	Service  string        // empty: weir
	Version  string        // of the service
	// Attributes are name=value,name=value, as in OTEL_RESOURCE_ATTRIBUTES.
	Attributes string
	Ratio      float64 // how much of the traces is sent, from 0 to 1; 0: all
}

// Tracing is where spans go. Its zero value and nil send none.
type Tracing struct {
	provider *sdk.TracerProvider // nil: none
	live     *liveSpans
}

// Open makes what o describes. It talks to nobody.
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
	out.live = &liveSpans{idle: make(chan struct{})}
	options := []sdk.TracerProviderOption{
		sdk.WithBatcher(exporter), sdk.WithSpanProcessor(out.live), sdk.WithResource(resourceOf(o)),
	}
	if o.Ratio > 0 {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Ratio))))
	}
	out.provider = sdk.NewTracerProvider(options...)
	return out, nil
}

// traceURL adds the path of the protocol to an address that has none of its own.
func traceURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.HasSuffix(u.Path, TracesPath) {
		return endpoint
	}
	u.Path = strings.TrimRight(u.Path, "/") + TracesPath
	return u.String()
}

// resourceOf says whose spans they are. The service's name goes before the
// attributes that the environment gives.
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

// Tracer makes spans; nil: none are wanted.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil || t.provider == nil {
		return nil
	}
	return t.provider.Tracer("github.com/weirhost/weir")
}

// flushTime is how long an end waits for spans to be sent.
const flushTime = 5 * time.Second

// Close sends what is left. It waits for no span that is open.
func (t *Tracing) Close() {
	if t == nil || t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has told what was lost
}

// Retire closes when the last open span has ended: what runs is told whole to
// where it began. The channel is closed behind that.
func (t *Tracing) Retire() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if t == nil || t.provider == nil {
			return
		}
		<-t.live.retired()
		t.Close()
	}()
	return closed
}

// Pairs reads name=value,name=value.
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
