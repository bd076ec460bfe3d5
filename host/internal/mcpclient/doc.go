// Package mcpclient keeps a connection to another MCP server and calls its
// tools. A server that is slow, dead or wrong is data: it has a state and a
// reason, its tools are missing, and nothing else notices.
//
// What a server sends is as untrusted as what a guest says: lists are bounded,
// answers have a size, and it can ask for nothing: neither for our model nor for
// our files nor for the person.
package mcpclient
