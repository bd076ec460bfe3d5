// Package toolname compares names of tools with what the operator wrote: in rules, in lists of
// allowed and denied tools, and in tables of settings. It knows no tools and no settings.
//
// Tools of other servers have the case and the hyphens of their servers. An entry may write them
// in the old form, too: in lower case, with "_" for "-" and ".". Several tools can have one old
// form. A denial holds for all of them, whichever form it has. What allows something holds for
// the very name, and for an old form only if one tool alone has it.
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

// Denied reports whether a list of denied tools has a name, in whichever form.
func Denied(list []string, name string) bool {
	if len(list) == 0 {
		return false
	}
	old := Old(name)
	return slices.ContainsFunc(list, func(entry string) bool { return entry == name || Old(entry) == old })
}

// Allowed reports whether a list of allowed tools has a name. alone is its old form if no
// other tool has the same, else empty.
func Allowed(list []string, name, alone string) bool {
	return slices.Contains(list, name) || alone != "" && slices.Contains(list, alone)
}

// Seen reports whether lists of allowed and denied tools leave a name: denied wins, nil allows
// all. old returns a name's old form if no other tool has the same, else an empty text.
func Seen(allow, deny []string, name string, old func(string) string) bool {
	switch {
	case Denied(deny, name):
		return false
	case allow == nil || slices.Contains(allow, name):
		return true
	}
	return Allowed(allow, name, old(name))
}

// MatchDenied reports whether a pattern that denies or asks fits a name, in whichever form.
func MatchDenied(pattern, name string) bool {
	if match(pattern, name) {
		return true
	}
	old := Old(name)
	if match(pattern, old) {
		return true
	}
	return !strings.ContainsAny(pattern, `[\`) && match(Old(pattern), old) // classes have hyphens of their own
}

// MatchAllowed reports whether a pattern that allows fits a name. alone is as in Allowed.
func MatchAllowed(pattern, name, alone string) bool {
	return match(pattern, name) || alone != "" && match(pattern, alone)
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
