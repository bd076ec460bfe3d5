package conform

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	{"rust", rustc("--target", "wasm32-unknown-unknown")},
	{"rust with wasi", rustc("--target", wasi)},
	{"rust without std", rustc("--target", "wasm32-unknown-unknown", "--cfg", "no_std", "-Zcrate-attr=feature(default_alloc_error_handler)")},
	{"assemblyscript", asc},
	{"javascript", script},
}

// clang builds the C SDK's conform; the warnings are errors.
func clang(flags ...string) func(*testing.T, string, string) {
	return func(t *testing.T, root, out string) {
		command(t, filepath.Join(root, "sdk/c/testdata/conform"), guesttest.Need(t, guesttest.Clang),
			append(flags, "-Os", "-Wall", "-Wextra", "-Werror", "-Wl,--strip-all", "-o", out, "conform.c")...)
	}
}

// wasi stands for the target that newer compilers call wasm32-wasip1.
const wasi = "wasm32-wasi"

// rustc builds the Rust SDK's conform. Since Rust 1.68 the form without std needs no
// feature; Debian's has to be allowed what was not stable then.
func rustc(flags ...string) func(*testing.T, string, string) {
	return func(t *testing.T, root, out string) {
		compiler := guesttest.Need(t, guesttest.Rustc)
		args := slices.Clone(flags)
		if i := slices.Index(args, wasi); i >= 0 && exec.Command(compiler, "--print", "target-libdir", "--target", wasi).Run() != nil {
			args[i] = "wasm32-wasip1"
		}
		t.Setenv("RUSTC_BOOTSTRAP", "1")
		command(t, filepath.Join(root, "sdk/rust/testdata/conform"), compiler,
			append(args, "--edition", "2021", "--crate-type", "cdylib", "-C", "opt-level=s", "-C", "lto", "-C", "panic=abort", "-C", "strip=symbols", "-D", "warnings", "-o", out, "conform.rs")...)
	}
}

// asc builds the AssemblyScript SDK's conform.
func asc(t *testing.T, root, out string) {
	command(t, filepath.Join(root, "sdk/assemblyscript/testdata/conform"), guesttest.Need(t, guesttest.Asc),
		"conform.ts", "--outFile", out, "-Os", "--runtime", "stub", "--use", "abort=../../weir/stop")
}

// script puts the JavaScript SDK's conform in the place of a module.
func script(t *testing.T, root, out string) {
	dir := filepath.Dir(out)
	text, err := os.ReadFile(filepath.Join(root, "sdk/js/testdata/conform/conform.js"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest = bytes.Replace(manifest, []byte(`wasm        = "conform.wasm"`), []byte(`script      = "conform.js"`), 1)
	for name, content := range map[string][]byte{"plugin.toml": manifest, "conform.js": text} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
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
