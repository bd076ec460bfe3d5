// Package daemon serves the two halves by HTTP: a host, whose tools run, and the agent,
// whose turns use them. Each subject has a file, or a package below this one, with its
// routes and their handlers; the JSON of bodies and answers is there or in package api.
// A Daemon makes the parts, connects them, and has all routes. The command line uses the
// same routes, over a connection in memory when no daemon runs.
//
// # Files
//
//   - daemon: the daemon
//   - config: what it is made from
//   - guard: errors and panics of a route
//   - problem: errors as JSON
//   - kinds: what changes
//   - chat, openai, mcp: questions and calls
//   - mcpsessions, mcprelay: MCP sessions over HTTP, which outlive a restart, and those of several daemons
//   - conversations, profiles, users, tools, traces, results, approvals, export, page, reload, system: the routes of these subjects
package daemon
