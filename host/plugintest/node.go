package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/spots"
	"github.com/weirhost/weir/sdk/tool"
)

// maxFile is the largest file of cases that is read, in bytes.
const maxFile = 4 << 20

// A source is the text of one file of cases, and what is wrong with it.
type source struct {
	file, text string
	problems   []Problem
}

// A node is one table of a source. It remembers which keys it was asked for:
// the others are mistakes, for a misspelt expectation would expect nothing. A
// nil node has no keys.
type node struct {
	src   *source
	path  string
	m     map[string]any
	spot  *spots.Spot
	known []string
}

// openSource reads a file into its root; nil: it cannot be read as TOML.
func openSource(file string) (*source, *node) {
	s := &source{file: file}
	info, err := os.Stat(file)
	switch {
	case err != nil || !info.Mode().IsRegular():
		s.problems = append(s.problems, Problem{File: file, Msg: "the file cannot be read"})
		return s, nil
	case info.Size() > maxFile:
		s.problems = append(s.problems, Problem{File: file, Msg: fmt.Sprintf("the file is %d bytes long, and at most %d are read", info.Size(), maxFile), Fix: "split it"})
		return s, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		s.problems = append(s.problems, Problem{File: file, Msg: "the file cannot be read"})
		return s, nil
	}
	s.text = string(b)
	root, ok := spots.Locate(s.text)
	if !ok {
		s.problems = append(s.problems, Problem{File: file, Msg: fmt.Sprintf("the file nests deeper than %d levels", spots.MaxDepth), Fix: "write the value as JSON: args_json = '''…'''"})
		return s, nil
	}
	var m map[string]any
	if _, err := spots.Decode(s.text, &m); err != nil {
		p := Problem{File: file, Line: 1, Col: 1, Msg: err.Error(), Fix: "mend the TOML syntax there"}
		if pe := (toml.ParseError{}); errors.As(err, &pe) {
			p.Line, p.Col = spots.Fault(s.text, pe)
			p.Msg = strings.TrimSuffix(pe.Message, ".")
		}
		s.problems = append(s.problems, p)
		return s, nil
	}
	return s, &node{src: s, m: m, spot: root}
}

// at is the Problem's place: that of a byte offset.
func (s *source) at(offset int) Problem {
	p := Problem{File: s.file}
	p.Line, p.Col = spots.LineCol(s.text, offset)
	return p
}

// name is a key's full name.
func (n *node) name(key string) string {
	if n.path == "" {
		return key
	}
	return n.path + "." + key
}

// place is where a key stands, or near it.
func (n *node) place(key string) Problem { return n.src.at(n.spot.Key(key).At) }

// bad notes what is wrong with a key's value.
func (n *node) bad(key, fix, format string, args ...any) {
	p := n.place(key)
	p.Msg, p.Fix = fmt.Sprintf(format, args...), fix
	n.src.problems = append(n.src.problems, p)
}

// get returns a key's value and marks the key as known.
func (n *node) get(key string) (any, bool) {
	if n == nil {
		return nil, false
	}
	n.known = append(n.known, key)
	v, ok := n.m[key]
	return v, ok
}

// read returns the key's value if it is a T, and notes an error if it is
// something else.
func read[T any](n *node, key, want string) (v T, ok bool) {
	raw, there := n.get(key)
	if !there {
		return v, false
	}
	if v, ok = raw.(T); !ok {
		n.bad(key, "write "+want, "%s is %s", n.name(key), kindOf(raw))
	}
	return v, ok
}

func (n *node) text(key string) string {
	s, _ := read[string](n, key, fmt.Sprintf("a text, for example %s = \"…\"", key))
	return s
}

// node returns a table; nil when it is not there.
func (n *node) node(key string) *node {
	m, ok := read[map[string]any](n, key, "a table: { … }")
	if !ok {
		return nil
	}
	return &node{src: n.src, path: n.name(key), m: m, spot: n.spot.Key(key)}
}

// nodes returns the tables of a list, be it written as [[key]] or inline.
func (n *node) nodes(key string) []*node {
	raw, ok := n.get(key)
	if !ok {
		return nil
	}
	list, isList := raw.([]any)
	if maps, ok := raw.([]map[string]any); ok {
		isList = true
		for _, m := range maps {
			list = append(list, m)
		}
	}
	if !isList {
		n.bad(key, fmt.Sprintf("write [[%s]]", n.name(key)), "%s is %s", n.name(key), kindOf(raw))
	}
	var out []*node
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			n.bad(key, "write tables: { … }", "%s holds %s", n.name(key), kindOf(e))
			continue
		}
		out = append(out, &node{src: n.src, path: n.name(key), m: m, spot: n.spot.Key(key).Item(i)})
	}
	return out
}

// list returns one text, or a list of them. ok: the key is there.
func (n *node) list(key string) (out []string, ok bool) {
	raw, ok := n.get(key)
	if !ok {
		return nil, false
	}
	if s, isText := raw.(string); isText {
		return []string{s}, true
	}
	list, isList := raw.([]any)
	for _, e := range list {
		s, isText := e.(string)
		isList = isList && isText
		out = append(out, s)
	}
	if !isList {
		n.bad(key, fmt.Sprintf("write a text or a list of texts: %s = [\"…\"]", key), "%s is %s", n.name(key), kindOf(raw))
		return nil, false
	}
	return out, true
}

// named returns a table of texts; nil when it is not there.
func (n *node) named(key string) map[string]string {
	t := n.node(key)
	if t == nil {
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(t.m)) {
		out[k] = t.text(k)
	}
	return out
}

// whole returns a whole number; ok: it is there and at least low.
func (n *node) whole(key string, low int64) (v int, ok bool) {
	i, ok := read[int64](n, key, fmt.Sprintf("a whole number, for example %s = 100", key))
	if ok && (i < low || i > 1<<31-1) {
		n.bad(key, fmt.Sprintf("write a whole number from %d on", low), "%s is %d", n.name(key), i)
		return 0, false
	}
	return int(i), ok
}

func (n *node) duration(key string) time.Duration {
	s, ok := read[string](n, key, fmt.Sprintf("a length of time in quotes, for example %s = \"200ms\"", key))
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		n.bad(key, fmt.Sprintf("write a length of time, for example %s = \"200ms\"", key), "%s is %q", n.name(key), s)
		return 0
	}
	return d
}

func (n *node) bytes(key string) (b tool.Bytes) {
	s, ok := read[string](n, key, fmt.Sprintf("an amount of memory in quotes, for example %s = \"16MiB\"", key))
	if ok && (b.UnmarshalText([]byte(s)) != nil || b <= 0) {
		n.bad(key, fmt.Sprintf("write an amount, for example %s = \"16MiB\"", key), "%s is %q", n.name(key), s)
		return 0
	}
	return b
}

// expression returns a compiled RE2 expression; nil when there is none.
func (n *node) expression(key string) *regexp.Regexp {
	s, ok := read[string](n, key, "an RE2 expression in quotes")
	if !ok {
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		n.bad(key, "write RE2 syntax; in single quotes a backslash stands for itself", "%s: %s", n.name(key), err)
	}
	return re
}

// json returns a value as JSON; nil when it is not there.
func (n *node) json(key string) json.RawMessage {
	v, ok := n.get(key)
	if !ok {
		return nil
	}
	if at := dated(v); at {
		n.bad(key, "write dates and times in quotes: JSON has none", "%s holds a date", n.name(key))
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil { // inf and nan
		n.bad(key, "write only what JSON has", "%s cannot be written as JSON", n.name(key))
		return nil
	}
	return text
}

func dated(v any) bool {
	switch v := v.(type) {
	case time.Time:
		return true
	case []any:
		return slices.ContainsFunc(v, dated)
	case map[string]any:
		for _, e := range v {
			if dated(e) {
				return true
			}
		}
	case []map[string]any:
		for _, e := range v {
			if dated(e) {
				return true
			}
		}
	}
	return false
}

// done notes the keys that nobody asked for.
func (n *node) done() {
	if n == nil {
		return
	}
	for _, key := range n.spot.Order {
		if slices.Contains(n.known, key) {
			continue
		}
		fix := "it can be: " + strings.Join(sorted(n.known), ", ")
		if near := registry.Nearest(key, n.known); len(near) > 0 {
			fix = "perhaps " + near[0] + " is meant"
		}
		n.bad(key, fix, "%s is no key of a case", n.name(key))
	}
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// kindOf names the type of a decoded value for people.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case time.Time:
		return "a date or time"
	case map[string]any:
		return "a table"
	}
	return "a list"
}
