// Package serverjson reads the MCP servers that other programs name in JSON: the snippet of
// a server's README, or the configuration file of an MCP client. It knows the keys of the
// common clients and says what of an entry has no counterpart in weir. It starts nothing,
// reads no files and knows nothing of tools.toml.
//
// # Files
//
//   - read: from a text to entries
//   - entry: one entry
//   - secret: values that should not stay in a file that tools may read
package serverjson
