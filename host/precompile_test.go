package host

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
)

// New plugins are compiled before their first call: those that are there at the
// start, those that come with a reload, and each version. None is loaded for it.
// One that is not approved is not touched.
func TestNewPluginsAreCompiledAhead(t *testing.T) {
	for _, mode := range []Isolation{OwnProcess, Inline} {
		t.Run(string(mode), func(t *testing.T) {
			dir, data := t.TempDir(), t.TempDir()
			put(t, dir, "early", generation(1))
			h := openIsolated(t, dir, func(c *Config) {
				c.CacheDir, c.PrecompileDelay, c.Sandbox.Workers.Isolation = filepath.Join(data, "cache"), time.Millisecond, mode
			})
			compiled := func(name string) {
				t.Helper()
				sha := shaOf(slurp(t, filepath.Join(dir, name, name+".wasm")))
				testtime.Until(t, "the module is compiled", func() bool { return h.engines.Load().Precompiled(sha, mode == Inline) })
			}
			compiled("early")
			put(t, dir, "late", generation(2))
			if _, err := h.Reload(t.Context(), ReloadOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			compiled("late")
			put(t, dir, "early", generation(3))
			if _, err := h.Reload(t.Context(), ReloadOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			compiled("early")
			if n := loaded(h); n != 0 {
				t.Errorf("%d modules are loaded for it", n)
			}
		})
	}
}

// A module that no engine takes is refused before anybody calls it, and one that
// waits for an approval is left alone.
func TestWhatIsCompiledAhead(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	place(t, dir, "odd", manifest("odd", "odd", "run", ""))
	write(t, filepath.Join(dir, "odd", "odd.wasm"), wasmtest.Exporting("run", 0x1a)) // drops what is not there
	place(t, dir, "new", manifest("new", "new", "run", "[permissions]\nhosts = [{ host = \"example.com\", reason = \"asks it\" }]\n"))
	write(t, filepath.Join(dir, "new", "new.wasm"), wasmtest.Echo("run"))
	h := openIsolated(t, dir, func(c *Config) {
		c.CacheDir, c.PrecompileDelay, c.Lock = filepath.Join(data, "cache"), time.Millisecond, filepath.Join(data, "weir.lock")
	})
	testtime.Until(t, "the plugin is refused", func() bool { return pluginNamed(t, h, "odd").State == plugin.Invalid })
	if info := pluginNamed(t, h, "new"); info.State != plugin.Pending {
		t.Fatalf("got %+v", info)
	}
	if h.engines.Load().Precompiled(shaOf(slurp(t, filepath.Join(dir, "new", "new.wasm"))), false) {
		t.Error("what nobody has approved is compiled")
	}
}
