//go:build weir_shared

package app

// shared is true in the program that package cluster builds: it lets several daemons use one
// database, which is not enabled for anyone else yet.
const shared = true
