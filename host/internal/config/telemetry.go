package config

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/otlp"
	"github.com/weirhost/weir/sdk/tool"
)

// TelemetrySettings are the destination of spans.
type TelemetrySettings struct {
	Endpoint string            `toml:"endpoint" json:"endpoint,omitempty"`
	Headers  map[string]string `toml:"headers" json:"headers,omitempty"`
	Service  string            `toml:"service_name" json:"service_name,omitempty"`
	Ratio    float64           `toml:"sample_ratio" json:"sample_ratio,omitempty"`
	Content  bool              `toml:"content" json:"content,omitempty"`
	Timeout  Duration          `toml:"timeout" json:"timeout,omitempty"`
	Disabled bool              `toml:"disabled" json:"disabled,omitempty"`
}

// fromEnv adds the values of the standard variables where the file has none.
// OTEL_SDK_DISABLED overrides the file. The SDK reads OTEL_BSP_* and OTEL_SPAN_*.
func (t *TelemetrySettings) fromEnv(env Lookup) error {
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
			t.Endpoint = strings.TrimRight(base, "/") + otlp.TracesPath
		}
	}
	if t.Endpoint == "" || t.Disabled {
		return nil
	}
	if p := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p == "grpc" {
		return msg.Usagef("set OTEL_EXPORTER_OTLP_PROTOCOL=http/json and give the collector's address for HTTP, usually with port 4318", "weir sends spans over HTTP, not gRPC")
	}
	if t.Headers == nil {
		h, err := otlp.Pairs(get("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"))
		if err != nil {
			return msg.Usagef("write name=value,name=value with values encoded as in URLs", "OTEL_EXPORTER_OTLP_HEADERS cannot be read")
		}
		t.Headers = h
	}
	def(&t.Service, get("OTEL_SERVICE_NAME"))
	if ms, err := strconv.Atoi(get("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")); err == nil && ms > 0 {
		def(&t.Timeout, Duration(time.Duration(ms)*time.Millisecond))
	}
	if v := strings.ToLower(get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")); v == "true" || v == "span_only" || v == "span_and_event" {
		t.Content = true
	}
	if t.Ratio == 0 && strings.HasSuffix(get("OTEL_TRACES_SAMPLER"), "traceidratio") {
		t.Ratio, _ = strconv.ParseFloat(get("OTEL_TRACES_SAMPLER_ARG"), 64) // other text means the default, as the standard requires
	}
	return nil
}

// checkTelemetry reports invalid values.
func checkTelemetry(t TelemetrySettings, bad report) {
	if e := t.Endpoint; e != "" && !strings.Contains(e, "${") {
		if u, err := url.Parse(e); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			bad(tool.Textf("endpoint is not an http or https address"), tool.Textf(`write the collector's address for OTLP over HTTP, for example "http://127.0.0.1:4318"`), "telemetry", "endpoint")
		}
	}
	if r := t.Ratio; !(r >= 0 && r <= 1) || math.IsNaN(r) {
		bad(tool.Textf("sample_ratio is %g", r), tool.Textf("give a share from 0 to 1; 0 means all"), "telemetry", "sample_ratio")
	}
}

// Tracing returns the destination of spans, with the attributes of the resource from
// the environment. env must not be nil.
func (t TelemetrySettings) Tracing(env Lookup, version string) otlp.Options {
	if t.Disabled {
		return otlp.Options{}
	}
	attrs, _ := env("OTEL_RESOURCE_ATTRIBUTES")
	return otlp.Options{Endpoint: t.Endpoint, Headers: t.Headers, Timeout: time.Duration(t.Timeout), Service: t.Service, Version: version, Attributes: attrs, Ratio: t.Ratio}
}
