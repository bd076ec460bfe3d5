// Package testsize says how much a test runs of what it could run for long: everyday a part,
// and all of it by make test-all. A test that asks holds the same rules in both, for fewer
// rounds, rows or random cases.
package testsize

import (
	"os"
	"testing"
)

// Variable is the environment variable that asks for everything: WEIR_TEST=all.
const Variable = "WEIR_TEST"

// All reports whether everything is asked for.
func All() bool { return os.Getenv(Variable) == "all" }

// Only skips a test unless everything is asked for.
func Only(tb testing.TB) {
	tb.Helper()
	if !All() {
		tb.Skip("it is run by make test-all, or with " + Variable + "=all")
	}
}

// Of returns all if everything is asked for, few otherwise.
func Of(few, all int) int {
	if All() {
		return all
	}
	return few
}
