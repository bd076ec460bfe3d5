package guesttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Toolchain builds guests in another language than Go.
type Toolchain string

// The toolchains that sdk/toolchains.sh looks for.
const (
	Clang Toolchain = "clang" // with a linker, and the libraries of C for WASI below /usr
	Rustc Toolchain = "rustc" // with the libraries for wasm32-unknown-unknown and for WASI
	Asc   Toolchain = "asc"   // AssemblyScript's compiler, as npm has put it into sdk/assemblyscript
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
		return "", "apt install clang lld wasi-libc libclang-rt-dev-wasm32"
	case Rustc:
		for _, rustc := range []string{"rustc", "/usr/bin/rustc"} { // rustup's often has no library for Wasm
			if hasTarget(rustc, "wasm32-unknown-unknown") && (hasTarget(rustc, "wasm32-wasi") || hasTarget(rustc, "wasm32-wasip1")) {
				return rustc, ""
			}
		}
		return "", "apt install rustc libstd-rust-dev-wasm32, or rustup target add wasm32-unknown-unknown wasm32-wasip1"
	case Asc:
		asc := filepath.Join(root, "sdk", "assemblyscript", "node_modules", ".bin", "asc")
		if _, err := os.Stat(asc); err != nil {
			return "", "install Node.js and npm, then npm ci in sdk/assemblyscript"
		}
		return asc, ""
	}
	return "", fmt.Sprintf("no toolchain is called %q", string(t))
}

// compiles says whether clang makes a module, which takes a linker, the C library
// for WASI and clang's own for Wasm: four packages.
func compiles() bool {
	cmd := exec.Command("clang", "--target=wasm32-wasi", "--sysroot=/usr", "-mexec-model=reactor", "-Wl,--export=f", "-x", "c", "-", "-o", "-")
	cmd.Stdin = strings.NewReader("#include <stdlib.h>\nvoid *f(size_t n) { return malloc(n); }\n")
	wasm, err := cmd.Output()
	return err == nil && len(wasm) > 0
}

func hasTarget(rustc, target string) bool {
	out, err := exec.Command(rustc, "--print", "target-libdir", "--target", target).Output()
	if err != nil {
		return false
	}
	_, err = os.Stat(strings.TrimSpace(string(out)))
	return err == nil
}
