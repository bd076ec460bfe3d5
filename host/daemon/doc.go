// Package daemon serves the two halves by HTTP: a host, whose tools run, and the agent,
// whose turns use them. Each subject has a file with its routes, the JSON of its bodies
// and answers, and its handlers. A Daemon makes the parts, connects them, and has all
// routes. The command line uses the same routes, over a connection in memory when no
// daemon runs.
package daemon
