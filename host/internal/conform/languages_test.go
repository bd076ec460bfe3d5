package conform

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// A language is an SDK and how its conform is built.
type language struct {
	name  string
	build func(t *testing.T, root, out string)
}

var languages = []language{
	{"go", func(t *testing.T, root, out string) {
		guesttest.Build(t, filepath.Join(root, "sdk/guest/testdata/conform"), out)
	}},
	{"c freestanding", clang("--target=wasm32-unknown-unknown", "-nostdlib", "-ffreestanding", "-Wl,--no-entry")},
	{"c with wasi-libc", clang("--target=wasm32-wasi", "--sysroot=/usr", "-mexec-model=reactor")},
}

// clang builds the C SDK's conform; the warnings are errors.
func clang(flags ...string) func(*testing.T, string, string) {
	return func(t *testing.T, root, out string) {
		command(t, filepath.Join(root, "sdk/c/testdata/conform"), "clang",
			append(flags, "-Os", "-Wall", "-Wextra", "-Werror", "-Wl,--strip-all", "-o", out, "conform.c")...)
	}
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
}
