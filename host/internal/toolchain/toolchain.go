// Package toolchain knows what building plugins takes in each language, whether this
// machine has it, and how it is got. It looks and runs compilers; it installs nothing.
package toolchain

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A Need is something that has to be installed.
type Need struct {
	Program string
	// Get is the one command that installs it, by system (as in GOOS); "" is for
	// the others.
	Get map[string]string

	found func() bool // nil: when Program is found
}

// Here reports whether this machine has it.
func (n Need) Here() bool {
	if n.found != nil {
		return n.found()
	}
	_, err := exec.LookPath(n.Program)
	return err == nil
}

// How is the command that installs it on this system.
func (n Need) How() string {
	if g, ok := n.Get[runtime.GOOS]; ok {
		return g
	}
	return n.Get[""]
}

// goVersion is the release that is recommended to a machine without Go.
const goVersion = "go1.26.0"

// Go returns the toolchain for Go.
func Go() []Need {
	return []Need{{Program: "go", Get: map[string]string{
		"linux":   "curl -fsSL https://go.dev/dl/" + goVersion + ".linux-" + runtime.GOARCH + ".tar.gz | sudo tar -C /usr/local -xz && export PATH=$PATH:/usr/local/go/bin",
		"darwin":  "brew install go",
		"windows": "winget install GoLang.Go",
		"":        "see https://go.dev/doc/install",
	}}}
}

// Rust returns the toolchain for Rust, without cargo.
func Rust() []Need {
	return []Need{{
		Program: "rustc with its library for WASI", found: func() bool { _, _, ok := Rustc(); return ok },
		Get: map[string]string{
			"linux": "sudo apt-get install rustc libstd-rust-dev-wasm32",
			"":      "rustup target add wasm32-wasip1 wasm32-unknown-unknown",
		},
	}}
}

// Rustc finds a compiler that has a library for WASI, under one of the names that
// its target has had, and for each of the targets besides. rustup's, which often
// comes first, may have none.
func Rustc(besides ...string) (compiler, target string, ok bool) {
	for _, compiler := range []string{"rustc", "/usr/bin/rustc"} {
		for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
			all := hasTarget(compiler, target)
			for _, t := range besides {
				all = all && hasTarget(compiler, t)
			}
			if all {
				return compiler, target, true
			}
		}
	}
	return "", "", false
}

// Cargo returns the cargo that belongs to a compiler: one of another version may pass
// flags that it does not know.
func Cargo(compiler string) string {
	if dir := filepath.Dir(compiler); dir != "." {
		if beside, err := exec.LookPath(filepath.Join(dir, "cargo")); err == nil {
			return beside
		}
	}
	return "cargo"
}

func hasTarget(rustc, target string) bool {
	out, err := exec.Command(rustc, "--print", "target-libdir", "--target", target).Output()
	if err != nil {
		return false
	}
	_, err = os.Stat(strings.TrimSpace(string(out)))
	return err == nil
}

// C returns the toolchain for C with wasi-libc, the compiler first.
func C() []Need {
	get := map[string]string{
		"linux": "sudo apt-get install clang lld wasi-libc libclang-rt-dev-wasm32",
		"":      "install LLVM and the WASI SDK, and set WASI_SYSROOT to its share/wasi-sysroot",
	}
	return []Need{
		{Program: "clang", Get: get},
		{Program: "wasm-ld", Get: get},
		{Program: "wasi-libc", Get: get, found: func() bool {
			names, err := filepath.Glob(filepath.Join(Sysroot(), "lib/wasm32-wasi*/libc.a"))
			return err == nil && len(names) > 0
		}},
	}
}

// Sysroot is where wasi-libc lies: Debian has it among everything else.
func Sysroot() string { return cmp.Or(os.Getenv("WASI_SYSROOT"), "/usr") }

// Node returns the toolchain for AssemblyScript, whose compiler comes from npm.
func Node() []Need {
	get := map[string]string{
		"linux":   "sudo apt-get install nodejs npm",
		"darwin":  "brew install node",
		"windows": "winget install OpenJS.NodeJS.LTS",
		"":        "see https://nodejs.org/en/download",
	}
	return []Need{{Program: "node", Get: get}, {Program: "npm", Get: get}}
}
