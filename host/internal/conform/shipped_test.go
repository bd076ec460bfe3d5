package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/internal/testsize"
)

// large skips the tools whose modules take longest to compile, unless everything is tested.
func large(t *testing.T, name string) {
	if name == "database" || name == "read_data_from_excel" {
		testsize.Only(t)
	}
}

// TestShipped runs the cases of every shipped plugin, each built from its source,
// and a few calls that are made up: `weir plugin test` makes more.
func TestShipped(t *testing.T) {
	plugins := filepath.Join(guesttest.Root(t), "plugins")
	manifests, err := filepath.Glob(filepath.Join(plugins, "*", "plugin.toml"))
	if err != nil || len(manifests) < 15 {
		t.Fatalf("%d plugins were found: %v", len(manifests), err)
	}
	for _, m := range manifests {
		name := filepath.Base(filepath.Dir(m))
		t.Run(name, func(t *testing.T) {
			large(t, name)
			dir := filepath.Join(guesttest.Shipped(t, name), name)
			if err := os.CopyFS(filepath.Join(dir, plugintest.CaseDir), os.DirFS(filepath.Join(plugins, name, plugintest.CaseDir))); err != nil {
				t.Fatal(err)
			}
			plugintest.Check(t, dir, plugintest.Config{CacheDir: guesttest.Cache(t), FuzzCalls: testsize.Of(5, 25)})
		})
	}
}
