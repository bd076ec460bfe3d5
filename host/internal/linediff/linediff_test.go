package linediff

import (
	"fmt"
	"runtime"
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

// Of what a stranger wrote a bounded number of lines is compared, and of the difference a
// bounded number of bytes is shown.
func TestOfStrangers(t *testing.T) {
	for _, row := range []struct {
		before, after string
		most          int
		lines         string
		left          int
	}{
		{"a\nb\n", "a\nc\n", 100, "@@ -2 +2 @@\n-b\n+c\n", 0},
		{"a\nb\n", "a\nc\n", 17, "@@ -2 +2 @@\n-b\n", 1},
		{"a\nb\n", "a\nc\n", 3, "", 3},
		{"", strings.Repeat("\n", maxLines), 10, "", maxLines + 1},
		{"\n", strings.Repeat("\n", maxLines), 10, "", maxLines + 1},
	} {
		if lines, left := OfStrangers(row.before, row.after, row.most); lines != row.lines || left != row.left {
			t.Errorf("%.10q and %.10q, %d: %q, %d", row.before, row.after, row.most, lines, left)
		}
	}
	var a, b strings.Builder // which differ everywhere
	for i := range maxLines / 4 {
		fmt.Fprintf(&a, "a%d\nsame\n", i)
		fmt.Fprintf(&b, "same\nb%d\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines, left := OfStrangers(a.String(), b.String(), 1000)
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; len(lines) > 1000 || left < maxLines/2 || made > 100 {
		t.Errorf("%d bytes, %d lines left out, %d MiB", len(lines), left, made)
	}
}
