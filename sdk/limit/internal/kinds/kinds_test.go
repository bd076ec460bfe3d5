package kinds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/sdk/limit/internal/find"
)

// Each pattern must have literals, because only lines that have one are looked at.
func TestEachPatternHasLiterals(t *testing.T) {
	names := map[string]bool{}
	for _, p := range All() {
		if names[p.Name] {
			t.Errorf("two patterns have the name %s", p.Name)
		}
		names[p.Name] = true
		p.re()
		if !new(find.Scanner).Add(p.Expr, 0) {
			t.Errorf("%s: %s has an alternative without a literal of five bytes, or at the beginning", p.Name, p.Expr)
		}
	}
	if len(table) > 64 || len(All()) > 64*len(mask{}) {
		t.Errorf("%d kinds, %d patterns: the masks hold fewer", len(table), len(All()))
	}
}

// Of a tool's longest text the host keeps 8 MiB and adds a sentence: it is searched whole.
func TestTheLongestKeptTextIsSearchedWhole(t *testing.T) {
	half := strings.Repeat("all is well here\n", 8<<20/17/2)
	var s Search
	found := s.Lines(half+"error: the gate is stuck\n"+half+strings.Repeat("x", 100), nil)
	if len(found) != 1 || found[0].Start != len(half) {
		t.Errorf("found %+v", found)
	}
}

// Each line has the verdict of its own text also after others, and when it comes again.
func TestLinesThatComeAgain(t *testing.T) {
	rows := [][2]string{
		{"java.io.IOException in x", "stack trace: java"}, {"  Caused by: org.acme.Trouble", "stack trace: java"}, {"Exception in thread main", "stack trace: java"},
		{"acme.IOException here", ""}, {"see java.io.IOException", ""}, {"x Exception in thread main", ""},
		{"Uncaught TypeError: x is not a function", "stack trace: javascript"}, {"Error [ERR_X]: not found", "stack trace: javascript"}, {"  [cause]: none", "stack trace: javascript"},
		{"(node:1) UnhandledPromiseRejectionWarning", "stack trace: javascript"}, {"x Error [ERR_X]: y", ""}, {"TypeError of x", ""},
		{"==12== Invalid read of size 4", "stack trace: valgrind"}, {"x ==12== Invalid read", ""}, {"a.c:3:1: runtime error: overflow", "stack trace: sanitizer"},
		{"at=1 level=error x", "log: level"}, {`severity="alert"`, "log: severity"}, {"lvl=panic", "log: lvl"}, {"sublevel=error", ""}, {"level=errors", ""},
	}
	text, want := "", []string{}
	for range 3 {
		for _, r := range rows {
			text += r[0] + "\n"
			if r[1] != "" {
				want = append(want, r[0]+" by "+r[1])
			}
		}
	}
	var s Search
	for range 2 { // the second time with what the first one left
		got := []string{}
		for _, f := range s.Lines(text, nil) {
			got = append(got, text[f.Start:f.End]+" by "+All()[f.By].Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
