package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/toolchain"
)

// A compiler builds plugins in some languages. None is needed to run them.
type compiler struct {
	name    string
	command []string // prints the version; one word: it is only looked for
	builds  string
	get     string
	lacks   func(ctx context.Context, c *cli) (what, get string) // nil: nothing more is needed
}

func compilers() []compiler {
	return []compiler{
		{"go", []string{"go", "version"}, "plugins in Go, and weir itself", toolchain.Go()[0].How(), nil},
		{"tinygo", []string{"tinygo", "version"}, "small plugins in Go", "https://tinygo.org/getting-started/install", nil},
		// rustup's own rustc makes files when it is asked anything.
		{"rustc", []string{"rustc"}, "plugins in Rust", toolchain.Rust()[0].How(), rustTarget},
		{"clang", []string{"clang", "--version"}, "plugins in C", toolchain.C()[0].How(), clangTarget},
		{"node", []string{"node", "--version"}, "plugins in AssemblyScript", toolchain.Node()[0].How(), nil},
	}
}

// rustTarget says whether Rust can build for Wasm: a target's library lies in a
// folder of its own, which rustup and distributions keep in different places.
func rustTarget(_ context.Context, c *cli) (what, get string) {
	home := c.Getenv("RUSTUP_HOME")
	if home == "" {
		home = filepath.Join(c.Getenv("HOME"), ".rustup")
	}
	for _, root := range []string{filepath.Join(home, "toolchains", "*"), "/usr", "/usr/local"} {
		if found, _ := filepath.Glob(filepath.Join(root, "lib", "rustlib", "wasm32-*")); len(found) > 0 { // the pattern is sound
			return "", ""
		}
	}
	return "its library for Wasm was not found", toolchain.Rust()[0].Get[""]
}

func clangTarget(ctx context.Context, _ *cli) (what, get string) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "clang", "--print-targets").Output()
	if err == nil && !strings.Contains(string(out), "wasm32") {
		return "it cannot build for Wasm", "https://github.com/WebAssembly/wasi-sdk"
	}
	for _, n := range toolchain.C() {
		if !n.Here() {
			return n.Program + " is missing", n.How()
		}
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
	return term.OneLine(term.FirstLine(strings.TrimSpace(string(out))), 100), err
}

// toolchains lists what plugins can be built with. What is missing is a note:
// nothing here is needed to run them.
func (e *examination) toolchains(ctx context.Context) {
	list := compilers()
	found := make([]finding, len(list))
	var all sync.WaitGroup
	for i, t := range list {
		all.Go(func() { found[i] = t.find(ctx, e.c) })
	}
	all.Wait()
	e.findings = append(e.findings, found...)
}

func (t compiler) find(ctx context.Context, c *cli) finding {
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
