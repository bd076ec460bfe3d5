package doctor

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
	"github.com/weirhost/weir/sdk/tool"
)

// A compiler builds plugins in some languages. None is needed to run them.
type compiler struct {
	name    string
	command []string // prints the version; one word: the program is not run
	builds  tool.Text
	get     string
	// lacks returns what else is missing, and how to get it. Nil: nothing is.
	lacks func(ctx context.Context, getenv func(string) string) (what tool.Text, get string)
}

func compilers() []compiler {
	return []compiler{
		{"go", []string{"go", "version"}, tool.Textf("plugins in Go, and weir itself"), toolchain.Go()[0].How(), nil},
		{"tinygo", []string{"tinygo", "version"}, tool.Textf("small plugins in Go"), "https://tinygo.org/getting-started/install", nil},
		// The rustc of rustup writes files when it is run.
		{"rustc", []string{"rustc"}, tool.Textf("plugins in Rust"), toolchain.Rust()[0].How(), rustTarget},
		{"clang", []string{"clang", "--version"}, tool.Textf("plugins in C"), toolchain.C()[0].How(), clangTarget},
		{"node", []string{"node", "--version"}, tool.Textf("plugins in AssemblyScript"), toolchain.Node()[0].How(), nil},
	}
}

// rustTarget checks that Rust can build for Wasm. The library of a target has a
// folder of its own, in places that differ between rustup and distributions.
func rustTarget(_ context.Context, getenv func(string) string) (what tool.Text, get string) {
	home := getenv("RUSTUP_HOME")
	if home == "" {
		home = filepath.Join(getenv("HOME"), ".rustup")
	}
	for _, root := range []string{filepath.Join(home, "toolchains", "*"), "/usr", "/usr/local"} {
		if found, _ := filepath.Glob(filepath.Join(root, "lib", "rustlib", "wasm32-*")); len(found) > 0 { // the pattern is sound
			return tool.Text{}, ""
		}
	}
	return tool.Textf("its library for Wasm was not found"), toolchain.Rust()[0].How()
}

func clangTarget(ctx context.Context, _ func(string) string) (what tool.Text, get string) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "clang", "--print-targets").Output()
	if err == nil && !strings.Contains(string(out), "wasm32") {
		return tool.Textf("it cannot build for Wasm"), "https://github.com/WebAssembly/wasi-sdk"
	}
	for _, n := range toolchain.C() {
		if !n.Here() {
			return tool.Textf("%s is missing", n.Program), n.How()
		}
	}
	return tool.Text{}, ""
}

func firstLine(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	// Without HOME the program writes no files there, and it must not download a toolchain.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOTOOLCHAIN=local"}
	out, err := cmd.Output()
	return term.OneLine(term.FirstLine(strings.TrimSpace(string(out))), 100), err
}

// toolchains lists the compilers for plugins. A missing one is a Note: running
// plugins needs none.
func (e *exam) toolchains(ctx context.Context) {
	list := compilers()
	found := make([]Finding, len(list))
	var all sync.WaitGroup
	for i, t := range list {
		all.Go(func() { found[i] = t.find(ctx, e.getenv) })
	}
	all.Wait()
	e.findings = append(e.findings, found...)
}

func (t compiler) find(ctx context.Context, getenv func(string) string) Finding {
	missing := func(format string, args ...any) Finding {
		return Finding{"build", Note, tool.Textf(format, args...), tool.Text{Format: t.get}}
	}
	if _, err := exec.LookPath(t.command[0]); err != nil {
		return missing("%s is not here; it builds %s", t.name, t.builds)
	}
	what := tool.Textf("%s is here", t.name)
	if len(t.command) > 1 {
		line, err := firstLine(ctx, t.command...)
		if err != nil {
			return missing("%s is here and does not answer; it builds %s", t.name, t.builds)
		}
		what = tool.Textf("%s: %s", t.name, strings.TrimPrefix(line, t.name+" "))
	}
	if t.lacks != nil {
		if lacks, get := t.lacks(ctx, getenv); !lacks.IsZero() {
			return Finding{"build", Note, tool.Textf("%s is here, but %s", t.name, lacks), tool.Text{Format: get}}
		}
	}
	return Finding{Area: "build", Status: OK, What: what}
}
