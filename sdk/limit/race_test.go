//go:build race

package limit

// raced says that the race detector is on. Then a sync.Pool drops a quarter of
// what it is given, so that regexp allocates what it otherwise uses again.
const raced = true
