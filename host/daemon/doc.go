// Package daemon serves the two halves by HTTP: a host, whose tools run, and the agent,
// whose turns use them. Each subject has a file, or a package below this one, with its
// routes and their handlers; the JSON of bodies and answers is there or in package api.
// A Daemon makes the parts, connects them, and has all routes. The command line uses the
// same routes, over a connection in memory when no daemon runs.
package daemon
