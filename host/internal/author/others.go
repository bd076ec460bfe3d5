package author

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/sdk"
)

// rust is Rust, by its compiler alone: a tool of one's own with dependencies is
// built by cargo.
func rust() Language {
	return Language{
		Name: "rust", Title: "Rust",
		Source:    "main.rs",
		Marks:     []string{"main.rs"},
		Templates: []string{"basic", "http", "files"},
		Needs: []Need{{Program: "rustc with its library for WASI", Found: func() bool { _, _, ok := rustc(); return ok }, Get: map[string]string{
			"linux": "sudo apt-get install rustc libstd-rust-dev-wasm32",
			"":      "rustup target add wasm32-wasip1",
		}}},
		SDK: copied("rust/weir.rs", "weir/mod.rs"),
		Build: func(out string) []Command {
			compiler, target, _ := rustc()
			return []Command{{Args: []string{
				compiler, "--edition", "2021", "--crate-type", "cdylib", "--target", target,
				"-C", "opt-level=s", "-C", "lto", "-C", "panic=abort", "-C", "strip=symbols", "-o", out, "main.rs",
			}}}
		},
	}
}

// rustc finds a compiler that has a library for WASI, under one of the names that
// its target has had. rustup's, which often comes first, may have none.
func rustc() (compiler, target string, ok bool) {
	for _, compiler := range []string{"rustc", "/usr/bin/rustc"} {
		for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
			out, err := exec.Command(compiler, "--print", "target-libdir", "--target", target).Output()
			if _, missing := os.Stat(strings.TrimSpace(string(out))); err == nil && missing == nil {
				return compiler, target, true
			}
		}
	}
	return "", "", false
}

// c is C with wasi-libc.
func c() Language {
	return Language{
		Name: "c", Title: "C",
		Source:    "main.c",
		Marks:     []string{"main.c"},
		Templates: []string{"basic", "http", "files"},
		Needs: []Need{
			{Program: "clang", Get: cPackages()},
			{Program: "clang's linker wasm-ld", Found: func() bool { _, err := exec.LookPath("wasm-ld"); return err == nil }, Get: cPackages()},
			{Program: "wasi-libc", Found: func() bool { return len(found(sysroot(), "lib/wasm32-wasi*/libc.a")) > 0 }, Get: cPackages()},
		},
		SDK: copied("c/weir.h", "weir/weir.h"),
		Build: func(out string) []Command {
			return []Command{{Args: []string{
				"clang", "--target=wasm32-wasi", "--sysroot=" + sysroot(), "-mexec-model=reactor", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Wl,--strip-all", "-o", out, "main.c",
			}}}
		},
	}
}

func cPackages() map[string]string {
	return map[string]string{
		"linux": "sudo apt-get install clang lld wasi-libc libclang-rt-dev-wasm32",
		"":      "install LLVM and the WASI SDK, and set WASI_SYSROOT to its share/wasi-sysroot",
	}
}

// sysroot is where wasi-libc lies: Debian has it among everything else.
func sysroot() string { return cmp.Or(os.Getenv("WASI_SYSROOT"), "/usr") }

func found(dir, pattern string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, pattern))
	return names
}

// assemblyScript is AssemblyScript, whose compiler comes from npm with the first
// build.
func assemblyScript() Language {
	nodejs := map[string]string{
		"linux":   "sudo apt-get install nodejs npm",
		"darwin":  "brew install node",
		"windows": "winget install OpenJS.NodeJS.LTS",
		"":        "see https://nodejs.org/en/download",
	}
	return Language{
		Name: "assemblyscript", Title: "AssemblyScript",
		Source:    "main.ts",
		Marks:     []string{"main.ts"},
		Templates: []string{"basic", "http"},
		Needs:     []Need{{Program: "node", Get: nodejs}, {Program: "npm", Get: nodejs}},
		SDK:       copied("assemblyscript/weir.ts", "weir/weir.ts"),
		Build: func(out string) []Command {
			return []Command{
				{Args: []string{"npm", "install", "--no-audit", "--no-fund", "--loglevel=error"}, Unless: "node_modules/assemblyscript"},
				{Args: []string{"npx", "asc", "main.ts", "--outFile", out, "-Os", "--runtime", "stub", "--use", "abort=weir/weir/stop"}},
			}
		},
		Slow: "the first build fetches the compiler from npm",
	}
}

// javaScript is not built.
func javaScript() Language {
	return Language{
		Name: "js", Title: "JavaScript",
		Source:    "main.js",
		Marks:     []string{"main.js"},
		Templates: []string{"basic", "http"},
	}
}

// copied is an SDK of one file.
func copied(from, to string) func(Spec) (map[string][]byte, error) {
	return func(Spec) (map[string][]byte, error) {
		text, err := fs.ReadFile(sdk.Sources(), from)
		return map[string][]byte{to: text}, err
	}
}
