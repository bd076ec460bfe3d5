package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// manifest writes a small one for the guest probe.
func manifest(plugin, tool, export, more string) []byte {
	return fmt.Appendf(nil, "schema = 1\nname = %q\n%s\n[[tool]]\nname = %q\ndescription = \"a tool\"\nexport = %q\n", plugin, more, tool, export)
}

func states(h *Host) string {
	var out []string
	for _, p := range h.Plugins() {
		out = append(out, fmt.Sprintf("%s %s %v", p.Name, p.State, p.Tools))
	}
	return strings.Join(out, "\n")
}

func TestOneBrokenPluginKeepsNobodyFromWorking(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "good", manifest("good", "good", "echo", ""))
	place(t, dir, "zclash", manifest("zclash", "good", "echo", ""))
	place(t, dir, "export", manifest("export", "export", "no_such", ""))
	place(t, dir, "syntax", []byte("schema = \n"))
	place(t, dir, "nowasm", manifest("nowasm", "nowasm", "echo", ""))
	os.Remove(filepath.Join(dir, "nowasm", "nowasm.wasm"))
	place(t, dir, "text", manifest("text", "text", "echo", ""))
	write(t, filepath.Join(dir, "text", "text.wasm"), []byte("#!/bin/sh\necho"))
	write(t, filepath.Join(dir, "lonely.wasm"), slurp(t, filepath.Join(guests, "probe.wasm")))
	h := open(t, dir, nil)
	if r := call(t, h.Session("me", "c1"), "good", `{"a":1}`); r.Whole() != `{"a":1}` {
		t.Errorf("the good plugin: %q", r.Whole())
	}
	why := map[string]string{
		"zclash": `the tool name "good" belongs to the plugin`, "export": `does not export "no_such"`, "syntax": "plugin.toml:1:",
		"nowasm": "the module is missing", "text": "not a WebAssembly file", "lonely": "carries no manifest",
	}
	for _, p := range h.Plugins() {
		if p.Name == "good" {
			continue
		}
		if p.State != plugin.Invalid || !strings.Contains(p.Why.String(), why[p.Name]) || why[p.Name] == "" || p.Fix.IsZero() || strings.Contains(p.Why.String(), "\n") {
			t.Errorf("%s %s: %s → %s", p.Name, p.State, p.Why, p.Fix)
		}
		delete(why, p.Name)
	}
	if len(why) > 0 {
		t.Errorf("not told about: %v", why)
	}
}

func TestReload(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "one", manifest("one", "one", "echo", ""))
	h := open(t, dir, nil)
	s := h.Session("me", "c1")
	call(t, s, "one", "")
	place(t, dir, "two", manifest("two", "two", "count", ""))
	if try(t, s, "two", "").Err == nil {
		t.Error("a plugin appears with a reload, not before")
	}
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	call(t, s, "two", "")
	os.RemoveAll(filepath.Join(dir, "one"))
	place(t, dir, "two", []byte("schema = 1\nname = 5\n"))
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := states(h); got != "two refused []" {
		t.Errorf("after the second reload: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.reload(ctx); err == nil {
		t.Error("a reload with an ended context must fail")
	}
}

func TestIncumbentStaysOnClash(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "m", manifest("m", "same", "echo", ""))
	h := open(t, dir, nil)
	place(t, dir, "a", manifest("a", "same", "count", "")) // comes before m in the folder
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := states(h); got != "a refused []\nm ready [same]" {
		t.Errorf("the newcomer must be refused, whatever its name:\n%s", got)
	}
}

func TestCallsFinishOnWhatTheyBeganWith(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "job", "wait", ""))
	h := open(t, dir, nil)
	s := h.Session("me", "c1")
	call(t, s, "job", `{"Millis":0}`)
	old := moduleOf(h, "job")
	done := make(chan tool.Result, 1)
	go func() {
		r, err := s.Call(context.Background(), tool.Call{Tool: "job", Args: json.RawMessage(`{"Millis":1500}`)})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	testtime.Until(t, "the call runs", func() bool { return old.Uses() == 1 })
	place(t, dir, "p", manifest("p", "job", "echo", "version = \"2\""))
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := call(t, s, "job", `{"new":1}`); r.Whole() != `{"new":1}` {
		t.Errorf("after the reload: %q", r.Whole())
	}
	if r := <-done; r.Err != nil || r.Whole() != "waited" {
		t.Errorf("the call that ran: %q, %v", r.Whole(), r.Err)
	}
	testtime.Until(t, "the old module is unloaded", func() bool { return old.Uses() == 0 && !old.Loaded() })
}

func TestChangedModuleIsScannedAgain(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "job", "echo", ""))
	h := open(t, dir, nil) // scanned, not yet compiled
	path := filepath.Join(dir, "p", "p.wasm")
	wasm := slurp(t, path)
	write(t, path, append(wasm, 0, 3, 1, 'x', 0)) // one more custom section: other bytes, same tools
	if r := call(t, h.Session("me", "c1"), "job", `{"a":1}`); r.Whole() != `{"a":1}` {
		t.Errorf("%q", r.Whole())
	}
	if got := h.Plugins()[0].SHA256; got == "" || moduleOf(h, "job").Plugin().WasmBytes != len(wasm)+5 {
		t.Errorf("the new bytes are not in force: %s", got)
	}
}

func TestMissingModuleComesBack(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "job", "echo", ""))
	h := open(t, dir, nil)
	s := h.Session("me", "c1")
	path := filepath.Join(dir, "p", "p.wasm")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	r := try(t, s, "job", "")
	if r.Err == nil || r.Err.Code != tool.Failed || strings.Contains(r.Err.Msg, dir) {
		t.Errorf("without its file: %v", r.Err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	call(t, s, "job", "")
}

func TestEngineRefusalTakesThePluginOut(t *testing.T) {
	dir := t.TempDir()
	// Well-formed, and of the wrong type: it promises an i32 and leaves an i64.
	wasm := wasmtest.Exporting("f", wasmtest.I64Const, 0)
	place(t, dir, "bad", manifest("bad", "bad", "f", ""))
	write(t, filepath.Join(dir, "bad", "bad.wasm"), wasm)
	place(t, dir, "good", manifest("good", "good", "echo", ""))
	h := open(t, dir, nil)
	var told []string
	h.Warm(t.Context(), func(name string, _ time.Duration, err error) { told = append(told, fmt.Sprint(name, " ", err == nil)) })
	if got := strings.Join(told, ", "); got != "bad false, good true" {
		t.Errorf("warmed: %s", got)
	}
	if got := states(h); got != "bad refused [bad]\ngood ready [good]" {
		t.Errorf("%s", got)
	}
	s := h.Session("me", "c1")
	for _, spec := range s.Tools() {
		if spec.Name == "bad" {
			t.Error("a tool that cannot run is still listed")
		}
	}
	if r := try(t, s, "bad", ""); r.Err == nil {
		t.Error("it ran")
	}
	call(t, s, "good", "")
}
