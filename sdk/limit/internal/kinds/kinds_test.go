package kinds

import (
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
