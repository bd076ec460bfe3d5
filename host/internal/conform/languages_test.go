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

// A builder makes the module out of a source file.
type builder func(t *testing.T, source, out string)

// languages are the SDKs, and how the tool conform of each is built.
var languages = []struct {
	name, source string
	build        builder
}{
	{"go", "sdk/guest/testdata/conform/main.go", golang},
	{"c freestanding", "sdk/c/testdata/conform/conform.c", clang("--target=wasm32-unknown-unknown", "-nostdlib", "-ffreestanding", "-Wl,--no-entry")},
	{"c with wasi-libc", "sdk/c/testdata/conform/conform.c", clang(wasiLibc...)},
	{"rust", "sdk/rust/testdata/conform/conform.rs", rustc("--target", "wasm32-unknown-unknown")},
	{"rust with wasi", "sdk/rust/testdata/conform/conform.rs", rustc("--target", wasi)},
	{"rust without std", "sdk/rust/testdata/conform/conform.rs", rustc("--target", "wasm32-unknown-unknown", "--cfg", "no_std", "-Zcrate-attr=feature(default_alloc_error_handler)")},
	{"assemblyscript", "sdk/assemblyscript/testdata/conform/conform.ts", asc("../../weir")},
	{"javascript", "sdk/js/testdata/conform/conform.js", script},
}

// golang builds the package that the source is of.
func golang(t *testing.T, source, out string) { guesttest.Build(t, filepath.Dir(source), out) }

// wasiLibc are the flags for a tool in C that has files.
var wasiLibc = []string{"--target=wasm32-wasi", "--sysroot=/usr", "-mexec-model=reactor"}

// clang builds with every warning as an error.
func clang(flags ...string) builder {
	return func(t *testing.T, source, out string) {
		run(t, source, out, guesttest.Need(t, guesttest.Clang), append(slices.Clone(flags),
			"-Os", "-Wall", "-Wextra", "-Werror", "-Wl,--strip-all", "-o", output, filepath.Base(source))...)
	}
}

// wasi is the target that newer compilers call wasm32-wasip1.
const wasi = "wasm32-wasi"

// rustc builds with every warning as an error. Since Rust 1.68 the form without std
// needs no feature; Debian's has to be allowed what was not stable then.
func rustc(flags ...string) builder {
	return func(t *testing.T, source, out string) {
		compiler, args := guesttest.Need(t, guesttest.Rustc), slices.Clone(flags)
		if i := slices.Index(args, wasi); i >= 0 && exec.Command(compiler, "--print", "target-libdir", "--target", wasi).Run() != nil {
			args[i] = "wasm32-wasip1"
		}
		t.Setenv("RUSTC_BOOTSTRAP", "1")
		run(t, source, out, compiler, append(args, "--edition", "2021", "--crate-type", "cdylib",
			"-C", "opt-level=s", "-C", "lto", "-C", "panic=abort", "-C", "strip=symbols", "-D", "warnings", "-o", output, filepath.Base(source))...)
	}
}

// asc builds with what npm has put beside the SDK; sdk is where the source sees it.
func asc(sdk string) builder {
	return func(t *testing.T, source, out string) {
		run(t, source, out, guesttest.Need(t, guesttest.Asc),
			filepath.Base(source), "--outFile", output, "-Os", "--runtime", "stub", "--use", "abort="+sdk+"/stop")
	}
}

// script lies in the place of a module.
func script(t *testing.T, source, out string) {
	dir := filepath.Dir(out)
	text, err := os.ReadFile(source)
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

// run runs a compiler beside the source, unless that was done before. The argument output
// stands for the file to make.
func run(t *testing.T, source, out, name string, args ...string) {
	t.Helper()
	compiler, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	inputs := append([]string{compiler, filepath.Dir(source)}, args...)
	for _, sdk := range []string{"c", "rust", "assemblyscript"} {
		inputs = append(inputs, filepath.Join(guesttest.Root(t), "sdk", sdk))
	}
	made := guesttest.Made(t, func(made string) {
		args := slices.Clone(args)
		args[slices.Index(args, output)] = made
		cmd := exec.Command(compiler, args...)
		cmd.Dir = filepath.Dir(source)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}, inputs...)
	wasm, err := os.ReadFile(made)
	if err == nil {
		err = os.WriteFile(out, wasm, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// output stands for the file to make among the arguments of a compiler.
const output = "OUTPUT.wasm"
