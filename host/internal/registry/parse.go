package registry

import (
	"cmp"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/host/internal/version"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of a manifest, in bytes unless the name says otherwise.
const (
	maxManifest    = 256 << 10
	maxDescription = schema.MaxProse
	maxParams      = 32 << 10 // the schema of a tool, as JSON
	maxTimeout     = time.Hour
	maxTools       = 200
	maxExamples    = 20      // of one tool
	maxExample     = 4 << 10 // the arguments of one, as JSON
	maxKey         = 128     // the name of an argument
	maxShort       = 64      // a version
	maxValue       = 1 << 10 // what is neither text nor short
	maxList        = 100     // asks of one kind, settings, lines to keep
)

// reserved are the names of the tools that weir provides itself.
var reserved = []string{tool.RunScript, tool.LoadHistory, tool.SearchHistory, tool.DescribeTool, tool.FindTools, tool.CallTool}

// ParseManifest decodes the text of the manifest in file. It returns all problems,
// in the order of the document. The Manifest is usable if no Problem is an error.
// It reads a params_file from the folder of file.
func ParseManifest(file string, text []byte) (Manifest, []Problem) {
	return Parse(file, text, false, func(name string) ([]byte, error) {
		return beside(file, name)
	})
}

// Parse is ParseManifest with beside, which reads the files that the manifest
// names; nil means there are none. sound reports that the same text was valid
// before, and Parse then skips slow checks.
func Parse(file string, text []byte, sound bool, beside func(name string) ([]byte, error)) (Manifest, []Problem) {
	d := &doc{file: file, text: string(text)}
	if len(text) > maxManifest {
		return Manifest{}, []Problem{{File: file, Msg: tool.Textf("the manifest is %d bytes long", len(text)), Fix: tool.Textf("shorten it to %d bytes", maxManifest)}}
	}
	root, ok := tomlpos.Locate(d.text)
	if !ok {
		return Manifest{}, []Problem{{File: file, Msg: tool.Textf("the manifest nests deeper than %d levels", tomlpos.MaxDepth), Fix: tool.Textf("flatten it, or move a deep schema into params_file")}}
	}
	var m map[string]any
	_, err := tomlpos.Decode(d.text, &m)
	if err != nil {
		return Manifest{}, []Problem{syntax(file, d.text, err).sanitize()}
	}
	r := reader{table: table{tomlpos.NewTable(m, root, d.wrong), d}, beside: beside, sound: sound, budget: new(schema.Budget)}
	manifest := r.manifest()
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return manifest, d.problems
}

// syntax converts a syntax error of the TOML library to a Problem.
func syntax(file, text string, err error) Problem {
	p := Problem{File: file, Msg: msg.Of(err), Fix: tool.Textf("fix the TOML syntax there")}
	if pe := (toml.ParseError{}); errors.As(err, &pe) {
		p.Line, p.Col = tomlpos.Fault(text, pe)
		p.Key = pe.LastKey
		p.Msg = tool.Text{Format: tomlpos.Reason(pe)}
	}
	return p
}

// A reader turns the root table into a Manifest.
type reader struct {
	table
	beside func(name string) ([]byte, error)
	sound  bool
	fresh  bool // for all tools
	script bool // the plugin is a script, whose SDK writes result objects
	budget *schema.Budget
}

func (r reader) manifest() Manifest {
	var m Manifest
	r.schema()
	m.Name = r.identifier("name", tool.Textf("a plugin"))
	m.Version = text.OneLine(r.within("version", "1.0.0", maxShort), maxShort) // it is a cell of tables
	m.MinHost = r.minHost()
	m.Description = r.text("description")
	m.DescriptionZh = r.text("description_zh")
	m.Wasm = r.module(m.Name)
	r.script = isScript(m.Wasm)
	m.Asks = r.permissions(r.table.table("permissions"))
	r.fresh = r.boolean("fresh")
	limits := r.callLimits(r.table.table("limits"))
	m.Settings = r.settings(r.table.table("config"))
	m.Tools = r.tools(limits)
	if m.Description == "" && len(m.Tools) > 0 {
		m.Description, m.DescriptionZh = m.Tools[0].Spec.Description, m.Tools[0].Spec.DescriptionZh
	}
	r.done()
	return m
}

// schema checks the version of the manifest itself.
func (r reader) schema() {
	if !r.need("schema", tool.Textf("write schema = %d at the top", SchemaVersion)) {
		r.Get("schema")
		return
	}
	if n, ok := tomlpos.Typed[int64](r.table.Table, "schema", tool.Textf("schema = %d", SchemaVersion)); ok && n != SchemaVersion {
		r.Bad("schema", tool.Textf("write schema = %d, or use a host that knows it", SchemaVersion), "schema is %d, and this host reads %d", n, SchemaVersion)
	}
}

// identifier reads a name that must satisfy tool.ValidName.
func (t table) identifier(key string, what tool.Text) string {
	if !t.need(key, tool.Textf("write %s = \"…\"", key)) {
		t.Get(key)
		return ""
	}
	s, ok := tomlpos.Typed[string](t.Table, key, tool.Textf("a string, for example %s = \"grep_search\"", key))
	switch {
	case !ok:
	case !tool.ValidName(s):
		t.Bad(key, tool.Textf("write a small letter, then small letters, digits and _, at most 64 characters"), "%s is %q, which cannot name %s", t.Name(key), s, what)
	case strings.Contains(s, "__"):
		t.Bad(key, tool.Textf("use single underscores: two in a row mark the tools of other servers"), "%s is %q, which cannot name %s", t.Name(key), s, what)
	default:
		return s
	}
	return ""
}

func (r reader) minHost() string {
	s, ok := tomlpos.Typed[string](r.table.Table, "min_host", tool.Textf(`a version in quotes, for example min_host = "0.1.0"`))
	if ok && version.Parse(s) == nil {
		r.Bad("min_host", tool.Textf(`write a version, for example min_host = "0.1.0"`), "min_host is %q", s)
		return ""
	}
	return s
}

// module reads the path of the module, or of the script that it is made of; either
// stays inside the manifest's folder.
func (r reader) module(name string) string {
	script, _ := tomlpos.Typed[string](r.table.Table, "script", tool.Textf(`a path in quotes, for example script = "word_count.js"`))
	wasm, _ := tomlpos.Typed[string](r.table.Table, "wasm", tool.Textf(`a path in quotes, for example wasm = "grep_search.wasm"`))
	switch {
	case script != "" && wasm != "":
		r.Bad("script", tool.Textf("keep one of the two"), "script and wasm are both there")
	case strings.HasSuffix(script, ".ts"):
		r.Bad("script", tool.Textf("write script = %q; `weir plugin build` makes it of main.ts", "main.js"), "script is %q, which is TypeScript", script)
	case script != "" && !isScript(script):
		r.Bad("script", tool.Textf(`name the script with .js at the end, or write wasm = "…" for a module`), "script is %q, which is no JavaScript", script)
	case wasm != "" && isScript(wasm):
		r.Bad("wasm", tool.Textf("write script = %q", wasm), "wasm is %q, which is a script", wasm)
	}
	key, fix, path := "wasm", tool.Textf("put the module beside the manifest, or below it"), cmp.Or(wasm, name+".wasm")
	if script != "" {
		key, fix, path = "script", tool.Textf("put the script beside the manifest, or below it"), script
	}
	if !filepath.IsLocal(path) {
		r.Bad(key, fix, "%s is %q, which leads out of the manifest's folder", key, path)
	}
	return path
}

// callLimits reads [limits]: what one call may take.
func (r reader) callLimits(t table) tool.Limits {
	var l tool.Limits
	if t.Table != nil {
		l.Timeout = t.duration("timeout", "10s", maxTimeout)
		l.Memory = t.bytes("memory", 64<<10)
		t.done()
	}
	return l
}

var settingName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) })

// settings reads the tables below [config], in the manifest's order.
func (r reader) settings(t table) []Setting {
	if t.Table == nil {
		return nil
	}
	var out []Setting
	for i, name := range t.Position.Order {
		if i == maxList {
			t.Bad(name, tool.Textf("shorten them to %d", maxList), "%s holds %d settings", t.Path, len(t.Position.Order))
			break
		}
		c := t.table(name)
		if c.Table == nil {
			continue
		}
		if !settingName().MatchString(name) {
			t.d.add(t.Position.Key(name).At, Problem{Key: t.Name(name), Msg: tool.Textf("%q cannot name a setting", name), Fix: tool.Textf("write a letter, then letters, digits, _ and -, at most 64 characters")})
		}
		s := Setting{Name: name, Description: c.text("description")}
		if !c.need("type", tool.Textf(`write type = "string", "integer", "number" or "boolean"`)) {
			c.Get("type")
		} else {
			s.Type = c.oneOf("type", "string", "integer", "number", "boolean")
			if c.Values["type"] != s.Type {
				s.Type = "" // what was meant is not known
			}
		}
		if v, ok := c.Get("default"); ok {
			var err error
			if s.Default, err = s.Value(v); err != nil && s.Type != "" {
				c.Bad("default", tool.Textf("write a default of the declared type"), "%s %s", c.Name("default"), err)
			}
			if given, ok := v.(string); ok && text.Clean(given) != given {
				c.Bad("default", hiddenFix(), "%s holds characters that cannot be seen", c.Name("default"))
			} else if len(given) > maxExample {
				c.Bad("default", tool.Textf("shorten it to %d bytes", maxExample), "%s is %d bytes long", c.Name("default"), len(given))
			}
		}
		c.done()
		out = append(out, s)
	}
	return out
}

// Value checks an operator's value for the setting and returns it in the
// declared type. The error continues the setting's name: "is …, and must be …".
func (s Setting) Value(v any) (any, error) {
	switch s.Type {
	case "string":
		if t, ok := v.(string); ok {
			return t, nil
		}
	case "boolean":
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case "integer":
		switch n := v.(type) {
		case int64:
			return n, nil
		case int:
			return int64(n), nil
		}
	case "number":
		switch n := v.(type) {
		case float64:
			return n, nil
		case int64:
			return float64(n), nil
		case int:
			return float64(n), nil
		}
	}
	return nil, msg.Errorf("is %s, and must be of type %s", show(v), s.Type)
}
