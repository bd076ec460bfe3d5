// Package plugincmd carries out `weir plugin` after package main has parsed the
// flags: one file for each command or pair of commands.
//
// New, Build, Dev, Pack and Validate work on the files of an author. Approve,
// ApproveAll and Remove send a person's decision to a Daemon over its API, which may
// run in this process. The methods that begin with Show print: a review with every
// power and limit, a report of tests, measurements. All of them print through a
// term.Printer, which knows the language of the reader and whether JSON is wanted.
//
// # Files
//
//   - commands: what all need
//   - list, limits, show, inspect, find, explain, bench: print
//   - approve, grants: decide
//   - new, build, dev, cases, pack: an author's commands
package plugincmd
