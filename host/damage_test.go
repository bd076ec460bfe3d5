package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/plugin"
)

// codeFiles are the files of compiled code below a cache folder.
func codeFiles(t *testing.T, cache string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "SUMS" && filepath.Dir(path) != cache {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Compiled code that is damaged is deleted and compiled again, in this process
// and by the child that compiles for others; the call that finds it is answered.
func TestDamagedCodeIsMadeAnew(t *testing.T) {
	change := func(f func([]byte) []byte) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, f(b), 0o600)
		}
	}
	damages := []struct {
		name string
		do   func(path string) error
	}{
		{"cut short", change(func(b []byte) []byte { return b[:len(b)/2] })},
		{"one bit", change(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
		{"empty", change(func([]byte) []byte { return nil })},
		{"gone", os.Remove},
	}
	for _, mode := range []Isolation{OwnProcess, Inline} {
		t.Run(string(mode), func(t *testing.T) {
			m := newHome(t)
			put(t, m.plugins, "p", generation(1))
			run := func() {
				t.Helper()
				h := m.open(t, plugin.TrustGranted, func(c *Config) { c.WorkerCommand, c.Sandbox.Workers.Isolation = workerCommand, mode })
				says(t, h, "p", generation(1))
				shut(t, h)
			}
			run()
			files := codeFiles(t, filepath.Join(m.data, "cache"))
			if len(files) == 0 {
				t.Fatal("nothing is kept")
			}
			for _, d := range damages {
				was := map[string]string{}
				for _, f := range files {
					was[f] = string(slurp(t, f))
					if err := d.do(f); err != nil {
						t.Fatal(err)
					}
				}
				run()
				if now := codeFiles(t, filepath.Join(m.data, "cache")); strings.Join(now, "\n") != strings.Join(files, "\n") {
					t.Fatalf("%s: kept now: %v", d.name, now)
				}
				for _, f := range files {
					if string(slurp(t, f)) != was[f] {
						t.Errorf("%s: %s was not made anew", d.name, f)
					}
				}
			}
		})
	}
}
