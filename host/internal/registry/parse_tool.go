package registry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// tools reads every [[tool]].
func (r reader) tools(limits tool.Limits) []Tool {
	tables := r.tables("tool")
	if len(tables) == 0 {
		r.Bad("tool", tool.Textf("add a [[tool]] with name, description and parameters"), "the manifest declares no tool")
	}
	var out []Tool
	for _, t := range tables {
		one := r.tool(t, limits)
		if slices.ContainsFunc(out, func(o Tool) bool { return o.Spec.Name == one.Spec.Name && one.Spec.Name != "" }) {
			t.Bad("name", tool.Textf("give each tool a name of its own"), "two tools of this manifest are named %q", one.Spec.Name)
		}
		out = append(out, one)
	}
	return out
}

func (r reader) tool(t table, limits tool.Limits) Tool {
	var o Tool
	o.Spec.Name = t.identifier("name", tool.Textf("a tool"))
	switch taken := text.LikeOneOf(o.Spec.Name, reserved); taken {
	case "":
	case o.Spec.Name:
		t.Bad("name", tool.Textf("choose another name"), "%q is the name of a tool that the host provides itself", o.Spec.Name)
	default:
		t.Bad("name", tool.Textf("choose another name"), "%q is easily taken for %s, which the host provides itself", o.Spec.Name, taken)
	}
	if t.need("description", tool.Textf("say in a sentence or two what the tool does and when to use it")) {
		o.Spec.Description = t.text("description")
		if o.Spec.Description == "" {
			t.Bad("description", tool.Textf("say in a sentence or two what the tool does and when to use it"), "%s is empty", t.Name("description"))
		}
	}
	t.Get("description")
	o.Spec.DescriptionZh = t.text("description_zh")
	o.Export = cmp.Or(t.str("export", "run"), o.Spec.Name)
	text, object := string(FormatText), string(FormatMCP) // the default comes first
	o.Format = Format(t.oneOf("format", map[bool][]string{false: {text, object}, true: {object, text}}[r.script]...))
	o.EmptyOK = t.boolean("empty_ok")
	o.Fresh = t.boolean("fresh") || r.fresh
	if c := t.table("cache"); c.Table != nil {
		o.TTL = c.duration("ttl", "10m", 30*24*time.Hour)
		c.done()
	}
	if c := t.table("rate"); c.Table != nil {
		o.PerMinute = c.whole("per_minute", 10, 0, tool.Textf("; 0 is no limit"))
		o.Parallel = c.whole("parallel", 1, 0, tool.Textf("; 0 leaves it to the host"))
		c.done()
	}
	if h := t.table("hints"); h.Table != nil {
		o.Spec.Hints = tool.Hints{ReadOnly: h.boolean("read_only"), Idempotent: h.boolean("idempotent"), Network: h.boolean("network")}
		h.done()
	}
	o.Spec.Output = r.output(t.table("output"))
	o.Spec.Output.Timeout, o.Spec.Output.Memory = limits.Timeout, limits.Memory
	params, compiled := r.params(t)
	o.Spec.Params, o.Spec.ParamsZh = schema.ByLanguage(params)
	o.Schema = compiled
	o.Spec.Examples = r.examples(t, o.Schema)
	t.done()
	return o
}

// output reads [tool.output], the declared limit.
func (r reader) output(t table) tool.Limits {
	var l tool.Limits
	if t.Table == nil {
		return l
	}
	l.MaxChars = t.whole("max_chars", tool.DefaultMaxChars, tool.MinMaxChars, tool.Textf(": the notice about what is left out alone takes %d", tool.NoticeChars))
	l.MaxLines = t.whole("max_lines", tool.DefaultMaxLines, 2, tool.Textf(": the notice takes a line"))
	l.OpenEnded = t.boolean("open_ended")
	l.Strategy = tool.Strategy(t.oneOf("strategy", string(tool.HeadTail), string(tool.HeadOnly), string(tool.TailOnly), string(tool.JSON), string(tool.Summarize)))
	if _, ok := t.Values["strategy"]; !ok {
		l.Strategy = ""
	}
	l.Head, l.Tail = t.share("head"), t.share("tail")
	if l.Head+l.Tail > 1 {
		t.Bad("tail", tool.Textf("make head and tail together at most 1; what they leave goes to the keep lines"), "%s and %s are %v and %v", t.Name("head"), t.Name("tail"), l.Head, l.Tail)
	}
	l.Keep = t.keep()
	l.KeepContext = t.whole("keep_context", 1, 0, tool.Textf("; 0 shows only the lines that match"))
	if _, ok := t.Values["archive"]; ok {
		l.Archive = tool.ArchiveMode(t.oneOf("archive", string(tool.ArchiveAuto), string(tool.ArchiveAlways), string(tool.ArchiveNever)))
	}
	t.Get("archive")
	t.done()
	return l
}

// keep returns the lines to keep: "auto", "none", or a list of expressions.
func (t table) keep() (out []string) {
	if word, ok := t.Values["keep"].(string); ok {
		t.Get("keep")
		if word != tool.KeepLinesAuto && word != tool.KeepLinesNone {
			t.Bad("keep", tool.Textf("write \"auto\", \"none\", or a list of expressions: keep = [%q]", word), "%s is %q", t.Name("keep"), word)
			return nil
		}
		return []string{word}
	}
	var budget schema.Budget
	t.strings("keep", func(s string, at int) {
		if err := budget.CheckKeep(s); err != nil {
			t.d.add(at, Problem{Key: t.Name("keep"), Msg: msg.Of(err), Fix: tool.Textf("write RE2 syntax; literal text needs \\ before . ( [ and the like")})
			return
		}
		out = append(out, s)
	})
	if len(out) > 1 && slices.Contains(out, tool.KeepLinesNone) {
		t.Bad("keep", tool.Textf("write keep = \"none\" alone, or (none) for lines with this word"), "%s has \"none\" beside other expressions", t.Name("keep"))
	}
	if _, ok := t.Values["keep"]; ok && out == nil {
		return []string{tool.KeepLinesNone} // an empty list
	}
	return out
}

// params reads the schema of a tool's arguments from [tool.params] or params_file.
func (r reader) params(t table) (json.RawMessage, *schema.Schema) {
	text := t.asJSON("params")
	name, isFile := tomlpos.Typed[string](t.Table, "params_file", tool.Textf(`a path in quotes, for example params_file = "params.json"`))
	switch {
	case isFile && text != nil:
		t.Bad("params_file", tool.Textf("keep one of the two"), "both %s and %s are given", t.Name("params"), t.Name("params_file"))
		return nil, nil
	case isFile:
		if text = r.paramsFile(t, name); text == nil {
			return nil, nil
		}
	case text == nil:
		text = json.RawMessage(schema.NoParams)
	case len(text) > maxParams:
		return nil, nil // already reported
	}
	compiled := schema.Lazy(text)
	if !r.sound {
		var err error
		if compiled, err = r.budget.Compile(text); err != nil {
			r.badSchema(t, isFile, err)
			return nil, nil
		}
	}
	var keys, properties map[string]json.RawMessage
	var required []string
	_ = json.Unmarshal(text, &keys) // it was compiled
	_ = json.Unmarshal(keys["required"], &required)
	_ = json.Unmarshal(keys["properties"], &properties)
	for i, name := range required {
		if _, declared := properties[name]; !declared {
			at := t.Position.Key("params").Key("required").Item(i).Value
			t.d.add(at, Problem{Key: t.Name("params.required"), Msg: tool.Textf("%s names %q, which is not among the properties", t.Name("params.required"), name), Fix: tool.Textf("declare it below properties, or fix the spelling"), Warning: true})
		}
	}
	return text, compiled
}

// badSchema notes a schema's error at the place it is about.
func (r reader) badSchema(t table, inFile bool, err error) {
	key, at := "params", t.Position.Key("params").Value
	se := (*schema.Error)(nil)
	if inFile {
		key, at = "params_file", t.Position.Key("params_file").Value
	} else if errors.As(err, &se) {
		s := t.Position.Key("params")
		for _, p := range se.Path {
			s = step(s, p)
		}
		at = s.Value
	}
	t.d.add(at, Problem{Key: t.Name(key), Msg: tool.Textf("%s: %s", t.Name(key), err), Fix: tool.Textf(`write a JSON Schema of type = "object"`)})
}

// step follows one key or element number of a JSON pointer.
func step(s *tomlpos.Position, name string) *tomlpos.Position {
	var i int
	if len(s.Items) > 0 {
		if _, err := fmt.Sscan(name, &i); err == nil && i >= 0 {
			return s.Item(i)
		}
	}
	return s.Key(name)
}

// paramsFile reads a schema from a JSON file beside the manifest.
func (r reader) paramsFile(t table, name string) json.RawMessage {
	switch {
	case r.beside == nil:
		t.Bad("params_file", tool.Textf("write the schema into [tool.params]: a packed plugin has no files beside it"), "%s is given in a packed manifest", t.Name("params_file"))
		return nil
	case !filepath.IsLocal(name):
		t.Bad("params_file", tool.Textf("put the file beside the manifest"), "%s is %q, which leads out of the manifest's folder", t.Name("params_file"), name)
		return nil
	}
	text, err := r.beside(name)
	if err != nil {
		t.Bad("params_file", tool.Textf("put the file beside the manifest, or write the schema into [tool.params]"), "%s: %s cannot be read", t.Name("params_file"), name)
		return nil
	}
	var any json.RawMessage
	if err := json.Unmarshal(text, &any); err != nil {
		line, col := 1, 1
		if se := (*json.SyntaxError)(nil); errors.As(err, &se) {
			line, col = tomlpos.LineCol(string(text), int(max(se.Offset-1, 0)))
		}
		t.Bad("params_file", tool.Textf("fix the JSON there"), "%s:%d:%d is not valid JSON", name, line, col)
		return nil
	}
	tidy, err := schema.TidyKnown(text)
	if err != nil {
		t.Bad("params_file", tool.Textf("fix the JSON there"), "%s: %s", name, err)
		return nil
	}
	return tidy
}

// examples reads the examples and holds each to the tool's schema.
func (r reader) examples(t table, s *schema.Schema) []tool.Example {
	var out []tool.Example
	for _, e := range t.tables("examples") {
		ex := tool.Example{Ask: e.text("ask"), AskZh: e.text("ask_zh")}
		if ex.Ask == "" {
			e.Bad("ask", tool.Textf(`write the question that the example answers: ask = "…"`), "%s is missing", e.Name("ask"))
		}
		if r.sound {
			s = nil // they fitted
		}
		ex.Args = e.exampleArgs("args", s, r.budget)
		ex.ArgsZh = e.exampleArgs("args_zh", s, r.budget)
		e.done()
		out = append(out, ex)
	}
	return out
}

// exampleArgs reads args or args_zh and holds them to the schema; nil: to none. It returns
// nil without them.
func (t table) exampleArgs(key string, s *schema.Schema, budget *schema.Budget) json.RawMessage {
	if v, ok := t.Values[key]; ok {
		if _, isTable := v.(map[string]any); !isTable {
			t.Get(key)
			t.Bad(key, tool.Textf("write a table, for example %s = { pattern = \"x\" }", key), "%s is %s", t.Name(key), tomlpos.Kind(v))
			return nil
		}
	}
	args := t.asJSON(key)
	if args == nil && key == "args" {
		args = json.RawMessage("{}")
	}
	if args == nil || s == nil || len(args) > maxExample {
		return args
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return args
	}
	if wrong := budget.Check(s, v); len(wrong) > 0 {
		t.Bad(key, tool.Textf("fix the example, or the parameters"), "%s does not fit the tool's parameters: %s", t.Name(key), text.Join(wrong))
	}
	return args
}
