//go:build race

package hostile

// raced says that the race detector watches, which keeps several times as much
// memory as the code it watches.
const raced = true
