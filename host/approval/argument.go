package approval

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/internal/text"
)

// An argPattern is the expression that a rule requires of one argument.
type argPattern struct {
	name string
	re   *regexp.Regexp
}

// matches compares the argument as it is written and, if it is a path with ".." or
// doubled slashes, as it resolves. Both forms must match if both is set, which is
// for rules that allow; otherwise one form is enough.
func (a argPattern) matches(text string, both bool) bool {
	clean := cleanPath(text)
	if both {
		return a.re.MatchString(text) && a.re.MatchString(clean)
	}
	return a.re.MatchString(text) || a.re.MatchString(clean)
}

// cleanPath resolves "..", "." and doubled slashes in a path or URL, like a program
// that opens it.
func cleanPath(s string) string {
	if !strings.Contains(s, "/") && !strings.Contains(s, "..") {
		return s
	}
	scheme, rest := "", s
	if i := strings.Index(s, "://"); i >= 0 {
		scheme, rest = s[:i+3], s[i+3:]
	}
	clean := path.Clean(rest)
	if strings.HasSuffix(rest, "/") && clean != "/" {
		clean += "/"
	}
	return scheme + clean
}

// argText returns an argument as rules read it: a string as it is, everything else
// as JSON. It returns false if there is no such argument.
func argText(args map[string]any, name string) (string, bool) {
	v, ok := argAt(args, name)
	if !ok {
		return "", false
	}
	if s, ok := v.(string); ok {
		return s, true
	}
	s, err := text.JSON(v)
	return s, err == nil
}

// argAt returns an argument by its name or, if name starts with a slash, by its
// JSON pointer. Such a name is never an argument's own name: a model could add an
// argument of that name to a call to avoid the rule.
func argAt(args map[string]any, name string) (any, bool) {
	pointer, ok := strings.CutPrefix(name, "/")
	if !ok {
		v, ok := args[name]
		return v, ok
	}
	var at any = args
	for step := range strings.SplitSeq(pointer, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != step {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}
