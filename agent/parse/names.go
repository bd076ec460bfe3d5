package parse

import (
	"slices"
	"strings"
)

// maxName bounds how much of a reply is looked at as one name, in bytes.
const maxName = 160

// namespaces are the prefixes that models put before a tool's own name.
var namespaces = []string{"functions.", "function.", "tools.", "tool.", "default_api.", "api.", "tool_code."}

// abstentions are the names by which models say that they call nothing.
var abstentions = []string{"no_function", "no_tool", "no_call", "none", "null", "n/a", "no_function_call", "final answer", "final_answer"}

// fold maps the spellings of one name to one string: case, and the
// separators that models exchange. Backslashes are Markdown's.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\':
		case c == '.' || c == '-' || c == '/':
			b = append(b, '_')
		case 'A' <= c && c <= 'Z':
			b = append(b, c+'a'-'A')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-' || c == '\\'
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// cleanName removes what is never part of a name: quoting, emphasis, escapes,
// a namespace and a counter.
func cleanName(s string) string {
	s = strings.Trim(s, " \t\r\n\"'`*")
	if strings.Contains(s, `\`) {
		s = strings.ReplaceAll(s, `\`, "")
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 && i+1 < len(s) && strings.Trim(s[i+1:], "0123456789") == "" {
		s = s[:i]
	}
	return s
}

func stripNamespace(s string) string {
	for _, ns := range namespaces {
		if len(s) > len(ns) && strings.EqualFold(s[:len(ns)], ns) {
			return s[len(ns):]
		}
	}
	return s
}

// find returns the tool that a model's spelling names, or nil. It never
// guesses: a spelling that fits two tools names none.
func (t *toolset) find(raw string) *toolInfo {
	if len(raw) == 0 || len(raw) > 2*maxName {
		return nil
	}
	if info := t.exact[raw]; info != nil {
		return info
	}
	name := cleanName(raw)
	for _, s := range []string{name, stripNamespace(name), strings.TrimSuffix(name, ".call"), withoutRepeat(name)} {
		if info := t.exact[s]; info != nil {
			return info
		}
		if info := t.folded[fold(s)]; info != nil {
			return info
		}
	}
	if name = strings.TrimSuffix(stripNamespace(name), ".call"); t.any && isPlainName(name) {
		return &toolInfo{name: name, open: true}
	}
	return nil
}

// withoutRepeat drops a first part that is written twice: a.a.b is a.b.
func withoutRepeat(s string) string {
	head, rest, ok := strings.Cut(s, ".")
	if ok && strings.HasPrefix(rest, head+".") {
		return rest
	}
	return s
}

func isPlainName(s string) bool {
	if s == "" || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

func isAbstention(name string) bool {
	return slices.Contains(abstentions, strings.ToLower(cleanName(name)))
}

// speaks reports whether a spelling alone tells that it is a tool's name: it is
// declared, or, where every name is, it has a form that words do not have.
func (t *toolset) speaks(name string) bool {
	if t.any {
		return isPlainName(cleanName(name)) && strings.ContainsAny(strings.TrimRight(name, "."), "_.:")
	}
	return t.find(name) != nil
}

// mayBegin reports whether s could grow into a spelling of a declared name.
func (t *toolset) mayBegin(s string) bool {
	if t.any {
		return true
	}
	low := strings.ToLower(s)
	for _, ns := range namespaces {
		if strings.HasPrefix(ns, low) {
			return true
		}
	}
	return t.prefixOfName(fold(s)) || t.prefixOfName(fold(stripNamespace(s))) || t.prefixOfName(fold(withoutRepeat(s)))
}

// prefixOfName reports whether a folded s begins a folded declared name.
func (t *toolset) prefixOfName(s string) bool {
	i, _ := slices.BinarySearch(t.sorted, s)
	return i < len(t.sorted) && strings.HasPrefix(t.sorted[i], s)
}

// nameRun reads the bytes of a name at b[i] and returns its end; more says
// that the name may go on in what has not come yet.
func nameRun(b []byte, i int, final bool) (end int, more bool) {
	j := i
	for j < len(b) && j-i < maxName && isNameByte(b[j]) {
		j++
	}
	if j == len(b) {
		return j, !final && j-i < maxName
	}
	if b[j] == ':' && j > i { // a counter, as in functions.get_weather:0
		k := j + 1
		for k < len(b) && k-j < 6 && isDigit(b[k]) {
			k++
		}
		if k == len(b) && !final {
			return j, true
		}
		if k > j+1 && (k == len(b) || !isNameByte(b[k])) {
			return k, false
		}
	}
	return j, false
}

// glued returns where a declared name begins that ends b, or -1. Text may run
// into the name without a space: only a boundary is asked for.
func (t *toolset) glued(b []byte) int {
	return t.tail(b, func(s string) bool { return t.folded[s] != nil })
}

// heldName returns where the tail of b begins that could grow into a declared
// name, or len(b).
func (t *toolset) heldName(b []byte) int {
	n := len(b)
	for n > 0 && len(b)-n < 8 && (b[n-1] == ' ' || b[n-1] == '\r') {
		n--
	}
	match := t.prefixOfName
	if n < len(b) {
		match = func(s string) bool { return t.folded[s] != nil }
	}
	if i := t.tail(b[:n], match); i >= 0 {
		return i
	}
	return len(b)
}

// tail finds the earliest boundary in the name that ends b from where match
// holds for the folded rest.
func (t *toolset) tail(b []byte, match func(string) bool) int {
	i := len(b)
	for i > 0 && len(b)-i < t.longest && isNameByte(b[i-1]) {
		i--
	}
	for ; i < len(b); i++ {
		if !t.first[b[i]] || i > 0 && isNameByte(b[i-1]) && b[i-1] != '.' {
			continue
		}
		if match(fold(string(b[i:]))) {
			return i
		}
	}
	return -1
}
