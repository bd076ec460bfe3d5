//go:build race

package confine

// raced says that this is the race detector's build.
const raced = true
