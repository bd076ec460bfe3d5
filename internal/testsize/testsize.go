// Package testsize says how much a test runs of what it could run for long: everyday a part,
// and all of it by make test-all. A test that asks holds the same rules in both, for fewer
// rounds, rows or random cases.
package testsize

import (
	"flag"
	"os"
	"strconv"
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

// Checks sets how many random cases rapid.Check tries until the test ends, unless the
// command line says it.
func Checks(tb testing.TB, few, all int) {
	tb.Helper()
	f := flag.Lookup("rapid.checks")
	if f == nil || f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(Of(few, all))); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}
