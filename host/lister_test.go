package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/runner"
	wt "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// thirdParty makes a small module of a foreign ABI whose listing export answers
// with the text, and whose other export says that the list has changed and traps.
func thirdParty(list, call, answer string) []byte {
	text := []byte(answer)
	text = append(text, bytes.Repeat([]byte(" "), (8-len(text)%8)%8)...)
	n := wt.S32(int32(len(text)))
	return wt.New().
		Types(wt.Func(nil, []byte{wt.I32}), wt.Func([]byte{wt.I64}, []byte{wt.I64}), wt.Func([]byte{wt.I64, wt.I64}, nil), wt.Func(nil, nil)).
		Imports(wt.ImportFunc("extism:host/env", "alloc", 1), wt.ImportFunc("extism:host/env", "store_u64", 2), wt.ImportFunc("extism:host/env", "output_set", 2), wt.ImportFunc("extism:host/user", "notify_tool_list_changed", 3)).
		Functions(0, 0).
		Memories(wt.Limits(uint32(len(text)>>16)+1, -1)).
		Exports(wt.ExportFunc(list, 4), wt.ExportFunc(call, 5)).
		Code(wt.BodyWith([][]byte{wt.Locals(1, wt.I64), wt.Locals(1, wt.I32)}, wt.Cat(
			[]byte{wt.I64Const}, wt.S64(int64(len(text))), []byte{wt.Call, 0, wt.LocalSet, 0},
			[]byte{wt.Block, wt.Empty, wt.Loop, wt.Empty},
			[]byte{wt.LocalGet, 1, wt.I32Const}, n, []byte{0x4f, wt.BrIf, 1}, // until all is copied
			[]byte{wt.LocalGet, 0, wt.LocalGet, 1, 0xad, 0x7c, wt.LocalGet, 1, 0x29, 0, 0, wt.Call, 1},
			[]byte{wt.LocalGet, 1, wt.I32Const, 8, 0x6a, wt.LocalSet, 1, wt.Br, 0, wt.End, wt.End},
			[]byte{wt.LocalGet, 0, wt.I64Const}, wt.S64(int64(len(text))), []byte{wt.Call, 2, wt.I32Const, 0},
		)...), wt.Body(wt.Call, 3, wt.Unreachable)).
		Data(wt.Segment(0, text)).Bytes()
}

// bare makes a module of a foreign ABI whose listing export is the given code.
func bare(code ...byte) []byte {
	return wt.New().Types(wt.Func(nil, []byte{wt.I32})).Functions(0, 0).
		Exports(wt.ExportFunc("describe", 0), wt.ExportFunc("call", 1)).
		Code(wt.Body(code...), wt.Body(wt.Unreachable)).Bytes()
}

// afresh opens a host that does not know the answers of other runs, and
// waits for answers, and lets each take, as long as given.
func afresh(t *testing.T, dir string, wait, timeout time.Duration) *Host {
	t.Helper()
	h := open(t, t.TempDir(), nil)
	cfg := h.listerConfig()
	cfg.CacheDir, cfg.Wait, cfg.Timeout = "", wait, timeout
	h.lister = runner.NewToolLister(cfg)
	set := *h.settings.Load()
	set.Folders = []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}}
	h.settings.Store(&set)
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	return h
}

func listOf(tools ...string) string { return `{"tools":[` + strings.Join(tools, ",") + `]}` }

// What a stranger says about itself is taken with caution, and whatever it does
// when it is asked, the others work.
func TestThirdPartyPluginsAreListedWithCare(t *testing.T) {
	dir := stray(t, "servlet")
	many := make([]string, 10000)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"t%d","description":"d","inputSchema":{"type":"object"}}`, i)
	}
	files := map[string][]byte{
		"many":    thirdParty("describe", "call", listOf(many...)),
		"huge":    thirdParty("describe", "call", listOf(`{"name":"a","description":"`+strings.Repeat("long ", 1<<20)+`"}`)),
		"prose":   thirdParty("describe", "call", "I can do anything"),
		"none":    thirdParty("list_tools", "call_tool", `{"tools":[]}`),
		"twice":   thirdParty("describe", "call", `{"tools":[]} {"tools":[]}`),
		"deep":    thirdParty("describe", "call", `{"tools":`+strings.Repeat("[", 20000)),
		"traps":   bare(wt.Unreachable),
		"spins":   bare(wt.Loop, wt.Empty, wt.Br, 0, wt.End, wt.I32Const, 0),
		"mute":    bare(wt.I32Const, 0),
		"refuses": bare(wt.I32Const, 1),
		"天气":      bare(wt.I32Const, 0),
	}
	for name, wasm := range files {
		write(t, filepath.Join(dir, name+".wasm"), wasm)
	}
	h := afresh(t, dir, time.Minute, 2*time.Second)
	want := map[string]string{
		"many":    "its export describe lists 10000 tools, and at most 256 are taken",
		"huge":    "its export describe, which lists its tools, failed: ",
		"prose":   `its export describe does not answer with a list of tools, {"tools":[…]}`,
		"none":    "its export list_tools lists no tool",
		"twice":   "does not answer with a list of tools",
		"deep":    "does not answer with a list of tools",
		"traps":   "its export describe, which lists its tools, failed: ",
		"spins":   "failed: it did not answer within 2s",
		"mute":    "failed: it answered nothing",
		"refuses": "its export describe, which lists its tools, failed: ",
		"天气":      "this file's name has no letter from a to z and no digit",
	}
	got := map[string]plugin.Info{}
	for _, p := range h.Plugins() {
		got[p.Name] = p
	}
	for name, why := range want {
		p := got[name]
		if p.State != plugin.Invalid || !strings.Contains(p.Why.String(), why) || p.Fix.IsZero() || strings.Contains(p.Why.String(), "wasm stack") {
			t.Errorf("%s is %s: %s; %s\nwant %s", name, p.State, p.Why, p.Fix, why)
		}
	}
	if got["servlet"].State != plugin.Ready || got["servlet"].ABI != "describe/call" {
		t.Errorf("the honest one: %+v", got["servlet"])
	}
	call(t, h.Session("me", "c"), "servlet__say", `{"text":"still here"}`)
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil { // what failed is not asked again at once
		t.Error(err)
	}
}

// Names, texts and schemas of a stranger's are made fit to be shown.
func TestThirdPartyTextsAreCleaned(t *testing.T) {
	dir := t.TempDir()
	bomb := `{"type":"object","properties":{"a":{"type":"string","pattern":"` + strings.Repeat("x{900}", 30) + `"}}}`
	write(t, filepath.Join(dir, "7 Zip--Tool.v2.wasm"), thirdParty("describe", "call", listOf(
		`{"name":"Get-Weather","title":"T","description":"tells\u202e the\u200b weather\u0007","inputSchema":{"type":"object","properties":{"ci\u200bty":{"type":"string","description":"a \u2066name"}},"required":["ci\u200bty"]},"annotations":{"readOnlyHint":true}}`,
		`{"name":"get weather","description":"a shadow"}`,
		`{"name":"get_weather"}`,
		`{"name":"load_tool_history","description":"`+strings.Repeat("长", 12_000)+`"}`,
		`{"name":"\u200b\u202e"}`,
		`{"name":"`+strings.Repeat("n", 300)+`"}`,
		`{"name":"`+strings.Repeat("n", 100)+`"}`,
		`{"name":"no_type","inputSchema":{"properties":{"q":{"type":"string"}}}}`,
		`{"name":"list_type","inputSchema":[1]}`,
		`{"name":"broken","inputSchema":{"type":"object","properties":{"q":{"type":"strin"}}}}`,
		`{"name":"far","inputSchema":{"type":"object","$ref":"https://example.com/schema"}}`,
		`{"name":"bomb","inputSchema":`+bomb+`}`,
		`{"name":"wide","inputSchema":{"type":"object","x":"`+strings.Repeat("x", 40<<10)+`"}}`,
		`{"name":"deep","inputSchema":{"type":"object","not":`+strings.Repeat(`{"not":`, 200)+`{}`+strings.Repeat(`}`, 200)+`}}`,
		`{"name":"bare"}`,
	)))
	h := open(t, dir, nil)
	info := h.Plugins()[0]
	if info.State != plugin.Ready || info.Name != "p7_zip_tool_v2" {
		t.Fatalf("%+v", info)
	}
	got := map[string]plugin.ToolInfo{}
	for _, i := range h.Tools() {
		if i.Plugin == "" {
			continue
		}
		got[strings.TrimPrefix(i.Spec.Name, "p7_zip_tool_v2__")] = i
		if len(i.Spec.Name) > 64 || len(i.Spec.Description) > 32<<10 {
			t.Errorf("%s: %d bytes of description", i.Spec.Name, len(i.Spec.Description))
		}
	}
	w := got["get_weather"]
	if w.Spec.Description != "tells the weather" || string(w.Spec.Params) != `{"type":"object","properties":{"city":{"type":"string","description":"a name"}},"required":["city"]}` || w.Spec.Hints.ReadOnly {
		t.Errorf("get_weather: %q %s %+v", w.Spec.Description, w.Spec.Params, w.Spec.Hints)
	}
	if d := got["load_tool_history"].Spec.Description; !strings.HasSuffix(d, "长…") {
		t.Errorf("a long description ends in %q", d[max(0, len(d)-8):])
	}
	for name, want := range map[string]string{"broken": `{"type":"object","properties":{"q":{}}}`, "far": `{"type":"object"}`, "bomb": `{"type":"object","properties":{"a":{"type":"string"}}}`} {
		if s := string(got[name].Spec.Params); s != want {
			t.Errorf("%s: schema %.200s", name, s)
		}
	}
	for _, free := range []string{"list_type", "wide", "deep"} {
		if s := string(got[free].Spec.Params); s != `{"type":"object","additionalProperties":true}` {
			t.Errorf("%s: schema %.200s", free, s)
		}
	}
	if s := string(got["no_type"].Spec.Params); s != `{"type":"object","properties":{"q":{"type":"string"}}}` {
		t.Errorf("no_type: %s", s)
	}
	if got["bare"].Spec.Description == "" || string(got["bare"].Spec.Params) != `{"type":"object","properties":{}}` {
		t.Errorf("bare: %+v", got["bare"].Spec)
	}
	warnings := fmt.Sprint(info.Problems)
	for _, want := range []string{
		`tool 2 of its list, "get weather", is left out: an earlier one is named p7_zip_tool_v2__get_weather`,
		`tool 3 of its list, "get_weather", is left out`, `tool 5 of its list is left out: its name`, `tool 6 of its list is left out: its name is 300 bytes long`,
		`a part of the schema of p7_zip_tool_v2__broken is left out: "properties.q.type" must`, `p7_zip_tool_v2__bomb is left out: "properties.a.pattern" is too large a regular expression`, "p7_zip_tool_v2__deep takes any arguments: its schema nests deeper than 48 levels",
		"p7_zip_tool_v2__wide takes any arguments: its schema is", `p7_zip_tool_v2__far is left out: "$ref" refers to "https://example.com/schema"`,
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning says %q:\n%s", want, warnings)
		}
	}
	if strings.ContainsAny(warnings+w.Spec.Description, "\u200b\u202e\u2066") {
		t.Error("invisible characters are shown")
	}
}

// One answer is enough for all runs; a list that has changed is asked for again.
func TestThirdPartyPluginsAreAskedOnce(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "lone.wasm"), thirdParty("list_tools", "call_tool", listOf(`{"name":"echo"}`)))
	var log guesttest.LogBook
	var told []string
	change := func(c *Config) {
		c.CacheDir, c.Logger = cache, log.Logger()
		c.Asking = func(plugin string) { told = append(told, plugin) }
	}
	asked := func() int { return strings.Count(log.String(), "a plugin was asked for its tools") }
	h := open(t, dir, change)
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir, change)
	if toolNames(other) == "" || asked() != 1 {
		t.Fatalf("asked %d times; tools %q", asked(), toolNames(other))
	}
	if r := try(t, h.Session("me", "c"), "lone__echo", `{}`); r.Err == nil || r.Err.Code != tool.Trapped {
		t.Fatal(r.Err)
	}
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if asked() != 2 {
		t.Errorf("asked %d times", asked())
	}
	// What is kept is believed no more than what is said.
	kept, err := filepath.Glob(filepath.Join(cache, "described", "*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v %v", kept, err)
	}
	text, err := json.Marshal(map[string][]byte{"answer": []byte(`{"tools":[{"name":"x\u202ey"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	write(t, kept[0], text)
	if got := toolNames(open(t, dir, change)); got != "lone__x_y" {
		t.Errorf("tools %q", got)
	}
	write(t, kept[0], []byte("{half"))
	if got := toolNames(open(t, dir, change)); got != "lone__echo" || asked() != 3 || strings.Join(told, " ") != "lone lone lone" {
		t.Errorf("tools %q, asked %d times, told of %v", got, asked(), told)
	}
}

// A failure is remembered for a while, and only for as long as nothing is
// different.
func TestAFailureIsRememberedForAWhile(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "mute.wasm"), bare(wt.I32Const, 1))
	var log guesttest.LogBook
	now, memory := time.Now(), tool.Bytes(0)
	asked := func(want int) {
		t.Helper()
		h := open(t, dir, func(c *Config) {
			c.CacheDir, c.Logger, c.Defaults.Memory = cache, log.Logger(), memory
			c.Now = func() time.Time { return now }
		})
		if p := h.Plugins()[0]; p.State != plugin.Invalid {
			t.Errorf("%+v", p)
		}
		if got := strings.Count(log.String(), "a plugin was asked for its tools"); got != want {
			t.Errorf("asked %d times, want %d", got, want)
		}
	}
	asked(1)
	asked(1)
	now = now.Add(10 * time.Minute)
	asked(2)
	memory = 16 << 20
	asked(3)
	now = now.Add(-time.Hour) // a clock that was put back
	asked(4)
}

// A plugin that takes long to compile delays no other plugin: it waits, and its tools
// are added automatically.
func TestThirdPartyPluginsComeInLater(t *testing.T) {
	dir := t.TempDir()
	h := afresh(t, dir, -1, time.Minute)
	write(t, filepath.Join(dir, "late.wasm"), thirdParty("describe", "call", listOf(`{"name":"a"}`)))
	hold := make(chan struct{})
	cfg := h.listerConfig() // of which the first call does not begin before hold is closed
	cfg.CacheDir, cfg.Wait, cfg.Engines = "", -1, func() *runner.Engines { <-hold; return h.engines.Load() }
	h.lister = runner.NewToolLister(cfg)
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if p := h.Plugins()[0]; p.State != plugin.Pending || p.Name != "late" || p.ABI != "describe/call" || !strings.Contains(p.Why.String(), "asked for its tools") || p.Fix.IsZero() {
		t.Errorf("%+v", p)
	}
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil { // a second scan asks no plugin twice
		t.Fatal(err)
	}
	close(hold)
	if !testtime.Comes(func() bool { return toolNames(h) == "late__a" }) {
		t.Fatalf("tools %q, plugins %+v", toolNames(h), h.Plugins())
	}
}

// Closing does not wait for a stranger.
func TestCloseWhileAThirdPartyIsAsked(t *testing.T) {
	before := goleak.IgnoreCurrent()
	dir := t.TempDir()
	h, err := Open(t.Context(), Config{CacheDir: guesttest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	lister := h.listerConfig()
	lister.CacheDir, lister.Wait = "", -1
	h.lister = runner.NewToolLister(lister)
	set := *h.settings.Load()
	set.Folders = []plugin.Folder{{Path: dir}}
	h.settings.Store(&set)
	write(t, filepath.Join(dir, "spins.wasm"), bare(wt.Loop, wt.Empty, wt.Br, 0, wt.End, wt.I32Const, 0))
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}
