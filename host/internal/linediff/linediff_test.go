package linediff

import (
	"fmt"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, row := range [][3]string{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb", "a\nb\n", ""},
		{"", "", ""},
		{"a\nb\nc\nd\n", "a\nB\nc\nd\ne\n", "@@ -2 +2 @@\n-b\n+B\n@@ -5 +5 @@\n+e\n"},
		{"", "x\n", "@@ -0,0 +1 @@\n+x\n"},
		{"x", "", "@@ -1 +0,0 @@\n-x\n"},
		{"--- a\n", "+++ b\n", "@@ -1 +1 @@\n---- a\n++++ b\n"},
	} {
		if got := Of(row[0], row[1]); got != row[2] {
			t.Errorf("%q and %q: %q", row[0], row[1], got)
		}
	}
}

// Texts of a stranger that differ everywhere are compared in bounded steps.
func TestManyDifferences(t *testing.T) {
	var a, b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&a, "a%d\nsame\n", i)
		fmt.Fprintf(&b, "same\nb%d\n", i)
	}
	if got := Of(a.String(), b.String()); !strings.Contains(got, "-a99999\n") || !strings.Contains(got, "+b99999\n") {
		t.Errorf("%d bytes", len(got))
	}
}
