// Package beside names the tools of weir's that a model is offered beside those of a client, and
// says which of them the client has already. What comes in are descriptions of tools; the
// package knows no protocol and runs nothing.
package beside

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// prefix is in front of the name of a tool of weir's that the client has a tool of its own for.
const prefix = "weir_"

// Tools are the tools of a client beside which a model is offered weir's. nil: there are none.
type Tools []tool.Spec

// Has reports whether the client has a tool of that name.
func (t Tools) Has(name string) bool {
	return slices.ContainsFunc(t, func(s tool.Spec) bool { return s.Name == name })
}

// Shown returns the name by which the model knows a tool of weir's.
func (t Tools) Shown(name string) string {
	for t.Has(name) {
		name = prefix + name
	}
	return name
}

// Real returns weir's name of a tool, of the name by which the model knows it.
func (t Tools) Real(name string) string {
	for real := name; ; {
		rest, ok := strings.CutPrefix(real, prefix)
		if !ok {
			return name
		}
		if real = rest; t.Shown(real) == name {
			return real
		}
	}
}

// Offers reports whether one of the client's tools is a tool of weir's, which the client has by
// MCP: it has the name of it behind a prefix, and the same description.
func (t Tools) Offers(own tool.Spec) bool {
	about, aboutZh := firstWords(own.Description), firstWords(own.DescriptionZh)
	return slices.ContainsFunc(t, func(s tool.Spec) bool {
		rest, ok := strings.CutSuffix(s.Name, own.Name)
		if !ok || rest != "" && !strings.HasSuffix(rest, "_") && !strings.HasSuffix(rest, "-") && !strings.HasSuffix(rest, ".") {
			return false
		}
		said := strings.Join(strings.Fields(s.Description), " ")
		return about != "" && strings.Contains(said, about) || aboutZh != "" && strings.Contains(said, aboutZh)
	})
}

// compared is how much of two descriptions is compared, in bytes.
const compared = 60

// firstWords returns the beginning of a description, in one line.
func firstWords(description string) string {
	s := strings.Join(strings.Fields(description), " ")
	return s[:min(len(s), compared)]
}

// Of returns weir's tools as the model sees them.
func (t Tools) Of(own []tool.Spec) []tool.Spec {
	if len(t) == 0 {
		return own
	}
	own = slices.DeleteFunc(own, t.Offers)
	for i := range own {
		own[i].Name = t.Shown(own[i].Name)
	}
	return own
}
