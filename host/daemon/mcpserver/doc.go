// Package mcpserver offers a host's tools, and what their results left in the
// archive, by the Model Context Protocol: over HTTP and over a stream of lines.
//
// The protocol is the official SDK's business. In front of it stands a short
// way for the one message that comes often, a plain tools/call; RATIONALE.md
// says why. Whatever that way does not recognise for certain goes to the SDK.
package mcpserver
