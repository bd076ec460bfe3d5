// Package toolname compares names of tools with what the operator wrote: in rules, in lists of
// allowed and denied tools, and in tables of settings. It knows no tools and no settings.
//
// Tools of other servers have the case and the hyphens of their servers. An entry may write them
// in the old form, too: in lower case, with "_" for "-" and ".". Several tools can have one old
// form. A denial holds for all of them, whichever form it has. What allows something holds for
// the very name, and for an old form only if one tool alone has it.
//
// An entry may also write the name that the server itself gives a tool ("get-sum" for
// "everything__get-sum"), unless another tool is named so. Of that name the same is true: a
// denial holds for all tools with it, and what allows only if one tool alone has it.
package toolname

import (
	"path"
	"slices"
	"strings"
)

// Clash separates a name from the digest that sets it apart from another tool's. Nothing else
// in the name of a server's tool has two underscores in a row but the end of the server's name.
const (
	Clash       = "__"
	ClashDigits = 6
)

// Old returns the old form of a name, without the digest of a clash.
func Old(name string) string {
	out := []byte(name)
	for i, c := range out {
		switch {
		case c >= 'A' && c <= 'Z':
			out[i] = c + 'a' - 'A'
		case c == '-' || c == '.':
			out[i] = '_'
		}
	}
	old := string(out)
	if i := strings.LastIndex(old, Clash); i > 0 && strings.Contains(old[:i], Clash) && isDigest(old[i+len(Clash):]) {
		old = old[:i]
	}
	return old
}

func isDigest(s string) bool {
	return len(s) == ClashDigits && strings.Trim(s, "0123456789abcdef") == ""
}

// Names are the names by which one tool is known.
type Names struct {
	Name string // under which it is offered
	// Alone is its old form if no other tool has the same, else empty.
	Alone string
	// Own is what its server calls it, unless another tool is named so; empty: it is of no server.
	Own string
	// Sole reports whether no other tool has Own as its own name, as far as every server has
	// said what it has.
	Sole bool
}

// Denied reports whether a list of denied tools has a tool, by whichever of its names.
func Denied(list []string, n Names) bool {
	if len(list) == 0 {
		return false
	}
	old, own := Old(n.Name), Old(n.Own)
	return slices.ContainsFunc(list, func(entry string) bool {
		return entry == n.Name || Old(entry) == old || n.Own != "" && Old(entry) == own
	})
}

// Allowed reports whether a list of allowed tools has a tool.
func Allowed(list []string, n Names) bool {
	return slices.ContainsFunc(n.Allowing(), func(name string) bool { return slices.Contains(list, name) })
}

// Allowing returns the names by which what allows holds for the tool, the one under which it
// is offered first.
func (n Names) Allowing() []string {
	out := []string{n.Name}
	if n.Alone != "" {
		out = append(out, n.Alone)
	}
	if n.sole() {
		out = append(out, n.Own)
	}
	return out
}

func (n Names) sole() bool { return n.Own != "" && n.Sole }

// Seen reports whether lists of allowed and denied tools leave a tool: denied wins, nil allows
// all.
func Seen(allow, deny []string, n Names) bool {
	return !Denied(deny, n) && (allow == nil || Allowed(allow, n))
}

// MatchDenied reports whether a pattern that denies or asks fits a tool, by whichever of its
// names. A pattern with * or the like is one for the names under which tools are offered.
func MatchDenied(pattern string, n Names) bool {
	if match(pattern, n.Name) {
		return true
	}
	old := Old(n.Name)
	if match(pattern, old) {
		return true
	}
	if n.Own != "" && !IsPattern(pattern) && Old(pattern) == Old(n.Own) {
		return true
	}
	return !strings.ContainsAny(pattern, `[\`) && match(Old(pattern), old) // classes have hyphens of their own
}

// MatchAllowed reports whether a pattern that allows fits a tool.
func MatchAllowed(pattern string, n Names) bool {
	return match(pattern, n.Name) || n.Alone != "" && match(pattern, n.Alone) || n.sole() && pattern == n.Own
}

// wildcards are what makes a name a pattern, in the syntax of path.Match.
const wildcards = `*?[\`

// IsPattern reports whether a name is a pattern of names.
func IsPattern(name string) bool { return strings.ContainsAny(name, wildcards) }

// Letters returns how many letters of a pattern are no wildcards.
func Letters(pattern string) int {
	n := len(pattern)
	for _, c := range wildcards {
		n -= strings.Count(pattern, string(c))
	}
	return n
}

// Literal returns the beginning of a pattern before its first wildcard.
func Literal(pattern string) string {
	if i := strings.IndexAny(pattern, wildcards); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
