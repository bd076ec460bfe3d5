// Package daemon joins the two halves: it keeps conversations, runs turns of
// the agent over tools of the host, and serves both by HTTP. The command line
// uses the same routes, over a connection in memory when no daemon runs.
package daemon
