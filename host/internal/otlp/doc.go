// Package otlp sends spans to a collector, by OpenTelemetry's protocol over
// HTTP, written as JSON. It stands behind the SDK's own interface in the place
// of the SDK's exporter, which brings gRPC along: ten megabytes, and a
// millisecond for every process that is started from the binary.
package otlp
