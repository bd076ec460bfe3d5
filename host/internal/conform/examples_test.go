package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugintest"
)

// TestExamples builds the tools of examples/tools, each with its language's
// toolchain, and runs their cases.
func TestExamples(t *testing.T) {
	builders := map[string]builder{ // by the ending of the source; a script is not built
		".go": golang, ".c": clang(wasiLibc...), ".rs": rustc("--target", wasi), ".ts": asc("weir/weir"), ".js": nil,
	}
	sources, err := filepath.Glob(filepath.Join(guesttest.Root(t), "examples/tools/*/main.*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, source := range sources {
		build, known := builders[filepath.Ext(source)]
		if !known {
			t.Errorf("%s is in no language that is known here", source)
		}
		seen[filepath.Ext(source)] = true
		name := filepath.Base(filepath.Dir(source))
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(source))); err != nil {
				t.Fatal(err)
			}
			if build != nil {
				build(t, source, filepath.Join(dir, name+".wasm"))
			}
			report, err := plugintest.Run(t.Context(), dir, plugintest.Config{CacheDir: guesttest.Cache(t), WorkerCommand: worker})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range report.Problems {
				t.Error(p)
			}
			for _, o := range report.Outcomes {
				if o.Failed() {
					t.Errorf("%+v", o)
				}
			}
		})
	}
	if len(seen) != len(builders) {
		t.Errorf("examples are there in %d languages, wanted %d", len(seen), len(builders))
	}
}
