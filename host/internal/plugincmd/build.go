package plugincmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
)

// patience is how long a first build takes before it is called a slow one: what is slow
// may have been done for another tool.
const patience = 5 * time.Second

// Build builds and checks a plugin, and prints the result.
func (c *Commands) Build(ctx context.Context, dir string) (p *registry.Plugin, err error) {
	wasm, err := c.moduleOf(dir)
	if err != nil {
		return nil, err
	}
	if l, ok := author.Of(dir); ok && l.Slow != "" && !exists(wasm) {
		slow := time.AfterFunc(patience, func() { c.Errf("building with %s; %s\n", l.Needs[0].Program, textOf(l.Slow)) })
		defer slow.Stop()
	}
	b, err := author.Make(ctx, dir, wasm, c.Err)
	if err := c.buildProblem(dir, err); err != nil {
		return nil, err
	}
	p, problems, err := c.check(ctx, dir)
	if err != nil {
		return nil, err
	}
	if c.Problems(problems) > 0 {
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
		c.Outf("%s  %s as a module; %s is run as it is\n", wasm, fileSize(p.WasmBytes), b.Language.Title)
	} else {
		c.Outf("%s  %s, built in %s\n", wasm, fileSize(p.WasmBytes), term.Duration(b.Took))
	}
	c.about(p)
	return p, nil
}

// moduleOf returns the path of the module that the manifest in dir names.
func (c *Commands) moduleOf(dir string) (string, error) {
	manifest := filepath.Join(dir, registry.ManifestName)
	text, err := os.ReadFile(manifest)
	if st, fail := os.Stat(dir); err != nil && fail == nil && !st.IsDir() {
		if _, problems := registry.Check(dir, c.Version); c.Problems(problems) > 0 {
			return "", term.ExitError(term.ExitFailed)
		}
	}
	if err != nil {
		return "", msg.Usagef("go to the folder of a tool or name it; `weir plugin new` makes one", "there is no %s", manifest)
	}
	m, problems := registry.ParseManifest(manifest, text)
	if c.Problems(problems) > 0 {
		return "", term.ExitError(term.ExitFailed)
	}
	return filepath.Join(dir, filepath.FromSlash(m.Wasm)), nil
}

// buildProblem returns the error of a failed build, with the way to fix it.
func (c *Commands) buildProblem(dir string, err error) error {
	if errors.Is(err, author.ErrUnknown) {
		return msg.Usagef(author.Hint(), "%s: %s", dir, err)
	}
	if m, ok := errors.AsType[*author.Missing](err); ok {
		return msg.Usagef(m.Get, "%s; this gets it:", m)
	}
	if f, ok := errors.AsType[*author.Failed](err); ok {
		if c.JSON {
			c.Print(map[string]any{"error": map[string]string{"code": "build_failed", "message": f.Error(), "hint": strings.TrimSpace(f.Output)}})
		}
		c.Errf("weir: %s could not build the tool; its output is above\n", f.Program)
		return term.ExitError(term.ExitFailed)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
