package config

import (
	"strings"
	"testing"
)

func TestTelemetryFromTheEnvironment(t *testing.T) {
	for _, row := range []struct {
		name string
		file TelemetrySettings
		env  map[string]string
		want func(TelemetrySettings) bool
	}{
		{"its own address is whole", TelemetrySettings{}, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a/x", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://b"},
			func(s TelemetrySettings) bool { return s.Endpoint == "http://a/x" }},
		{"the file goes first", TelemetrySettings{Endpoint: "http://f", Service: "s"}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b", "OTEL_SERVICE_NAME": "e"},
			func(s TelemetrySettings) bool { return s.Endpoint == "http://f" && s.Service == "s" }},
		{"headers", TelemetrySettings{Endpoint: "http://f"}, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b%20c, d = e"},
			func(s TelemetrySettings) bool {
				return len(s.Headers) == 2 && s.Headers["a"] == "b c" && s.Headers["d"] == "e"
			}},
		{"times are milliseconds", TelemetrySettings{Endpoint: "http://f"}, map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "2500"},
			func(s TelemetrySettings) bool { return s.Timeout == Duration(2500e6) }},
		{"content", TelemetrySettings{Endpoint: "http://f"}, map[string]string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"},
			func(s TelemetrySettings) bool { return s.Content }},
		{"no content", TelemetrySettings{Endpoint: "http://f"}, map[string]string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"},
			func(s TelemetrySettings) bool { return !s.Content }},
		{"a share", TelemetrySettings{Endpoint: "http://f"}, map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"},
			func(s TelemetrySettings) bool { return s.Ratio == 0.25 }},
	} {
		s := row.file
		if err := s.fromEnv(func(name string) (string, bool) { v, ok := row.env[name]; return v, ok }); err != nil || !row.want(s) {
			t.Errorf("%s: %+v, %v", row.name, s, err)
		}
	}
	for name, v := range map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "geheim"} {
		s := TelemetrySettings{Endpoint: "http://f"}
		if err := s.fromEnv(func(n string) (string, bool) { return v, n == name }); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
