// Package mcpserver offers a host's tools, and what their results left in the
// archive, by the Model Context Protocol: over HTTP and over a stream of lines.
//
// The official SDK implements the protocol. Before it there is a fast path for the
// one frequent message, a plain tools/call (wire.go, stream.go, lines.go);
// RATIONALE.md has the reason. Messages that the fast path does not recognise for
// certain go to the SDK.
package mcpserver
