package otlp

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// A collector takes what is sent as long as answer has nothing against it.
type collector struct {
	*httptest.Server
	got    chan *wire.TracesData
	header chan http.Header
	asked  atomic.Int32
}

func newCollector(t *testing.T, answer func(n int, w http.ResponseWriter) bool) *collector {
	t.Helper()
	c := &collector{got: make(chan *wire.TracesData, 10), header: make(chan http.Header, 10)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if !answer(int(c.asked.Add(1)), w) {
			return
		}
		var m wire.TracesData // which has the fields of the request, and is strict about them
		if err := protojson.Unmarshal(body, &m); err != nil {
			t.Errorf("not the protocol's JSON: %v\n%s", err, body)
		}
		c.got <- &m
		c.header <- r.Header
	}))
	t.Cleanup(c.Close)
	return c
}

func yes(int, http.ResponseWriter) bool { return true }

// record makes the spans that make ends, of one provider.
func record(t *testing.T, e *Exporter, make func(context.Context, trace.Tracer)) {
	t.Helper()
	p := sdk.NewTracerProvider(sdk.WithSyncer(e), sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "test"))))
	make(t.Context(), p.Tracer("scope", trace.WithInstrumentationVersion("1")))
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func one(ctx context.Context, tr trace.Tracer) {
	_, s := tr.Start(ctx, "one")
	s.End()
}

// id is an id as the protocol's JSON writes it; protojson takes it for base64.
func id(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func TestExport(t *testing.T) {
	c := newCollector(t, yes)
	e, err := New(Config{URL: c.URL + "/v1/traces", Headers: map[string]string{"X-Key": "secret"}, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	var child trace.SpanContext
	record(t, e, func(ctx context.Context, tr trace.Tracer) {
		parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled, Remote: true})
		_, s := tr.Start(trace.ContextWithRemoteSpanContext(ctx, parent), "chat m", trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(trace.Link{SpanContext: parent}),
			trace.WithAttributes(attribute.String("s", "中"), attribute.Int("i", math.MaxInt64), attribute.Float64("f", 0.5), attribute.Float64("n", math.NaN()),
				attribute.Bool("b", true), attribute.StringSlice("l", []string{"x", "y"})))
		s.AddEvent("again", trace.WithAttributes(attribute.Int("n", 1)))
		s.SetStatus(codes.Error, "went wrong")
		child = s.SpanContext()
		s.End()
	})
	m := <-c.got
	r := m.GetResourceSpans()[0]
	if a := r.GetResource().GetAttributes(); len(a) != 1 || a[0].GetKey() != "service.name" || a[0].GetValue().GetStringValue() != "test" {
		t.Errorf("resource: %v", a)
	}
	scope := r.GetScopeSpans()[0]
	if scope.GetScope().GetName() != "scope" || scope.GetScope().GetVersion() != "1" {
		t.Errorf("scope: %v", scope.GetScope())
	}
	s := scope.GetSpans()[0]
	if id(s.GetTraceId()) != child.TraceID().String() || id(s.GetSpanId()) != child.SpanID().String() || id(s.GetParentSpanId()) != (trace.SpanID{3}).String() {
		t.Errorf("ids: %v", s)
	}
	if s.GetName() != "chat m" || s.GetKind() != wire.Span_SPAN_KIND_CLIENT || s.GetStatus().GetCode() != wire.Status_STATUS_CODE_ERROR || s.GetStatus().GetMessage() != "went wrong" {
		t.Errorf("%v", s)
	}
	if s.GetFlags() != 0x301 || s.GetStartTimeUnixNano() == 0 || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() || len(s.GetLinks()) != 1 || s.GetEvents()[0].GetName() != "again" {
		t.Errorf("%v", s)
	}
	values := map[string]*common.AnyValue{}
	for _, a := range s.GetAttributes() {
		values[a.GetKey()] = a.GetValue()
	}
	if values["s"].GetStringValue() != "中" || values["i"].GetIntValue() != math.MaxInt64 || values["f"].GetDoubleValue() != 0.5 || !math.IsNaN(values["n"].GetDoubleValue()) ||
		!values["b"].GetBoolValue() || values["l"].GetArrayValue().GetValues()[1].GetStringValue() != "y" {
		t.Errorf("attributes: %v", values)
	}
	if h := <-c.header; h.Get("Content-Type") != "application/json" || h.Get("X-Key") != "secret" {
		t.Errorf("headers: %v", h)
	}
}

// What may pass is tried again; what is refused is not.
func TestRepeats(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer func(n int, w http.ResponseWriter) bool
		asked  int32
		lost   string // empty: it arrives
	}{
		{"busy, then not", func(n int, w http.ResponseWriter) bool {
			if n < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return n == 3
		}, 3, ""},
		{"refused", func(_ int, w http.ResponseWriter) bool { w.WriteHeader(http.StatusUnauthorized); return false }, 1, "status 401"},
		{"sent elsewhere", func(_ int, w http.ResponseWriter) bool {
			w.Header().Set("Location", "/else")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return false
		}, 1, "status 307"},
	} {
		c := newCollector(t, row.answer)
		var lost []error
		e, err := New(Config{URL: c.URL, Wait: time.Millisecond, Failed: func(err error) { lost = append(lost, err) }})
		if err != nil {
			t.Fatal(err)
		}
		record(t, e, one)
		if n := c.asked.Load(); n != row.asked || (row.lost == "") != (len(lost) == 0) || row.lost != "" && !strings.Contains(errors.Join(lost...).Error(), row.lost) {
			t.Errorf("%s: asked %d times, %v", row.name, n, lost)
		}
	}
}

// A collector that does not answer is reported once, until a batch has arrived again.
// No error contains the secrets of the address.
func TestLost(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	c := newCollector(t, func(_ int, w http.ResponseWriter) bool {
		if away.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
		return !away.Load()
	})
	var told []string
	e, err := New(Config{URL: strings.Replace(c.URL, "http://", "http://me:geheim@", 1) + "/v1/traces?key=geheim", Headers: map[string]string{"Authorization": "geheim"},
		Failed: func(err error) { told = append(told, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	record(t, e, one)
	record(t, e, one)
	away.Store(false)
	record(t, e, one)
	away.Store(true)
	record(t, e, one)
	c.Close()
	if len(told) != 2 || strings.Contains(strings.Join(told, "\n"), "geheim") {
		t.Errorf("told: %q", told)
	}
	gone, err := New(Config{URL: strings.Replace(c.URL, "http://", "http://me:geheim@", 1), Timeout: 200 * time.Millisecond, Failed: func(err error) { told = append(told, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	record(t, gone, one)
	if len(told) != 3 || strings.Contains(told[2], "geheim") {
		t.Errorf("of a collector that is gone: %q", told)
	}
}

func TestBadAddress(t *testing.T) {
	for _, address := range []string{"", "localhost:4318", "ftp://x", "http://", "http://geheim:%zz@x"} {
		if _, err := New(Config{URL: address}); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
