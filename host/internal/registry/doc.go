// Package registry reads plugin folders. Scan returns an immutable Snapshot: the
// usable plugins with their manifests, and the refused ones with the reasons. The
// package reads files and never runs a guest.
//
// Manifests are forward-compatible: an unknown key is a warning, an invalid value
// an error. Both have file, line and column and a fix. A fault of one plugin never
// affects another.
//
// Check and Pack serve authors; ReadPlugin reads one approved copy; RemoteTool
// applies the rules for untrusted descriptions to the tools of MCP servers.
//
// # Files
//
//   - scan: reads folders
//   - manifest: the type
//   - parse, parse_asks, parse_tool, table, ordered: read plugin.toml
//   - problem, lookalike: what is wrong
//   - files, influx: files, also while they are written
//   - facts: what is known of a module
//   - judge: checks in a child
//   - inline, pack: a manifest inside a module
//   - script: tools in JavaScript
//   - thirdparty, remote: tools of others
package registry
