// Package turns has the parts of one turn of a conversation: the Question that begins
// it, the mark by which its conversation is found again, and the Observers that report
// what the agent does.
//
// The agent sends each event to one place, Observers.Observe. Each Observer has one
// purpose: Stream sends events to the client, Log writes the log, Metrics counts, Trace
// records the turn for later, Spans feeds OpenTelemetry, and Calls fills the call log.
package turns
