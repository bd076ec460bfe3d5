package config

import (
	"encoding"
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Fault is one thing in tools.toml that a person should change: its position, the
// problem and the fix.
type Fault struct {
	File string `json:"file"` // empty: it has no position
	Line int    `json:"line"` // from 1
	Col  int    `json:"column"`
	// Msg is the problem, and Hint how to fix it. A zero Hint means that Msg says it.
	Msg  tool.Text `json:"message"`
	Hint tool.Text `json:"hint,omitzero"`
}

// Text returns the fault on one line, with its position.
func (f Fault) Text() tool.Text {
	switch {
	case f.File == "" && f.Hint.IsZero():
		return f.Msg
	case f.File == "":
		return tool.Textf("%v (%v)", f.Msg, f.Hint)
	case f.Hint.IsZero():
		return tool.Textf("%s:%d:%d: %v", f.File, f.Line, f.Col, f.Msg)
	}
	return tool.Textf("%s:%d:%d: %v (%v)", f.File, f.Line, f.Col, f.Msg, f.Hint)
}

// String returns Text in English.
func (f Fault) String() string { return f.Text().String() }

// positions finds the position of a key in tools.toml.
type positions struct {
	file string // empty: there is no file
	doc  tomlpos.Document
}

// fault returns a Fault at a key. Without a file it has no position.
func (p positions) fault(text, hint tool.Text, key ...string) Fault {
	f := Fault{Msg: msg.Clean(text, limit.Visible), Hint: hint} // it names keys of the file
	if p.file != "" {
		f.File = p.file
		f.Line, f.Col = p.doc.Position(key...)
	}
	return f
}

// A report receives one thing that is wrong, with its fix and its key.
type report func(text, hint tool.Text, key ...string)

// typeError is the library's message for a value of the wrong type. It is no
// ParseError; the key is in the message.
var typeError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^toml: line (\d+) \(last key "(.+)"\): (.*)$`) })

// mismatch is the library's message for something that should be a table, incompatible
// its message for any other value of the wrong type.
var (
	mismatch = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^type mismatch for .+: expected (\w+) but found (.+)`)
	})
	incompatible = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^incompatible types: TOML value has type (.+); destination has type (.+)$`)
	})
)

// tomlFault returns the fault for an error of the TOML library, and the key whose value
// it is about. The key is empty for a syntax error.
func (p positions) tomlFault(text string, err error) (f Fault, key []string) {
	if pe, ok := errors.AsType[toml.ParseError](err); ok {
		line, col := syntaxError(text, pe.Position)
		key := strings.Split(pe.LastKey, ".")
		if err := valueError(text, key); err != nil {
			return Fault{p.file, line, col, msg.Of(err), tool.Text{}}, key
		}
		if isJSON(text, line) {
			return Fault{p.file, line, col, tool.Textf("this is JSON, and the file is TOML"), tool.Textf("take it out; this command writes servers from JSON: weir mcp add '{…}'")}, nil
		}
		return Fault{p.file, line, col, tool.Text{Format: tomlpos.Reason(pe)}, tool.Text{Format: pe.Usage}}, nil
	}
	m := typeError().FindStringSubmatch(err.Error())
	if m == nil {
		return Fault{p.file, 1, 1, tool.Text{Format: strings.TrimPrefix(err.Error(), "toml: ")}, tool.Text{}}, nil
	}
	key = strings.Split(m[2], ".")
	line, col := p.doc.Position(key...)
	if n, convErr := strconv.Atoi(m[1]); convErr == nil && n != line {
		line, col = n, 1
	}
	return Fault{p.file, line, col, wrongType(m[2], m[3]), tool.Text{}}, key
}

// noTable returns the fault of the first value that the library ignores, for it wants a
// table there. A nil key: there is none.
func (p positions) noTable(md toml.MetaData) (f Fault, key []string) {
	for _, k := range md.Keys() {
		if t := typeAt(k); t != nil && t.Kind() == reflect.Map && md.Type(k...) != "Hash" {
			return p.fault(tool.Textf("%s: it is of type %s and should be of type %s", k, tomlType(strings.ToLower(md.Type(k...))), "table"), tool.Text{}, k...), k
		}
	}
	return f, nil
}

// wrongType returns the sentence for a value of the wrong type, from the message of
// the library.
func wrongType(key, message string) tool.Text {
	if t := mismatch().FindStringSubmatch(message); t != nil {
		return tool.Textf("%s: it is of type %s and should be of type %s", key, tomlType(t[2]), t[1])
	}
	if t := incompatible().FindStringSubmatch(message); t != nil {
		return tool.Textf("%s: it is of type %s and should be of type %s", key, tomlType(t[1]), tomlType(t[2]))
	}
	return tool.Textf("%s: %s", key, message)
}

// tomlType returns TOML's name for a type that the library names as Go does.
func tomlType(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"), name == "slice", strings.HasPrefix(name, "array"):
		return "list"
	case strings.HasPrefix(name, "map"):
		return "table"
	case strings.HasPrefix(name, "primitive"):
		return "string"
	}
	if toml, ok := map[string]string{"int64": "integer", "float64": "float", "bool": "boolean", "time.Time": "date", "datetime": "date"}[name]; ok {
		return toml
	}
	return name
}

// isJSON reports whether a line that is no TOML begins as JSON does: a person has pasted what
// the README of a server shows.
func isJSON(text string, line int) bool {
	lines := strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n")
	if line < 1 || line > len(lines) {
		return false
	}
	s := strings.TrimSpace(lines[line-1])
	if strings.HasPrefix(s, "{") {
		return true
	}
	name, after, ok := strings.Cut(strings.TrimPrefix(s, `"`), `"`)
	return strings.HasPrefix(s, `"`) && ok && name != "" && strings.HasPrefix(strings.TrimSpace(after), ":")
}

// syntaxError returns where a text stops being TOML, line and column from 1. Only the
// offset of the library is right: its column counts bytes, and is that of the line
// before for an error at the beginning of a line.
func syntaxError(text string, p toml.Position) (line, col int) {
	text = strings.TrimPrefix(text, "\uFEFF") // the library does not count it
	line, col = tomlpos.LineCol(text, max(p.Start, 0))
	if line != p.Line && p.Line > 0 {
		return p.Line, 1
	}
	return line, col
}

// valueError returns the error of a value that its own type does not accept, such as
// a Duration. The library has it, but shows its words alone. Nil: it is an error of
// the library.
func valueError(text string, key []string) error {
	t := typeAt(key)
	doc := map[string]any{}
	if _, err := tomlpos.Decode(text, &doc); t == nil || err != nil {
		return nil
	}
	var v any = doc
	for _, part := range key {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[part]
	}
	return refuses(t, v)
}

// refuses returns the error of a type for a value, or for an element of a list.
func refuses(t reflect.Type, v any) error {
	if list, ok := v.([]any); ok {
		for _, e := range list {
			if err := refuses(t, e); err != nil {
				return err
			}
		}
		return nil
	}
	switch to := reflect.New(t).Interface().(type) {
	case toml.Unmarshaler:
		return to.UnmarshalTOML(v)
	case encoding.TextUnmarshaler:
		if s, ok := v.(string); ok {
			return to.UnmarshalText([]byte(s))
		}
	}
	return nil
}

// Fault returns a Fault at a key of the file.
func (s Settings) Fault(text, hint tool.Text, key ...string) Fault {
	return s.positions.fault(text, hint, key...)
}

// DidYouMean returns a question with up to three names; zero without names.
func DidYouMean(names []string) tool.Text {
	if len(names) == 0 {
		return tool.Text{}
	}
	t := tool.Text{Format: "did you mean %s" + strings.Repeat(" or %s", len(names)-1) + "?"}
	for _, name := range names {
		t.Args = append(t.Args, name)
	}
	return t
}
