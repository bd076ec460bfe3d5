package registry

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// branching is a schema that refers to itself n times for each element of a list,
// with no end for a value that only holds lists.
func branching(n int) string {
	refs := strings.TrimSuffix(strings.Repeat(`{ "$ref" = "#/$defs/a" }, `, n), ", ")
	return `[tool.params]
type = "object"
properties.x = { "$ref" = "#/$defs/a" }
[tool.params."$defs".a]
type = "array"
items = { anyOf = [` + refs + `, { type = "string" }] }
`
}

// nested is n lists in one another around a number.
func nested(n int) string { return strings.Repeat("[", n) + "5" + strings.Repeat("]", n) }

// TestExamplesAgainstARecursiveSchema holds the check of examples to little memory: each
// further level of this example multiplies the evaluations by the number of branches.
func TestExamplesAgainstARecursiveSchema(t *testing.T) {
	manifest := string(least("a", "a")) + branching(3) + "[[tool.examples]]\nask = \"x\"\nargs = { x = " + nested(10) + " }\n"
	mib, problems := allocated(manifest)
	if mib > 32 {
		t.Errorf("%d bytes of manifest made the host allocate %d MiB", len(manifest), mib)
	}
	if said := fmt.Sprint(problems); !strings.Contains(said, "needs more than 20000 steps to check") {
		t.Errorf("the reason is not told: %s", said)
	}
}

// allocated parses a manifest and returns how much memory that took over time.
func allocated(manifest string) (mib uint64, problems []Problem) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, problems = ParseManifest("plugin.toml", []byte(manifest))
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20, problems
}
