// Package api defines the JSON that clients and the daemon exchange: the body of a
// question (Ask), the events of its stream (events.go), the outcome of one call
// (ToolCallResult), the record of a turn (Trace), calls that wait for a person
// (Approval), what is stored (conversations.go, archives.go, users.go), and the answer of
// every route that fails (Problem).
//
// The package contains types and their conversion, no server. The daemon's other
// packages and its clients import it, and it imports none of them. A sentence for
// people is a tool.Text; it becomes a string in the reader's language where an
// answer is written.
package api
