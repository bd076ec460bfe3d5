package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// guests is the folder with the compiled plugins of testdata, each as
// <name>.wasm, built once per run by the plain Go toolchain.
var guests string

// workerCommand starts a process that runs a plugin.
var workerCommand []string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "weir-host-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		guests = dir
		if workerCommand, err = guesttest.Worker(".."); err != nil {
			panic(err)
		}
		for _, name := range []string{"probe", "notes", "servlet", "hyper", "pen"} {
			if err := guesttest.BuildTo(filepath.Join("testdata", "plugins", name), filepath.Join(dir, name+".wasm")); err != nil {
				panic(err)
			}
		}
		return pgtest.Main{M: m, Part: "^TestMachines|^TestArchiveSurvives|^TestWholeOf|^TestConcurrentCalls"}.Run()
	}())
}

// drop puts plugins of testdata into a fresh folder, as an operator would.
func drop(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		place(t, dir, name, slurp(t, filepath.Join("testdata", "plugins", name, "plugin.toml")))
	}
	return dir
}

// place makes a plugin folder with a manifest and the compiled guest of the
// plugin probe, or of the same name.
func place(t testing.TB, dir, name string, manifest []byte) {
	t.Helper()
	guest := name
	if _, err := os.Stat(filepath.Join(guests, guest+".wasm")); err != nil {
		guest = "probe"
	}
	write(t, filepath.Join(dir, name, "plugin.toml"), manifest)
	write(t, filepath.Join(dir, name, name+".wasm"), slurp(t, filepath.Join(guests, guest+".wasm")))
}

func slurp(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// open opens a host on folders with the shared cache; it ends with the test.
func open(t testing.TB, dir string, change func(*Config)) *Host {
	t.Helper()
	return start(t, dir, func(c *Config) {
		if change != nil {
			change(c)
		}
		c.Archive.URL = pgtest.URL(t, c.Archive.Path)
	})
}

// start is open with a file in place of the database of the run.
func start(t testing.TB, dir string, change func(*Config)) *Host {
	t.Helper()
	cfg := Config{Settings: Settings{Folders: []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}}}, CacheDir: guesttest.Cache(t), Version: "0.1.0"}
	cfg.Archive.Path = filepath.Join(t.TempDir(), "archive.db")
	change(&cfg)
	h, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// call runs a tool and expects an answer.
func call(t testing.TB, s *Session, name, args string) tool.Result {
	t.Helper()
	r := try(t, s, name, args)
	if r.Err != nil {
		t.Fatalf("%s(%s): %v", name, args, r.Err)
	}
	return r
}

// try runs a tool; its failure is an answer too.
func try(t testing.TB, s *Session, name, args string) tool.Result {
	t.Helper()
	r, err := s.Call(t.Context(), tool.Call{ID: "c1", Tool: name, Args: json.RawMessage(args), Turn: 1})
	if err != nil {
		t.Fatalf("%s(%s): %v", name, args, err)
	}
	return r
}

func TestPluginsAndTools(t *testing.T) {
	dir := drop(t, "probe", "notes")
	h := open(t, dir, func(c *Config) {
		c.Tools = map[string]ToolConfig{"crash": {Disabled: new(true)}}
	})
	var got []string
	for _, p := range h.Plugins() {
		got = append(got, fmt.Sprintf("%s %s: %s | %s", p.Name, p.State, p.Why, p.Fix))
	}
	want := []string{
		`notes waiting: it asks for the folder /workspace (ro) ("reads the notes") and is not granted it | in tools.toml, below [grants.notes], write: paths = [{ guest = "/workspace", host = "a folder of yours", mode = "ro" }]`,
		`probe ready:  | `,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("plugins:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	names := map[string]bool{}
	var order []string
	for _, s := range h.Session("me", "c").Tools() {
		names[s.Name] = true
		order = append(order, s.Name)
	}
	if names["note"] || names["crash"] || !names["long"] {
		t.Errorf("the waiting plugin's tool and the disabled one must be out, the others in: %v", order)
	}
	if n := len(order); order[n-2] != tool.LoadHistory || order[n-1] != tool.SearchHistory {
		t.Errorf("the host's own tools come last: %v", order)
	}
	if r := try(t, h.Session("me", "c"), "note", "{}"); r.Err == nil || r.Err.Code != tool.UnknownTool {
		t.Errorf("a waiting plugin's tool must not run: %+v", r)
	}
}

// Tool returns the same as Tools.
func TestToolIsOneOfTools(t *testing.T) {
	dir := drop(t, "probe", "notes")
	place(t, dir, "bad", manifest("bad", "bad", "main", "")) // it imports an unknown function
	write(t, filepath.Join(dir, "bad", "bad.wasm"), wasmtest.New().Types(wasmtest.Func(nil, nil)).
		Imports(wasmtest.ImportFunc("nowhere", "nothing", 0)).Exports(wasmtest.ExportFunc("main", 0)).Bytes())
	h := open(t, dir, nil)
	if _, ok := h.Tool("bad"); !ok {
		t.Error("before anybody called it, a module is taken for good")
	}
	if r := try(t, h.Session("me", "c1"), "bad", ""); r.Err == nil {
		t.Fatal("it ran")
	}
	all := h.Tools()
	for _, want := range all {
		if got, ok := h.Tool(want.Spec.Name); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v %+v", want.Spec.Name, ok, got)
		}
	}
	if len(all) < 10 || all[len(all)-1].Spec.Name != tool.SearchHistory {
		t.Errorf("%d tools", len(all))
	}
	for _, name := range []string{"", "note", "bad", "nothing"} {
		if got, ok := h.Tool(name); ok {
			t.Errorf("%q cannot be called: %+v", name, got)
		}
	}
}

func TestToolInfoNamesTheLayers(t *testing.T) {
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Defaults.MaxLines = 77
		c.CeilingChars = 5000
		c.Tools = map[string]ToolConfig{
			"small": {Limits: tool.Limits{MaxChars: 900, Strategy: tool.TailOnly}},
			"long":  {Limits: tool.Limits{MaxChars: 20000}},
		}
	})
	got := map[string]plugin.ToolInfo{}
	for _, i := range h.Tools() {
		got[i.Spec.Name] = i
	}
	tests := []struct {
		name        string
		chars       int
		charsBy     tool.Layer
		lines       int
		linesBy     tool.Layer
		strategy    tool.Strategy
		strategyBy  tool.Layer
		declaration int
	}{
		{"settings", 1234, tool.LayerTool, 56, tool.LayerTool, tool.HeadTail, tool.LayerDefault, 1234},    // declared
		{"small", 900, tool.LayerOperator, 77, tool.LayerDefault, tool.TailOnly, tool.LayerOperator, 300}, // the operator raises
		{"long", 5000, tool.LayerCeiling, 77, tool.LayerDefault, tool.HeadTail, tool.LayerDefault, 2000},  // but not over the ceiling
		{"bare", 5000, tool.LayerCeiling, 77, tool.LayerDefault, tool.HeadTail, tool.LayerDefault, 0},     // 8,000 by default is over it too
	}
	for _, tt := range tests {
		i := got[tt.name]
		e := i.Effective
		if e.MaxChars != tt.chars || i.CharsBy != tt.charsBy || e.MaxLines != tt.lines || i.LinesBy != tt.linesBy ||
			e.Strategy != tt.strategy || i.StrategyBy != tt.strategyBy || i.Declared.MaxChars != tt.declaration {
			t.Errorf("%s: %+v", tt.name, i)
		}
		if i.Spec.Output.MaxChars != tt.chars {
			t.Errorf("%s: the Spec shows %d characters, %d are in force", tt.name, i.Spec.Output.MaxChars, tt.chars)
		}
	}
}

// The bound that the sandbox sets is shown before a person approves, and after.
func TestToolInfoNamesTheDefaultMemory(t *testing.T) {
	h := open(t, drop(t, "pen"), nil)
	review, err := h.Review(t.Context(), "pen")
	if err != nil || review.Serving == nil {
		t.Fatalf("%v: %+v", err, review)
	}
	for _, i := range review.Serving.Tools {
		if i.Effective.Memory != sandbox.DefaultGoMemory || i.MemoryBy != tool.LayerDefault {
			t.Errorf("%s before a person approves: memory %s by %q", i.Spec.Name, i.Effective.Memory, i.MemoryBy)
		}
	}
	for _, i := range h.Tools() {
		if want := map[bool]tool.Bytes{true: sandbox.DefaultGoMemory}[i.Plugin == "pen"]; i.Effective.Memory != want {
			t.Errorf("%s: memory %s, not %s", i.Spec.Name, i.Effective.Memory, want)
		}
	}
}

func TestOpenRefusesConfig(t *testing.T) {
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.CeilingChars = -1 }, "the ceiling of -1 characters is too low"},
		{func(c *Config) { c.CeilingChars = 100 }, "the ceiling of 100 characters is too low"}, // under the notice
		{func(c *Config) { c.Defaults.MaxChars = 10 }, "the default limits: max_chars is 10"},
		{func(c *Config) { c.Defaults.MaxLines = -5 }, "max_lines is -5"},
		{func(c *Config) { c.Defaults.MaxLines = 1 }, "max_lines is 1"}, // the notice takes it
		{func(c *Config) { c.Defaults.Timeout = -1 }, "timeout is -1ns"},
		{func(c *Config) { c.Defaults.Memory = -1 }, "memory is -1"},
		{func(c *Config) { c.Defaults.Head, c.Defaults.Tail = 0.8, 0.8 }, "make at most 1 together"},
		{func(c *Config) { c.Tools = map[string]ToolConfig{"x": {Limits: tool.Limits{Strategy: "middle"}}} }, `the limits of the tool x: strategy is "middle"`},
		{func(c *Config) { c.Tools = map[string]ToolConfig{"x": {Limits: tool.Limits{Keep: []string{"("}}}} }, "the limits of the tool x: keep"},
		{func(c *Config) { c.Tools = map[string]ToolConfig{"x": {Limits: tool.Limits{Archive: "maybe"}}} }, `archive is "maybe"`},
		{func(c *Config) { c.Folders = []plugin.Folder{{Path: "p", Trust: "blind"}} }, `the trust of the folder p is "blind"`},
		{func(c *Config) {
			c.Grants = map[string]plugin.Grant{"x": {Paths: []plugin.PathGrant{{Guest: "/w", Host: ".", Mode: "w"}}}}
		}, `the grant of /w for x: mode is "w"`},
	}
	for _, tt := range tests {
		var cfg Config
		tt.change(&cfg)
		h, err := Open(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || h != nil {
			t.Errorf("want an error with %q, got %v", tt.want, err)
		}
	}
}

func TestZeroConfig(t *testing.T) {
	h, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	temp := h.temp
	if len(h.Plugins()) != 0 || len(h.Tools()) != 2 {
		t.Errorf("plugins %v, tools %v", h.Plugins(), h.Tools())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error("closing twice:", err)
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("the temporary archive in %s is still there", temp)
	}
}

func TestClosedHost(t *testing.T) {
	h, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := h.Session("me", "c")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), tool.Call{Tool: tool.LoadHistory}); err != ErrClosed {
		t.Errorf("a call: %v", err)
	}
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != ErrClosed {
		t.Errorf("a reload: %v", err)
	}
	h.Warm(t.Context(), func(string, time.Duration, error) { t.Error("nothing is compiled on a closed host") })
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	h, err := Open(t.Context(), Config{Settings: Settings{Folders: []plugin.Folder{{Path: drop(t, "probe")}}, Sandbox: Sandbox{Spares: 2}}, CacheDir: guesttest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	call(t, h.Session("me", "c"), "long", `{"Lines":100,"Width":50}`)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}
