package toolset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/sdk/tool"
)

// maxNearest is how many names a correction offers.
const maxNearest = 3

// SampleArguments shows the required arguments of a tool, with … for values.
func SampleArguments(s tool.Spec) string {
	info := NewTool(s.Name, string(s.Params))
	if len(info.Params.Props) == 0 {
		return "{}"
	}
	var parts []string
	for _, p := range info.Params.Props {
		if slices.Contains(info.Required, p.name) {
			parts = append(parts, fmt.Sprintf("%q:%s", p.name, sampleValue(*p.Schema)))
		}
	}
	if len(parts) == 0 || len(parts) > 8 {
		return "{…}"
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func sampleValue(s Schema) string {
	switch {
	case s.untyped():
		return "…"
	case s.is("string"):
		return `"…"`
	case s.is("array"):
		return "[…]"
	case s.is("object"):
		return "{…}"
	}
	return "…"
}

// Nearest returns the declared names that are most like name, best first: those
// that share its words, or that it misspells.
func Nearest(name string, tools []tool.Spec) []string {
	type scored struct {
		name string
		cost int
	}
	want := lex.Fold(lex.Clip(name, lex.MaxName))
	var found []scored
	for _, t := range tools {
		have := lex.Fold(lex.Clip(t.Name, lex.MaxName))
		cost := distance(want, have)
		shared := 0
		for _, w := range strings.Split(want, "_") {
			if len(w) > 2 && slices.Contains(strings.Split(have, "_"), w) {
				shared++
			}
		}
		if shared == 0 && cost > max(2, len(want)/3) {
			continue
		}
		found = append(found, scored{t.Name, cost - 8*shared})
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.cost - b.cost })
	var out []string
	for _, f := range found[:min(len(found), maxNearest)] {
		out = append(out, f.name)
	}
	return out
}

// distance is how many bytes must be changed, added or removed to turn a into b.
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		diag := prev[0]
		prev[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = prev[j+1]
			prev[j+1] = min(cost, prev[j]+1, diag+1)
		}
	}
	return prev[len(b)]
}
