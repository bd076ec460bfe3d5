// Package otlp sends spans to a collector, in OpenTelemetry's protocol over HTTP with
// JSON. Its Exporter implements the SDK's interface in place of the SDK's exporter:
// that one includes gRPC, which costs ten megabytes, and a millisecond at the start of
// every process. Open returns a Tracing, which makes the spans and sends them.
package otlp
