package plugintest

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// maxFile bounds a file of cases, in bytes.
const maxFile = 4 << 20

// A source is the text of one file of cases, with its problems.
type source struct {
	file, text string
	problems   []Problem
}

// A node is one table of a source. An unknown key is an error, because a misspelt
// expectation would check nothing. The zero node has no keys.
type node struct {
	*tomlpos.Table
	src *source
}

// openSource reads a file and returns its root table, or the zero node if it is
// not valid TOML.
func openSource(file string) (*source, node) {
	s := &source{file: file}
	info, err := os.Stat(file)
	switch {
	case err != nil || !info.Mode().IsRegular():
		s.problems = append(s.problems, Problem{File: file, Msg: tool.Textf("the file cannot be read")})
		return s, node{}
	case info.Size() > maxFile:
		s.problems = append(s.problems, Problem{File: file, Msg: tool.Textf("the file is %d bytes long, and at most %d are read", info.Size(), maxFile), Fix: tool.Textf("split it")})
		return s, node{}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		s.problems = append(s.problems, Problem{File: file, Msg: tool.Textf("the file cannot be read")})
		return s, node{}
	}
	s.text = string(b)
	root, ok := tomlpos.Locate(s.text)
	if !ok {
		s.problems = append(s.problems, Problem{File: file, Msg: tool.Textf("the file nests deeper than %d levels", tomlpos.MaxDepth), Fix: tool.Textf("write the value as JSON: args_json = '''…'''")})
		return s, node{}
	}
	var m map[string]any
	if _, err := tomlpos.Decode(s.text, &m); err != nil {
		p := Problem{File: file, Line: 1, Col: 1, Msg: msg.Of(err), Fix: tool.Textf("fix the TOML syntax there")}
		if pe := (toml.ParseError{}); errors.As(err, &pe) {
			p.Line, p.Col = tomlpos.Fault(s.text, pe)
			p.Msg = tool.Text{Format: tomlpos.Reason(pe)}
		}
		s.problems = append(s.problems, p)
		return s, node{}
	}
	return s, node{tomlpos.NewTable(m, root, s.wrong), s}
}

// at returns the position of a byte offset, as a Problem.
func (s *source) at(offset int) Problem {
	p := Problem{File: s.file}
	p.Line, p.Col = tomlpos.LineCol(s.text, offset)
	return p
}

// wrong adds a problem of a key.
func (s *source) wrong(at *tomlpos.Position, _ string, msg, fix tool.Text) {
	p := s.at(at.At)
	p.Msg, p.Fix = msg, fix
	s.problems = append(s.problems, p)
}

// place returns the position of a key, or one near it.
func (n node) place(key string) Problem { return n.src.at(n.Position.Key(key).At) }

func (n node) text(key string) string {
	s, _ := tomlpos.Typed[string](n.Table, key, tool.Textf("a text, for example %s = \"…\"", key))
	return s
}

// node returns a table, or the zero node if it is missing.
func (n node) node(key string) node { return node{n.Child(key), n.src} }

// nodes returns the tables of a list.
func (n node) nodes(key string) (out []node) {
	for _, c := range n.Children(key, math.MaxInt) {
		out = append(out, node{c, n.src})
	}
	return out
}

// list returns one text, or a list of them. ok reports whether the key exists.
func (n node) list(key string) (out []string, ok bool) {
	raw, ok := n.Get(key)
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
		n.Bad(key, tool.Textf("write a text or a list of texts: %s = [\"…\"]", key), "%s is %s", n.Name(key), tomlpos.Kind(raw))
		return nil, false
	}
	return out, true
}

// named returns a table of texts, or nil if it is missing.
func (n node) named(key string) map[string]string {
	t := n.node(key)
	if t.Table == nil {
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(t.Values)) {
		out[k] = t.text(k)
	}
	return out
}

// whole returns an integer. ok reports whether the key exists and is at least low.
func (n node) whole(key string, low int64) (v int, ok bool) {
	i, ok := tomlpos.Typed[int64](n.Table, key, tool.Textf("a whole number, for example %s = 100", key))
	if ok && (i < low || i > 1<<31-1) {
		n.Bad(key, tool.Textf("write a whole number from %d on", low), "%s is %d", n.Name(key), i)
		return 0, false
	}
	return int(i), ok
}

func (n node) duration(key string) time.Duration {
	s, ok := tomlpos.Typed[string](n.Table, key, tool.Textf("a length of time in quotes, for example %s = \"200ms\"", key))
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		n.Bad(key, tool.Textf("write a length of time, for example %s = \"200ms\"", key), "%s is %q", n.Name(key), s)
		return 0
	}
	return d
}

func (n node) bytes(key string) (b tool.Bytes) {
	s, ok := tomlpos.Typed[string](n.Table, key, tool.Textf("an amount of memory in quotes, for example %s = \"16MiB\"", key))
	if ok && (b.UnmarshalText([]byte(s)) != nil || b <= 0) {
		n.Bad(key, tool.Textf("write an amount, for example %s = \"16MiB\"", key), "%s is %q", n.Name(key), s)
		return 0
	}
	return b
}

// expression returns a compiled RE2 expression, or nil if it is missing.
func (n node) expression(key string) *regexp.Regexp {
	s, ok := tomlpos.Typed[string](n.Table, key, tool.Textf("an RE2 expression in quotes"))
	if !ok {
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		n.Bad(key, tool.Textf("write RE2 syntax; in single quotes, a backslash needs no escape"), "%s: %s", n.Name(key), msg.Of(err))
	}
	return re
}

// json returns a value as JSON, or nil if it is missing.
func (n node) json(key string) json.RawMessage {
	v, ok := n.Get(key)
	if !ok {
		return nil
	}
	if at := dated(v); at {
		n.Bad(key, tool.Textf("write dates and times in quotes: JSON has none"), "%s holds a date", n.Name(key))
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil { // inf and nan
		n.Bad(key, tool.Textf("write only what JSON has"), "%s cannot be written as JSON", n.Name(key))
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

// done adds a problem for each unknown key.
func (n node) done() {
	for _, key := range n.Unknown() {
		fix := tool.Textf("it can be: %s", strings.Join(slices.Compact(slices.Sorted(slices.Values(n.Known()))), ", "))
		if near := text.Nearest(key, n.Known()); len(near) > 0 {
			fix = tool.Textf("perhaps %s is meant", near[0])
		}
		n.Bad(key, fix, "%s is no key of a case", n.Name(key))
	}
}
