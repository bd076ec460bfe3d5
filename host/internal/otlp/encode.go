package otlp

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// The JSON form of the protocol's messages, as far as spans need them. Ids are
// hexadecimal there, numbers of 64 bits are strings.
type (
	request struct {
		Resources []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []keyValue `json:"attributes"`
		} `json:"resource"`
		Scopes    []scopeSpans `json:"scopeSpans"`
		SchemaURL string       `json:"schemaUrl,omitempty"`
	}
	scopeSpans struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans     []span `json:"spans"`
		SchemaURL string `json:"schemaUrl,omitempty"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Dropped    int        `json:"droppedAttributesCount,omitempty"`
		Events     []event    `json:"events,omitempty"`
		Links      []link     `json:"links,omitempty"`
		Status     status     `json:"status"`
	}
	event struct {
		Time       string     `json:"timeUnixNano"`
		Name       string     `json:"name"`
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	link struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// The bits of Flags beside the trace's own: whether the parent is of another
// process, and that this is known.
const (
	parentKnown  = 1 << 8
	parentRemote = 1 << 9
)

// encode writes spans as one request. All are of one provider, and so of one
// resource.
func encode(spans []trace.ReadOnlySpan) ([]byte, error) {
	var out resourceSpans
	if r := spans[0].Resource(); r != nil {
		out.Resource.Attributes, out.SchemaURL = keyValues(r.Attributes()), r.SchemaURL()
	}
	at := map[instrumentation.Scope]int{}
	for _, s := range spans {
		scope := s.InstrumentationScope()
		i, ok := at[scope]
		if !ok {
			i = len(out.Scopes)
			at[scope] = i
			one := scopeSpans{SchemaURL: scope.SchemaURL}
			one.Scope.Name, one.Scope.Version = scope.Name, scope.Version
			out.Scopes = append(out.Scopes, one)
		}
		out.Scopes[i].Spans = append(out.Scopes[i].Spans, encodeSpan(s))
	}
	return json.Marshal(request{[]resourceSpans{out}})
}

func encodeSpan(s trace.ReadOnlySpan) span {
	c, parent := s.SpanContext(), s.Parent()
	out := span{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), TraceState: c.TraceState().String(), Flags: uint32(c.TraceFlags()) | parentKnown,
		Name: s.Name(), Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: keyValues(s.Attributes()), Dropped: s.DroppedAttributes(),
	}
	if parent.HasSpanID() {
		out.ParentID = parent.SpanID().String()
	}
	if parent.IsRemote() {
		out.Flags |= parentRemote
	}
	if out.Kind == int(api.SpanKindUnspecified) {
		out.Kind = int(api.SpanKindInternal)
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, event{nanos(e.Time), e.Name, keyValues(e.Attributes)})
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, link{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), l.SpanContext.TraceState().String(), keyValues(l.Attributes)})
	}
	switch st := s.Status(); st.Code { // whose numbers are others than the protocol's
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = status{2, st.Description}
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func keyValues(attrs []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(attrs))
	for i, a := range attrs {
		out[i] = keyValue{string(a.Key), value(a.Value)}
	}
	return out
}

// value writes a value with its type. JSON has neither infinities nor bytes;
// they are written as texts, as the protocol does.
func value(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": float(v.AsFloat64())}
	case attribute.BYTESLICE:
		return map[string]any{"bytesValue": base64.StdEncoding.EncodeToString(v.AsByteSlice())}
	case attribute.BOOLSLICE:
		return list(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return list(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return list(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return list(v.AsStringSlice(), attribute.StringValue)
	case attribute.STRING:
		return map[string]any{"stringValue": v.AsString()}
	}
	return map[string]any{"stringValue": v.String()}
}

func float(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}

func list[T any](all []T, of func(T) attribute.Value) map[string]any {
	values := make([]map[string]any, len(all))
	for i, x := range all {
		values[i] = value(of(x))
	}
	return map[string]any{"arrayValue": map[string]any{"values": values}}
}
