// Package telemetry counts and traces what the daemon does.
//
// Metrics are Prometheus counters and histograms for /metrics. Tracing makes
// OpenTelemetry spans of turns, requests to models and calls of tools; it does nothing
// without a Tracer. A model, a guest and a client can write any name, so neither part
// uses a name as a label or in a span's name unless it is configured.
//
// # Files
//
//   - metrics, tools, archive_size: metrics
//   - tracing, turn, chat: spans
//   - conventions: their names
package telemetry
