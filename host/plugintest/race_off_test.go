//go:build !race

package plugintest_test

// raced says that the race detector watches.
const raced = false
