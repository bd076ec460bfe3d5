package guesttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/toolchain"
)

// A Toolchain builds guests in another language than Go.
type Toolchain string

// The toolchains that sdk/toolchains.sh looks for.
const (
	Clang Toolchain = "clang" // with a linker, and the libraries of C for WASI below /usr
	Rustc Toolchain = "rustc" // with the libraries for wasm32-unknown-unknown and for WASI
	Asc   Toolchain = "asc"   // AssemblyScript's compiler, as npm has put it into sdk/assemblyscript
	Tsc   Toolchain = "tsc"   // TypeScript's, as npm has put it into sdk/js, with esbuild beside it
)

// Need returns the command of a toolchain. Where it is missing the test is left
// out, in one line that says how to get it; with CI=true it fails.
func Need(tb testing.TB, t Toolchain) string {
	tb.Helper()
	command, get := t.find(Root(tb))
	switch {
	case command != "":
	case os.Getenv("CI") == "true":
		tb.Fatalf("%s is missing: %s", t, get)
	default:
		tb.Skipf("%s is missing: %s", t, get)
	}
	return command
}

// find returns the command, or how to get it.
func (t Toolchain) find(root string) (command, get string) {
	switch t {
	case Clang:
		if compiles() {
			return "clang", ""
		}
		return "", toolchain.C()[0].How()
	case Rustc:
		if rustc, _, ok := toolchain.Rustc("wasm32-unknown-unknown"); ok {
			return rustc, ""
		}
		return "", toolchain.Rust()[0].How()
	case Asc:
		return fromNPM(root, "assemblyscript", t)
	case Tsc:
		return fromNPM(root, "js", t)
	}
	return "", fmt.Sprintf("no toolchain is called %q", string(t))
}

// fromNPM returns the command that npm has put into the folder of an SDK.
func fromNPM(root, sdk string, t Toolchain) (command, get string) {
	command = filepath.Join(root, "sdk", sdk, "node_modules", ".bin", string(t))
	if _, err := os.Stat(command); err != nil {
		return "", toolchain.Node()[0].How() + ", then npm ci in sdk/" + sdk
	}
	return command, ""
}

// compiles says whether clang makes a module, which takes a linker, the C library
// for WASI and clang's own for Wasm: four packages.
func compiles() bool {
	cmd := exec.Command("clang", "--target=wasm32-wasi", "--sysroot=/usr", "-mexec-model=reactor", "-Wl,--export=f", "-x", "c", "-", "-o", "-")
	cmd.Stdin = strings.NewReader("#include <stdlib.h>\nvoid *f(size_t n) { return malloc(n); }\n")
	wasm, err := cmd.Output()
	return err == nil && len(wasm) > 0
}
