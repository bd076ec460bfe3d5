package host

import (
	"path/filepath"
	"strings"
	"testing"
)

// stray puts guests of testdata into a fresh folder as lone files, as somebody
// would who has downloaded them.
func stray(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		write(t, filepath.Join(dir, name+".wasm"), slurp(t, filepath.Join(guests, name+".wasm")))
	}
	return dir
}

func toolNames(h *Host) string {
	var names []string
	for _, i := range h.Tools() {
		if i.Plugin != "" {
			names = append(names, i.Spec.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestServletRunsUnmodified(t *testing.T) {
	h := open(t, stray(t, "servlet"), nil)
	want := "servlet__blank servlet__count servlet__draw servlet__fail servlet__fetch_page servlet__refuse servlet__say servlet__settings"
	if got := toolNames(h); got != want {
		t.Fatalf("tools %q, want %q\n%+v", got, want, h.Plugins())
	}
	s := h.Session("me", "c")
	if r := call(t, s, "servlet__say", `{"text":"你好"}`); r.Shown.Text != "你好" {
		t.Errorf("say: %q", r.Shown.Text)
	}
	if r := try(t, s, "servlet__say", `{}`); r.Err == nil || r.Err.Code != "bad_args" {
		t.Errorf("its own schema holds: %v", r.Err)
	}
}
