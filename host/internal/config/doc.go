// Package config reads and edits tools.toml. A Source holds the flags that decide
// which file it is; Paths finds the file and the data folder, and Load reads it
// with the environment and .env into Settings. Each Fault has its position in the
// file. Settings then become the configuration of other packages: Host, Profiles,
// DaemonUsers, Tracing. Nothing here prints or knows a command line.
//
// # Files
//
//   - settings: the keys
//   - defaults: their defaults, what is hidden when shown
//   - load, parse, expand: reads the file
//   - check, lint, fault, warnings: what is wrong with it
//   - edit, edituser, grants: write it
//   - source, paths, running: which file, which folders
//   - host, worker: settings of the host
//   - servers, trust, mcptools: other MCP servers, tools for MCP clients
//   - users, clients, telemetry, values: these sections
package config
