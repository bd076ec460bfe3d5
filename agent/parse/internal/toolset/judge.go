package toolset

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// Elided reports whether something of the arguments is left out, as in
// f(…, offset=100): that shows a form, or quotes a notice.
func (r Reading) Elided() bool {
	return slices.ContainsFunc(slices.Concat(r.Args.Items, r.Named.Items), func(v value.Node) bool {
		return v.Kind == value.Bare && (v.Value == "…" || v.Value == "...")
	})
}

// Nested reports whether an argument is itself a call, whose result is not
// known: such a call cannot run.
func (r Reading) Nested(t *Set) bool {
	for _, v := range r.Args.Items {
		if v.Kind != value.Bare {
			continue
		}
		if name, _, ok := strings.Cut(v.Value, "("); ok && strings.HasSuffix(v.Value, ")") && lex.IsPlainName(name) && !t.AnyName && t.Find(name) != nil {
			return true
		}
	}
	return false
}
