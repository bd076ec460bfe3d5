package plugintest

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// CaseDir is the folder next to a manifest that contains the cases. CaseFiles is
// the pattern of their file names.
const (
	CaseDir   = "tests"
	CaseFiles = "*.toml"
)

// A file is one file of cases.
type file struct {
	*source
	world world // the base of its cases' worlds
	tool  string
	cases []testCase
	fuzz  *fuzzing // nil: not configured
}

// A testCase is one call and its expected result.
type testCase struct {
	name   string
	at     Problem // its position
	tool   string
	args   json.RawMessage
	world  world
	expect expect
}

// A fuzzing configures the calls of a tool with generated arguments.
type fuzzing struct {
	at    Problem
	calls int // for each tool
	seed  uint64
}

// readFile reads one file of cases. tools are the plugin's.
func readFile(path string, tools []string) *file {
	src, root := openSource(path)
	f := &file{source: src}
	if root.Table == nil {
		return f
	}
	f.tool = root.tool(tools)
	if f.tool == "" && len(tools) == 1 {
		f.tool = tools[0]
	}
	f.world = root.world(world{}, "0..")
	if t := root.node("fuzz"); t.Table != nil {
		f.fuzz = t.fuzzing(root.place("fuzz"))
	}
	tables := root.nodes("case")
	for _, n := range tables {
		f.cases = append(f.cases, f.testCase(n, tools))
	}
	if len(tables) == 0 && f.fuzz == nil {
		src.problems = append(src.problems, Problem{File: src.file, Msg: tool.Textf("the file holds no case"), Fix: tool.Textf(`begin one with [[case]], name = "…" and args = { … }`)})
	}
	root.done()
	f.distinct()
	return f
}

// tool decodes the name of the tool.
func (n node) tool(tools []string) string {
	name := n.text("tool")
	if name != "" && len(tools) > 0 && !slices.Contains(tools, name) {
		n.Bad("tool", tool.Textf("write one of: %s", join(tools)), "the plugin has no tool %q", name)
	}
	return name
}

func (n node) fuzzing(at Problem) *fuzzing {
	z := &fuzzing{at: at, calls: -1}
	if calls, ok := n.whole("calls", 0); ok {
		z.calls = calls
	}
	if seed, ok := n.whole("seed", 0); ok {
		z.seed = uint64(seed)
	}
	n.done()
	return z
}

func (f *file) testCase(n node, tools []string) testCase {
	c := testCase{name: n.text("name"), at: n.src.at(n.Position.At)}
	if _, ok := n.Values["name"]; !ok {
		n.Bad("name", tool.Textf(`say in a few words what the case shows: name = "…"`), "the case has no name")
	}
	if c.tool = n.tool(tools); c.tool == "" {
		c.tool = f.tool
	}
	if c.tool == "" && len(tools) > 1 {
		n.Bad("tool", tool.Textf("write tool = with one of: %s", join(tools)), "the plugin has several tools, and the case names none")
	}
	c.args = n.args()
	c.world = n.world(f.world, "1..")
	c.expect = n.node("expect").expect()
	n.done()
	return c
}

// args decodes the arguments of a call: a table, or JSON where TOML has no such
// value.
func (n node) args() json.RawMessage {
	args := n.json("args")
	if _, isTable := n.Values["args"].(map[string]any); args != nil && !isTable {
		n.Bad("args", tool.Textf("write a table: args = { … }"), "%s is %s", n.Name("args"), tomlpos.Kind(n.Values["args"]))
	}
	text := n.text("args_json")
	switch {
	case text == "":
	case args != nil:
		n.Bad("args_json", tool.Textf("keep one of the two"), "both args and args_json are given")
	case !json.Valid([]byte(text)):
		n.Bad("args_json", tool.Textf("fix the JSON"), "%s is not valid JSON", n.Name("args_json"))
	default:
		return json.RawMessage(text)
	}
	if args == nil {
		return json.RawMessage("{}")
	}
	return args
}

// distinct reports cases with the same name, because --run selects by name.
func (f *file) distinct() {
	seen := map[string]int{}
	for _, c := range f.cases {
		if line, again := seen[c.name]; again && c.name != "" {
			p := c.at
			p.Msg, p.Fix = tool.Textf("another case of this file has the same name: that of line %d", line), tool.Textf("give each a name of its own")
			f.problems = append(f.problems, p)
			continue
		}
		seen[c.name] = c.at.Line
	}
}

// A world is the environment of a call.
type world struct {
	config   map[string]any
	files    map[string]content // by path within a granted folder
	folder   string             // copied into it first; empty: none
	http     []*exchange        // those of the case first
	hosts    []string           // granted; nil: all that the plugin asks for
	secrets  map[string]string
	operator tool.Limits
	locale   tool.Locale
}

// A content is the content of a file.
type content struct {
	data []byte
	at   Problem
}

// world decodes the environment of a case, or of a file of cases, on top of base
// values. times is how often each request must be made by default.
func (n node) world(over world, times string) world {
	w := over
	w.locale = tool.Locale(n.text("locale"))
	if w.locale != "" && w.locale != tool.En && w.locale != tool.Zh {
		n.Bad("locale", tool.Textf(`write "en" or "zh"`), "%s is %q", n.Name("locale"), w.locale)
	}
	w.locale = cmp.Or(w.locale, over.locale)
	if t := n.node("config"); t.Table != nil {
		w.config = merged(over.config, t.Values)
	}
	w.files = merged(over.files, n.files())
	if folder := n.text("folder"); folder != "" {
		w.folder = filepath.Join(filepath.Dir(n.src.file), filepath.FromSlash(folder))
		if info, err := os.Stat(w.folder); err != nil || !info.IsDir() || !filepath.IsLocal(filepath.FromSlash(folder)) {
			n.Bad("folder", tool.Textf("name a folder beside this file, for example folder = \"testdata\""), "there is no folder %q", folder)
		}
	}
	var http []*exchange
	for _, t := range n.nodes("http") {
		http = append(http, t.exchange(times))
	}
	w.http = append(http, over.http...)
	if hosts, ok := n.list("hosts"); ok {
		w.hosts = append([]string{}, hosts...)
	}
	w.secrets = merged(over.secrets, n.named("secrets"))
	if t := n.node("operator"); t.Table != nil {
		w.operator = t.limits().Or(over.operator)
	}
	return w
}

func merged[V any](below, above map[string]V) map[string]V {
	if len(below)+len(above) == 0 {
		return nil
	}
	out := maps.Clone(below)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, above)
	return out
}

// limits decodes the operator's limits, which replace the declared ones.
func (n node) limits() (l tool.Limits) {
	l.MaxChars, _ = n.whole("max_chars", tool.MinMaxChars)
	l.MaxLines, _ = n.whole("max_lines", 2)
	l.Strategy = tool.Strategy(n.text("strategy"))
	if !l.Strategy.Valid() {
		n.Bad("strategy", tool.Textf("write head_tail, head_only, tail_only, json or summarize"), "%s is %q", n.Name("strategy"), l.Strategy)
	}
	l.Timeout, l.Memory = n.duration("timeout"), n.bytes("memory")
	n.done()
	return l
}

// files decodes [case.files]: paths within the granted folder, with the text or
// its source.
func (n node) files() map[string]content {
	t := n.node("files")
	if t.Table == nil {
		return nil
	}
	out := map[string]content{}
	for _, path := range slices.Sorted(maps.Keys(t.Values)) {
		c := content{at: t.place(path)}
		switch v := t.Values[path].(type) {
		case string:
			c.data = []byte(v)
			t.Get(path)
		case map[string]any:
			c.data = t.node(path).content()
		default:
			t.Bad(path, tool.Textf(`write its text, or { from = "…" }, { base64 = "…" } or { text = "…", repeat = 100 }`), "the file %s is %s", path, tomlpos.Kind(v))
		}
		out[path] = c
	}
	return out
}
