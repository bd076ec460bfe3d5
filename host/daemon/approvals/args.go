package approvals

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/limit"
)

// FormatArgs formats arguments for a person: indented, with visible control characters,
// and at most 8,000 characters long.
func FormatArgs(args json.RawMessage) string {
	s, _ := shorten(indent(args), shownArgs)
	return s
}

// indent indents JSON and makes its control characters visible. It loses nothing; text
// that is not JSON stays unindented.
func indent(args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return limit.Visible(string(args))
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return limit.Visible(string(args))
	}
	return limit.Visible(strings.TrimSuffix(out.String(), "\n"))
}

// callsOf formats the calls of a script for a person. It loses nothing.
func callsOf(calls []approval.ScriptCall) (out []api.ApprovalCall) {
	for _, c := range calls {
		one := api.ApprovalCall{Number: c.Number, Tool: limit.Visible(c.Tool), Args: indent(c.Args)}
		for arg, from := range c.From {
			if one.From == nil {
				one.From = map[string]string{}
			}
			one.From[limit.Visible(arg)] = limit.Visible(from)
		}
		out = append(out, one)
	}
	return out
}

// shortened returns a request for a stream or a list: of its arguments, of those of all its
// calls, and of its script about shownArgs characters each.
func shortened(a api.Approval) api.Approval {
	if a.Args, a.LeftOut = shorten(a.Args, shownArgs); a.LeftOut == 0 {
		return a // what Args has is not longer elsewhere
	}
	a.Script, _ = shorten(a.Script, shownArgs)
	a.Calls = slices.Clone(a.Calls)
	for i := range a.Calls {
		c := &a.Calls[i]
		c.Args, c.LeftOut = shorten(c.Args, max(leastArgs, shownArgs/len(a.Calls)))
	}
	return a
}

// shownArgs bounds the characters of shortened arguments, and leastArgs is how many of those
// of one call of many are shown.
const shownArgs, leastArgs = 8000, 200

// shorten leaves out the middle of a text that is longer than most characters, and returns
// how many it left out. Three quarters of what it keeps are the beginning, the rest is the
// end: a middle hides less from a person.
func shorten(s string, most int) (string, int) {
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s, 0
	}
	r := []rune(s)
	head, out := most*3/4, n-most
	return string(r[:head]) + "\n[…]\n" + string(r[n-(most-head):]), out
}
