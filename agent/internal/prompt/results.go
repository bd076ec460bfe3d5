package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Results writes the results of one round as one message, in parts: a head that says
// plainly what they are, since models that are not told ignore them; each result between
// Open and Close; a tail that asks to go on. Head and tail are in language l.
type Results struct{ w *Texts }

// ResultsIn returns Results in language l.
func ResultsIn(l tool.Locale) Results { return Results{For(l)} }

// Head begins the message. names are the tools that were called, in order; each is named
// once.
func (r Results) Head(names []string) string {
	var once []string
	for _, n := range names {
		if !slices.Contains(once, n) {
			once = append(once, n)
		}
	}
	return fmt.Sprintf(r.w.ResultsHead, strings.Join(once, r.w.Names)) + "\n\n"
}

// Open begins one result.
func (Results) Open(id, name string) string {
	return fmt.Sprintf("<tool_result id=%q tool=%q>\n", id, name)
}

// Close ends one result, whose last line has no line end.
func (Results) Close() string { return "\n</tool_result>\n\n" }

// Tail ends the message.
func (r Results) Tail() string { return r.w.ResultsTail }

// Fence keeps a text that Neutralise has read from closing the tag of the result that
// holds it.
func Fence(s string) string {
	if !strings.Contains(s, "tool_result") {
		return s
	}
	return strings.NewReplacer("<tool_result", "‹tool_result", "</tool_result", "‹/tool_result").Replace(s)
}

// ResultText writes a text that a tool brought so that a model can read it as nothing but
// data: no call, role, notice, or end of its result.
func ResultText(s string) string { return Fence(limit.Neutralise(s)) }

// ClientResultText is ResultText for a result of a client with a loop of its own, in which
// weir itself may have written placeholders and notices: those stay.
func ClientResultText(s string) string { return Fence(limit.NeutraliseCalls(s)) }
