package plugintest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugintest"
)

// TestShipped runs the cases of every shipped plugin, each built from its source.
func TestShipped(t *testing.T) {
	plugins := filepath.Join(guesttest.Root(t), "plugins")
	manifests, err := filepath.Glob(filepath.Join(plugins, "*", "plugin.toml"))
	if err != nil || len(manifests) < 15 {
		t.Fatalf("%d plugins were found: %v", len(manifests), err)
	}
	for _, m := range manifests {
		name := filepath.Base(filepath.Dir(m))
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(guesttest.Shipped(t, name), name)
			if err := os.CopyFS(filepath.Join(dir, plugintest.CaseDir), os.DirFS(filepath.Join(plugins, name, plugintest.CaseDir))); err != nil {
				t.Fatal(err)
			}
			cfg := config(t)
			if raced {
				cfg.FuzzCalls = -1 // made without the race detector, which slows the host down tenfold and finds nothing in guests
			}
			plugintest.Check(t, dir, cfg)
		})
	}
}
