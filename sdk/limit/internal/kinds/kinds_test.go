package kinds

import (
	"strings"
	"testing"

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
