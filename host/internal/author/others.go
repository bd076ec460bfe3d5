package author

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/weirhost/weir/host/internal/toolchain"
	"github.com/weirhost/weir/sdk"
)

// rust is Rust: by its compiler alone, or by cargo where there is a Cargo.toml.
func rust() Language {
	return Language{
		Name: "rust", Title: "Rust",
		Source:    "main.rs",
		Marks:     []string{"main.rs", "Cargo.toml"},
		Templates: []string{"basic", "http", "files"},
		Needs:     toolchain.Rust(),
		SDK:       copied("rust/weir.rs", "weir/mod.rs"),
		Build: func(dir, out string) []Command {
			compiler, target, _ := toolchain.Rustc()
			if _, err := os.Stat(filepath.Join(dir, "Cargo.toml")); err == nil {
				return []Command{{
					Args:   []string{toolchain.Cargo(compiler), "build", "--release", "--lib", "--target", target, "--target-dir", "target"},
					Env:    []string{"RUSTC=" + compiler},
					Module: filepath.Join("target", target, "release", "*.wasm"),
				}}
			}
			return []Command{{Args: []string{
				compiler, "--edition", "2021", "--crate-type", "cdylib", "--target", target,
				"-C", "opt-level=s", "-C", "lto", "-C", "panic=abort", "-C", "strip=symbols", "-o", out, "main.rs",
			}}}
		},
	}
}

// c is C with wasi-libc.
func c() Language {
	return Language{
		Name: "c", Title: "C",
		Source:    "main.c",
		Marks:     []string{"main.c"},
		Templates: []string{"basic", "http", "files"},
		Needs:     toolchain.C(),
		SDK:       copied("c/weir.h", "weir/weir.h"),
		Build: func(_, out string) []Command {
			return []Command{{Args: []string{
				"clang", "--target=wasm32-wasi", "--sysroot=" + toolchain.Sysroot(), "-mexec-model=reactor", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Wl,--strip-all", "-o", out, "main.c",
			}}}
		},
	}
}

// assemblyScript is AssemblyScript, whose compiler comes from npm with the first
// build.
func assemblyScript() Language {
	return Language{
		Name: "assemblyscript", Title: "AssemblyScript",
		Source:    "main.ts",
		Marks:     []string{"main.ts"},
		Templates: []string{"basic", "http"},
		Needs:     toolchain.Node(),
		SDK:       copied("assemblyscript/weir.ts", "weir/weir.ts"),
		Build: func(_, out string) []Command {
			return []Command{
				{Args: []string{"npm", "install", "--no-audit", "--no-fund", "--loglevel=error"}, Unless: "node_modules/assemblyscript"},
				{Args: []string{"npx", "asc", "main.ts", "--outFile", out, "-Os", "--runtime", "stub", "--use", "abort=weir/weir/stop"}},
			}
		},
		Slow: "the first build fetches the compiler from npm",
	}
}

// typeScript is a JavaScript tool whose script is made of main.ts, with what that
// imports from npm in it.
func typeScript() Language {
	return Language{
		Name: "ts", Title: "TypeScript",
		Source:    "main.ts",
		Templates: []string{"basic", "http"},
		Needs:     toolchain.Node(),
		SDK:       copied("js/weir.d.ts", "weir/weir.d.ts"),
		Build: func(_, out string) []Command {
			return []Command{
				// Without --prefix npm works in the nearest folder above that has a package.json.
				{Args: []string{"npm", "install", "--prefix", ".", "--save-dev", "--no-audit", "--no-fund", "--loglevel=error", "esbuild@^0.28.0"}, Unless: "node_modules/esbuild"},
				{Args: []string{"npx", "esbuild", "main.ts", "--bundle", "--format=esm", "--target=es2022", "--charset=utf8", "--log-level=warning", "--sourcemap=inline", "--sources-content=false", "--outfile=" + out}},
			}
		},
		Slow: "the first build fetches the compiler from npm",
	}
}

// isTypeScript reports whether a folder has a main.ts for a script: without a script in
// its manifest it is AssemblyScript.
func isTypeScript(dir string) bool {
	manifest, err := os.ReadFile(filepath.Join(dir, "plugin.toml"))
	if err != nil || !regexp.MustCompile(`(?m)^\s*script\s*=`).Match(manifest) {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "main.ts"))
	return err == nil
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
