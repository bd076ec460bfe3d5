package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A toolchain builds plugins in some languages. None is needed to run them.
type toolchain struct {
	name    string
	command []string // prints the version; one word: it is only looked for
	builds  string
	get     string
	lacks   func(ctx context.Context, c *cli) (what, get string) // nil: nothing more is needed
}

func toolchains() []toolchain {
	return []toolchain{
		{"go", []string{"go", "version"}, "plugins in Go, and weir itself", "https://go.dev/dl, 1.26 or newer", nil},
		{"tinygo", []string{"tinygo", "version"}, "small plugins in Go", "https://tinygo.org/getting-started/install", nil},
		// rustup's own rustc makes files when it is asked anything.
		{"rustc", []string{"rustc"}, "plugins in Rust", "https://rustup.rs", rustTarget},
		{"clang", []string{"clang", "--version"}, "plugins in C", "apt install clang lld wasi-libc libclang-rt-dev-wasm32, or https://github.com/WebAssembly/wasi-sdk", clangTarget},
		{"node", []string{"node", "--version"}, "plugins in AssemblyScript", "https://nodejs.org", nil},
	}
}

// rustTarget says whether Rust can build for Wasm: a target's library lies in a
// folder of its own, which rustup and distributions keep in different places.
func rustTarget(_ context.Context, c *cli) (what, get string) {
	home := c.getenv("RUSTUP_HOME")
	if home == "" {
		home = filepath.Join(c.getenv("HOME"), ".rustup")
	}
	for _, root := range []string{filepath.Join(home, "toolchains", "*"), "/usr", "/usr/local"} {
		if found, _ := filepath.Glob(filepath.Join(root, "lib", "rustlib", "wasm32-*")); len(found) > 0 { // the pattern is sound
			return "", ""
		}
	}
	return "its library for Wasm was not found", "rustup target add wasm32-wasip1 wasm32-unknown-unknown"
}

func clangTarget(ctx context.Context, _ *cli) (what, get string) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "clang", "--print-targets").Output()
	if err == nil && !strings.Contains(string(out), "wasm32") {
		return "it cannot build for Wasm", "https://github.com/WebAssembly/wasi-sdk"
	}
	if _, err := exec.LookPath("wasm-ld"); err != nil {
		return "wasm-ld, which links for Wasm, is missing", "apt install lld"
	}
	return "", ""
}

func firstLine(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	// Without a home nothing is written there, and asking must fetch nothing.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOTOOLCHAIN=local"}
	out, err := cmd.Output()
	return oneLine(firstLineOf(strings.TrimSpace(string(out))), 100), err
}

// toolchains lists what plugins can be built with. What is missing is a note:
// nothing here is needed to run them.
func (e *examination) toolchains(ctx context.Context) {
	list := toolchains()
	found := make([]finding, len(list))
	var all sync.WaitGroup
	for i, t := range list {
		all.Go(func() { found[i] = t.find(ctx, e.c) })
	}
	all.Wait()
	e.findings = append(e.findings, found...)
}

func (t toolchain) find(ctx context.Context, c *cli) finding {
	f := finding{Area: "build", Status: noted, Fix: t.get}
	if _, err := exec.LookPath(t.command[0]); err != nil {
		f.What = t.name + " is not here; it builds " + t.builds
		return f
	}
	f.What = t.name + " is here"
	if len(t.command) > 1 {
		line, err := firstLine(ctx, t.command...)
		if err != nil {
			f.What += " and does not answer; it builds " + t.builds
			return f
		}
		f.What = t.name + ": " + strings.TrimPrefix(line, t.name+" ")
	}
	if t.lacks != nil {
		if what, get := t.lacks(ctx, c); what != "" {
			f.What, f.Fix = t.name+" is here, but "+what, get
			return f
		}
	}
	f.Status, f.Fix = inOrder, ""
	return f
}
