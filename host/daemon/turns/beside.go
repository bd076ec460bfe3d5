package turns

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// ownPrefix is in front of the name of a tool of weir's that the client has a tool of its own
// for.
const ownPrefix = "weir_"

// beside are the tools of a client beside which a model is offered weir's. nil: there are none.
type beside []tool.Spec

func (b beside) has(name string) bool {
	return slices.ContainsFunc(b, func(s tool.Spec) bool { return s.Name == name })
}

// shown returns the name by which the model knows a tool of weir's.
func (b beside) shown(name string) string {
	for b.has(name) {
		name = ownPrefix + name
	}
	return name
}

// real returns weir's name of a tool, of the name by which the model knows it.
func (b beside) real(name string) string {
	for real := name; ; {
		rest, ok := strings.CutPrefix(real, ownPrefix)
		if !ok {
			return name
		}
		if real = rest; b.shown(real) == name {
			return real
		}
	}
}

// offers reports whether one of the client's tools is a tool of weir's, which the client has by
// MCP: it has the name of it behind a prefix, and the same description.
func (b beside) offers(own tool.Spec) bool {
	about := firstWords(own.Description)
	return about != "" && slices.ContainsFunc(b, func(s tool.Spec) bool {
		rest, ok := strings.CutSuffix(s.Name, own.Name)
		return ok && (rest == "" || strings.HasSuffix(rest, "_") || strings.HasSuffix(rest, "-") || strings.HasSuffix(rest, ".")) && strings.Contains(strings.Join(strings.Fields(s.Description), " "), about)
	})
}

// compared is how much of two descriptions is compared, in bytes.
const compared = 60

// firstWords returns the beginning of a description, in one line.
func firstWords(description string) string {
	s := strings.Join(strings.Fields(description), " ")
	return s[:min(len(s), compared)]
}

// of returns weir's tools as the model sees them.
func (b beside) of(own []tool.Spec) []tool.Spec {
	if len(b) == 0 {
		return own
	}
	own = slices.DeleteFunc(own, b.offers)
	for i := range own {
		own[i].Name = b.shown(own[i].Name)
	}
	return own
}
