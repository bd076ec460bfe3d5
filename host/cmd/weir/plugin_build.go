package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
)

func (c *cli) pluginBuildCmd() *cobra.Command {
	return &cobra.Command{
		Use: "build [DIR]", Short: "Build a tool's module, and check it as a host would",
		Long: "Build the module of the tool in DIR with the toolchain of its language, which is found by what the\n" +
			"folder holds, and check manifest and module. A toolchain that is missing is named, with the command\n" +
			"that gets it. The module is replaced only by a build that has succeeded.",
		Args: argCount(0, 1, "one folder at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := c.pluginBuild(cmd.Context(), folderOf(args))
			return err
		},
	}
}

// folderOf is the folder that a command is about.
func folderOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "."
}

// pluginBuild builds and checks a plugin, and prints the result.
func (c *cli) pluginBuild(ctx context.Context, dir string) (p *registry.Plugin, err error) {
	wasm, err := c.moduleOf(dir)
	if err != nil {
		return nil, err
	}
	if l, ok := author.Of(dir); ok && l.Slow != "" && !exists(wasm) {
		c.errf("building with %s; %s\n", l.Needs[0].Program, phrase(l.Slow))
	}
	b, err := author.Make(ctx, dir, wasm, c.Err)
	if err := c.buildProblem(dir, err); err != nil {
		return nil, err
	}
	p, problems := registry.Check(dir, version())
	if c.problems(problems) > 0 {
		if c.JSON {
			c.Print(validReport(dir, p, problems))
		}
		return p, term.ExitError(term.ExitFailed)
	}
	if c.JSON {
		c.Print(map[string]any{"file": wasm, "lang": b.Language.Name, "bytes": p.WasmBytes, "took_ms": b.Took.Milliseconds(), "sha256": p.WasmSHA256, "name": p.Manifest.Name, "tools": declaredNames(p)})
		return p, nil
	}
	if b.Language.Build == nil {
		c.outf("%s  %s as a module; %s is run as it is\n", wasm, fileSize(p.WasmBytes), b.Language.Title)
	} else {
		c.outf("%s  %s, built in %s\n", wasm, fileSize(p.WasmBytes), term.Duration(b.Took))
	}
	c.about(p)
	return p, nil
}

// moduleOf is where the manifest in a folder says that its module lies.
func (c *cli) moduleOf(dir string) (string, error) {
	manifest := filepath.Join(dir, registry.ManifestName)
	text, err := os.ReadFile(manifest)
	if err != nil {
		return "", usagef("go to the folder of a tool or name it; `weir plugin new` makes one", "there is no %s", manifest)
	}
	m, problems := registry.ParseManifest(manifest, text)
	if c.problems(problems) > 0 {
		return "", term.ExitError(term.ExitFailed)
	}
	return filepath.Join(dir, filepath.FromSlash(m.Wasm)), nil
}

// buildProblem words what kept a build from succeeding.
func (c *cli) buildProblem(dir string, err error) error {
	if errors.Is(err, author.ErrUnknown) {
		return usagef(author.Hint(), "%s: %s", dir, err)
	}
	if m, ok := errors.AsType[*author.Missing](err); ok {
		return usagef(m.Get, "%s; this gets it:", m)
	}
	if f, ok := errors.AsType[*author.Failed](err); ok {
		if c.JSON {
			c.Print(map[string]any{"error": map[string]string{"code": "build_failed", "message": f.Error(), "hint": strings.TrimSpace(f.Output)}})
		}
		c.errf("weir: %s; its output is above\n", f)
		return term.ExitError(term.ExitFailed)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
