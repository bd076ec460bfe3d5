//go:build !race

package worker

// raced says that this is the race detector's build.
const raced = false
