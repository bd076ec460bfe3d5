//go:build race

package limit

// raced reports whether the race detector is on. A sync.Pool then drops a quarter
// of its items, and regexp allocates new ones.
const raced = true
