package plugindir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func write(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestListIsBounded(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for i := range Most {
		write(t, in(fmt.Sprintf("a%d.wasm", i)), "", 0)
		write(t, in(fmt.Sprintf("b%d.wasm", i)), "x", time.Hour)
	}
	for i := range 2 * maxStray {
		write(t, in(fmt.Sprintf("stray%d/x.wasm", i)), "x", 0)
	}
	write(t, in("known.wasm"), "", 2*time.Hour)
	write(t, in("late/plugin.toml"), "x", 0)
	write(t, in("zz.wasm"), "x", 0)
	for _, other := range []string{".hidden.wasm", "_old/plugin.toml", "notes.txt", "empty/notes.txt"} {
		write(t, in(other), "x", 0)
	}
	l, err := List(dir, "plugin.toml", func(source string) bool { return source == in("known.wasm") })
	if err != nil || len(l.Found) != Most || len(l.Left) != Most+3 || len(l.Stray) != maxStray {
		t.Fatalf("%d found, %d left, %d stray, %v", len(l.Found), len(l.Left), len(l.Stray), err)
	}
	found := map[string]bool{}
	for i, c := range l.Found {
		found[c.Source] = true
		if i > 0 && l.Found[i-1].Name >= c.Name {
			t.Fatalf("%s comes after %s", c.Name, l.Found[i-1].Name)
		}
	}
	for _, want := range []string{"known.wasm", "late/plugin.toml", "zz.wasm"} {
		if !found[in(want)] {
			t.Errorf("%s is left out", want)
		}
	}
	if err := os.Mkdir(in("nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxStray {
		if err := os.RemoveAll(in(fmt.Sprintf("stray%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := List(dir, "plugin.toml", nil); err != nil || len(l.Stray) != 1 || l.Stray[0].Name != "nothing" || l.Stray[0].File != "" {
		t.Errorf("of an empty folder it lists %v, %v", l.Stray, err)
	}
	if found[in("a1.wasm")] {
		t.Error("an empty file comes before one that is not")
	}
}
