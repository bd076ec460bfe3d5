// Package mcpserver offers a host's tools, and what their results left in the
// archive, by the Model Context Protocol: over HTTP and over a stream of lines.
//
// The official SDK implements the protocol. Before it there is a fast path for the
// one frequent message, a plain tools/call (wire.go, stream.go, lines.go);
// RATIONALE.md has the reason. Messages that the fast path does not recognise for
// certain go to the SDK.
//
// # Files
//
//   - server: the bounds
//   - http, lines, wire, stream: the two transports
//   - session: a client's session
//   - user, connected: whose it is
//   - call, structured: a call and its answer
//   - client: what one client program gets
//   - ask: questions to a person through the client, or why not
//   - search: tools that are found
//   - script, task: scripts
//   - resources: archived results
//   - texts: sentences
package mcpserver
