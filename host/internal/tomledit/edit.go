// Package tomledit changes single values in a TOML text and leaves all else as it is,
// comments included.
//
// Whatever way a document is written in, Apply returns either a text that differs from it
// in exactly the keys to change, or an error: it reads both texts and compares them.
package tomledit

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/tomlpos"
)

// A Change sets the value of a key, or removes the key.
type Change struct {
	Path []string // the tables and the key
	// Value is a bool, an int64, a float64, a string or a list of these; nil: the key is
	// removed, and what was written stays as a comment.
	Value any
}

// Apply returns the text with the changes.
func Apply(text string, changes []Change) (string, error) {
	for _, c := range changes {
		next, err := apply(text, c)
		if err != nil {
			return "", err
		}
		text = next
	}
	return text, nil
}

func apply(text string, c Change) (string, error) {
	root, ok := tomlpos.Locate(text)
	before := map[string]any{}
	if _, err := tomlpos.Decode(text, &before); err != nil || !ok {
		return "", msg.Errorf("the file is not TOML")
	}
	e := editor{text, root, c.Path, "\n"}
	if strings.Contains(text, "\r\n") {
		e.newline = "\r\n"
	}
	after := text
	if c.Value == nil {
		after = e.remove()
	} else {
		literal, err := Literal(c.Value)
		if err != nil {
			return "", err
		}
		after = e.set(literal)
	}
	if !differs(before, after, c) || !keepsComments(text, after) {
		return "", msg.Errorf("%s is written in a way that cannot be edited here", strings.Join(c.Path, "."))
	}
	return after, nil
}

// differs reports whether the text after differs from the document before in exactly the
// change.
func differs(before map[string]any, after string, c Change) bool {
	got := map[string]any{}
	if _, err := tomlpos.Decode(after, &got); err != nil {
		return false
	}
	at := before
	for _, name := range c.Path[:len(c.Path)-1] {
		next, isTable := at[name].(map[string]any)
		if at[name] == nil {
			if c.Value == nil {
				return reflect.DeepEqual(before, got)
			}
			next, isTable = map[string]any{}, true
			at[name] = next
		}
		if !isTable {
			return false
		}
		at = next
	}
	if key := c.Path[len(c.Path)-1]; c.Value == nil {
		delete(at, key)
	} else {
		at[key] = c.Value
	}
	return reflect.DeepEqual(before, got)
}

// keepsComments reports whether every comment of a text is in another, perhaps within a
// longer one.
func keepsComments(text, after string) bool {
	all := strings.Join(comments(after), "\n")
	return !slices.ContainsFunc(comments(text), func(c string) bool { return !strings.Contains(all, strings.TrimRight(c, " \t\r")) })
}

// An editor changes one key of a text.
type editor struct {
	text    string
	root    *tomlpos.Position
	path    []string
	newline string
}

// set writes the value of the key.
func (e editor) set(literal string) string {
	p := e.root.Find(e.path...)
	if p == nil {
		return e.add(literal)
	}
	old := e.text[p.Value:p.End]
	out := e.text[:p.Value] + literal + e.text[p.End:]
	said := comments(old)
	if len(said) == 0 {
		return out
	}
	start := e.lineStart(p.At)
	return e.text[:start] + strings.Join(said, e.newline) + e.newline + out[start:]
}

// add writes a key that the text does not have.
func (e editor) add(literal string) string {
	key := e.path[len(e.path)-1]
	line := Key(key) + " = " + literal + e.newline
	from, ok := e.tableStart()
	switch {
	case !ok && e.closed():
		return e.text
	case !ok:
		var names []string
		for _, name := range e.path[:len(e.path)-1] {
			names = append(names, Key(name))
		}
		out := strings.TrimRight(e.text, "\r\n")
		if out != "" {
			out += e.newline + e.newline
		}
		return out + "[" + strings.Join(names, ".") + "]" + e.newline + line
	}
	to := len(e.text)
	for _, at := range e.root.Headers(e.text) {
		if at >= from && at < to {
			to = at
		}
	}
	if m := regexp.MustCompile(`(?m)^[ \t]*#[ \t]*` + regexp.QuoteMeta(Key(key)) + `[ \t]*=`).FindStringIndex(e.text[from:to]); m != nil {
		from += m[0] // what a commented-out default says stays below the value
	} else if len(e.path) > 1 && e.text[from-1] != '\n' {
		line = e.newline + line
	}
	return e.text[:from] + line + e.text[from:]
}

// tableStart returns the offset after the header of the key's table; false: it has none.
func (e editor) tableStart() (int, bool) {
	if len(e.path) == 1 {
		return len(e.text) - len(strings.TrimPrefix(e.text, "\uFEFF")), true
	}
	p := e.root.Find(e.path[:len(e.path)-1]...)
	if p == nil || p.End != 0 || e.text[p.Value] != '[' {
		return 0, false
	}
	return e.lineEnd(p.Value), true
}

// closed reports whether a table of the key is written inline or by dotted keys: a header
// cannot add to it.
func (e editor) closed() bool {
	for n := range e.path {
		p := e.root.Find(e.path[:n]...)
		if n == 0 || p == nil {
			continue
		}
		start := e.lineStart(p.At)
		if p.End != 0 || !strings.HasPrefix(strings.TrimLeft(e.text[start:p.At+1], " \t\uFEFF"), "[") {
			return true
		}
	}
	return false
}

// remove makes a comment of the lines of the key.
func (e editor) remove() string {
	p := e.root.Find(e.path...)
	if p == nil || p.End == 0 {
		return e.text
	}
	start, end := e.lineStart(p.At), e.lineEnd(p.End)
	if strings.ContainsAny(e.text[start:p.At], "{[=") { // in an inline table
		return e.text
	}
	lines := strings.SplitAfter(e.text[start:end], "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "# " + l
		}
	}
	return e.text[:start] + strings.Join(lines, "") + e.text[end:]
}

func (e editor) lineStart(at int) int { return strings.LastIndexByte(e.text[:at], '\n') + 1 }

// lineEnd returns the offset after the line's end.
func (e editor) lineEnd(at int) int {
	if n := strings.IndexByte(e.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(e.text)
}

// comments returns the comments of a text, or of a value.
func comments(text string) (out []string) {
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '#':
			end := len(text)
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				end = i + n
			}
			out = append(out, strings.TrimRight(text[i:end], "\r"))
			i = end
		case '"', '\'':
			i = afterString(text, i)
		default:
			i++
		}
	}
	return out
}

// afterString returns the offset after the string that begins at i.
func afterString(text string, i int) int {
	quote := text[i : i+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(text[i:], long) {
		quote = long
	}
	for i += len(quote); i < len(text); i++ {
		switch {
		case quote[0] == '"' && text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			i += len(quote)
			for len(quote) == 3 && i < len(text) && text[i] == quote[0] { // up to two may precede the closing three
				i++
			}
			return i
		}
	}
	return i
}
