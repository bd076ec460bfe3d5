// Package mcpclient maintains a connection to another MCP server and calls its
// tools. A Server connects in the background and reconnects with growing pauses.
// If the server is slow, down or faulty, its Status has the state and the reason,
// and its tools are missing; nothing else is affected.
//
// The messages of a server are as untrusted as those of a guest: lists and answers
// are bounded, and the server cannot use our model, read our files or ask the user.
//
// # Files
//
//   - client, connect: one server
//   - program, output, group, transport: its program, HTTP
//   - explain, restart: why it cannot be used; what ends it for that
//   - tools, call, reports: its tools, their progress
//   - bounds, unasked: what it may send
package mcpclient
