package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
)

// A fault is one thing in tools.toml that a person should change.
type Fault struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"column"`
	Msg  string `json:"message"`
	Hint string `json:"hint,omitempty"`
}

func (f Fault) String() string {
	s := f.Msg
	if f.File != "" {
		s = fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Msg)
	}
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// A Loaded is a configuration with every reference expanded.
type Loaded struct {
	Settings Settings
	Secrets  Lookup  // finds plugins' secrets: the environment, then .env
	Faults   []Fault // all of the file
	Skipped  string  // why .env was not read; empty: it was, or there is none
}

// Load reads the configuration that Paths found.
func (o Source) Load(p Paths) (Loaded, error) {
	var out Loaded
	s, secrets, faults, err := o.load(p, &out.Skipped)
	out.Settings, out.Secrets, out.Faults = s, secrets, faults
	return out, err
}

func (o Source) load(p Paths, skip *string) (s Settings, secrets Lookup, faults []Fault, err error) {
	vars, skipped, err := DotEnv(p.Config)
	if err != nil {
		return s, nil, nil, err
	}
	*skip = skipped
	secrets = over(o.lookup, vars)
	if p.Config == "" {
		s.Plugins.Folder = []FolderSettings{{Path: filepath.Join(p.Data, "plugins"), Trust: "ask"}}
	} else {
		text, err := os.ReadFile(p.Config)
		if err != nil {
			return s, nil, nil, msg.Usagef("check its permissions", "the configuration %s cannot be read", p.Config)
		}
		s, faults = Parse(p.Config, string(text))
		if len(s.Plugins.Folder) == 0 {
			s.Plugins.Folder = []FolderSettings{{Path: filepath.Join(p.Data, "plugins"), Trust: "ask"}}
		}
	}
	if o.Plugins != "" {
		if st, err := os.Stat(o.Plugins); err != nil || !st.IsDir() {
			return s, nil, nil, msg.Usagef("give a folder that exists", "--plugins %s is not a folder", o.Plugins)
		}
	}
	env := secrets
	if o.Workspace != "" {
		if st, err := os.Stat(o.Workspace); err != nil || !st.IsDir() {
			return s, nil, nil, msg.Usagef("give a folder that exists", "--workspace %s is not a folder", o.Workspace)
		}
		env = over(func(name string) (string, bool) { return o.Workspace, name == "WEIR_WORKSPACE" }, nil)
		env = either(env, secrets)
	}
	noteKeys(s.Models)
	written := map[string][]string{}
	for name, e := range s.Servers {
		written[name] = slices.Clone(e.Args)
	}
	expand(&s, env)
	digestTokens(&s, p.Config)
	for name, e := range s.Servers {
		e.written = written[name]
		s.Servers[name] = e
	}
	o.settle(&s, p)
	return s, secrets, faults, s.Telemetry.fromEnv(secrets)
}

// noteKeys keeps what expanding takes away: whether a model's key is a
// reference, and to which variable.
func noteKeys(models map[string]ModelSettings) {
	for name, m := range models {
		if ref := reference().FindStringSubmatch(m.Key); ref != nil {
			m.KeyEnv = ref[1]
		}
		m.literal = m.Key != "" && !strings.Contains(m.Key, "${")
		models[name] = m
	}
}

// either asks first, then second.
func either(first, second Lookup) Lookup {
	return func(name string) (string, bool) {
		if v, ok := first(name); ok {
			return v, true
		}
		return second(name)
	}
}

// settle makes paths absolute: plugin folders stand beside the file, granted
// folders where the command was started, as a person would read them.
func (o Source) settle(s *Settings, p Paths) {
	base := filepath.Dir(p.Config)
	if o.Plugins != "" {
		s.Plugins.Folder = []FolderSettings{{Path: o.Plugins, Trust: "granted"}}
		base = "."
	}
	for i := range s.Plugins.Folder {
		if f := &s.Plugins.Folder[i]; !filepath.IsAbs(f.Path) {
			f.Path = filepath.Join(base, f.Path)
		}
	}
	for _, g := range s.Grants {
		for i := range g.Paths {
			if abs, err := filepath.Abs(g.Paths[i].Host); err == nil {
				g.Paths[i].Host = abs
			}
		}
	}
}

// nearestKeys returns the known keys whose spelling is closest to the last of key.
func nearestKeys(key toml.Key) []string {
	return text.Nearest(key[len(key)-1], keysBeside(key))
}

// keysBeside lists the keys of the table that a key stands in; nil: there is no
// such table.
func keysBeside(key toml.Key) (keys []string) {
	t := reflect.TypeFor[Settings]()
	for i, part := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch {
		case t.Kind() == reflect.Map && i < len(key)-1:
			t = t.Elem()
			continue
		case t.Kind() != reflect.Struct:
			return nil
		}
		var next reflect.Type
		keys = nil
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); name != "" && name != "-" {
				keys = append(keys, name)
				if name == part {
					next = f.Type
				}
			}
		}
		if next == nil {
			if i < len(key)-1 {
				return nil
			}
			return keys
		}
		t = next
	}
	return keys
}

// Parse reads the text of a tools.toml and collects everything wrong with it.
func Parse(file, text string) (Settings, []Fault) {
	var s Settings
	md, err := tomlpos.Decode(text, &s)
	tree := tomlpos.Read(text)
	s.places = places{file, tree}
	at := func(key ...string) (line, col int) { return tree.Position(key...) }
	if err != nil {
		return s, []Fault{tomlFault(file, text, err, at)}
	}
	var faults []Fault
	for _, key := range md.Undecoded() {
		if free(key) {
			continue
		}
		line, col := at(key...)
		hint := "check the spelling; tools.toml in the repository explains every key"
		if near := nearestKeys(key); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		faults = append(faults, Fault{file, line, col, fmt.Sprintf("unknown key %s", key), hint})
	}
	check(&s, func(msg, hint string, key ...string) {
		line, col := at(key...)
		faults = append(faults, Fault{file, line, col, msg, hint})
	})
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return s, faults
}

// free reports whether a key lies in a table of the operator's own making.
func free(key toml.Key) bool {
	return len(key) > 2 && ((key[0] == "tools" || key[0] == "grants") && key[2] == "config" || key[0] == "models" && key[2] == "extra")
}

// typeError is how the library tells a value of the wrong type: not as its
// ParseError, but with the key in the text.
var typeError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^toml: line (\d+) \(last key "(.+)"\): (.*)$`) })

// mismatch is how it tells one of a table, with the name of the type in Go.
var mismatch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^type mismatch for \S+: expected (\w+) but found (\w+)`)
})

func tomlFault(file, text string, err error, at func(...string) (int, int)) Fault {
	var pe toml.ParseError
	if errors.As(err, &pe) {
		line, col := breaks(text, pe.Position)
		return Fault{file, line, col, strings.TrimPrefix(pe.Message, "toml: "), pe.Usage}
	}
	m := typeError().FindStringSubmatch(err.Error())
	if m == nil {
		return Fault{file, 1, 1, strings.TrimPrefix(err.Error(), "toml: "), ""}
	}
	line, col := at(strings.Split(m[2], ".")...)
	if n, convErr := strconv.Atoi(m[1]); convErr == nil && n != line {
		line, col = n, 1
	}
	if t := mismatch().FindStringSubmatch(m[3]); t != nil {
		return Fault{file, line, col, fmt.Sprintf("%s: it is a %s and should be a %s", m[2], t[2], t[1]), ""}
	}
	msg := strings.NewReplacer("type slice", "type list", "incompatible types: TOML value has type ", "it is of type ", "; destination has type ", " and should be of type ").Replace(m[3])
	return Fault{file, line, col, m[2] + ": " + msg, ""}
}

// breaks is where a text stops being TOML, both numbers from 1. The offset
// alone is right: the library's own column is that of the line before where
// something stands first in its line, and counts bytes.
func breaks(text string, p toml.Position) (line, col int) {
	text = strings.TrimPrefix(text, "\uFEFF") // as the library counts
	line, col = tomlpos.LineCol(text, max(p.Start, 0))
	if line != p.Line && p.Line > 0 {
		return p.Line, 1
	}
	return line, col
}
