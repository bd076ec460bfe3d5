package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
)

// TestScanGoesThroughTheGate drops what would end an engine's process into the
// folder, in both forms.
func TestScanGoesThroughTheGate(t *testing.T) {
	dir := t.TempDir()
	bomb := wasmtest.New().Section(wasmtest.SectionTable, wasmtest.Lie(1<<32-1)...).Bytes()
	put(t, filepath.Join(dir, "a", "plugin.toml"), least("a", "a"))
	put(t, filepath.Join(dir, "a", "a.wasm"), bomb)
	put(t, filepath.Join(dir, "b.wasm"), wasmtest.New().Custom(SectionName, least("b", "b")).Raw(bomb[8:]...).Bytes())
	put(t, filepath.Join(dir, "c.wasm"), []byte("(module)"))
	put(t, filepath.Join(dir, "d.wasm"), module([]string{"d"}, map[string]string{SectionName: string(least("d", "d"))}))
	got := report(Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{}), dir)
	for _, want := range []string{
		"ready d",
		"refused a: a/a.wasm: the table section declares 4294967295 tables in 0 bytes; build it again as a core WebAssembly module, and copy it whole",
		"refused b: b.wasm: the table section declares 4294967295 tables in 0 bytes",
		"refused c: c.wasm: this is WebAssembly in its text form",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestScanDecodesBytesOnce poisons what a scan remembers and finds it again:
// the same bytes under another name are not looked at a second time, and what
// is gone is forgotten.
func TestScanDecodesBytesOnce(t *testing.T) {
	dir := t.TempDir()
	wasm := module([]string{"a"}, map[string]string{SectionName: string(least("a", "a"))})
	put(t, filepath.Join(dir, "a.wasm"), wasm)
	first := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
	if len(first.Plugins) != 1 || len(first.facts) != 1 {
		t.Fatal(report(first, dir), len(first.facts))
	}
	sum := first.Plugins[0].WasmSHA256
	l := first.facts[sum]
	l.IsGo = true // it is not
	first.facts[sum] = l
	if err := os.Rename(filepath.Join(dir, "a.wasm"), filepath.Join(dir, "z.wasm")); err != nil {
		t.Fatal(err)
	}
	second := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Previous: first})
	if len(second.Plugins) != 1 || !second.Plugins[0].IsGo {
		t.Error("unchanged bytes were decoded again:", report(second, dir))
	}
	if err := os.Remove(filepath.Join(dir, "z.wasm")); err != nil {
		t.Fatal(err)
	}
	if third := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Previous: second}); len(third.facts) != 0 {
		t.Errorf("%d modules are remembered, and none is left", len(third.facts))
	}
}
