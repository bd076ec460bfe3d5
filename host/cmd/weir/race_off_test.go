//go:build !race

package main

// raced says that this is the race detector's build.
const raced = false
