package plugincmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// packReport is what --json prints of a packed plugin.
type packReport struct {
	File     string   `json:"file"`
	Bytes    int      `json:"bytes"`
	SHA256   string   `json:"sha256"`
	Name     string   `json:"name"`
	Version  string   `json:"version,omitempty"`
	Tools    []string `json:"tools"`
	Warnings []string `json:"warnings,omitempty"`
}

// Pack writes the module of a plugin with its manifest in it to the file out. If out
// is empty, the name and the version make the name of the file.
func (c *Commands) Pack(ctx context.Context, path, out string, strip bool) error {
	p, packed, problems := registry.Pack(path, c.Version, strip)
	problems, err := c.withScript(ctx, p, problems)
	if err != nil {
		return err
	}
	if bad := c.Problems(problems); bad > 0 {
		if c.JSON {
			c.Print(validReport(path, p, problems))
		}
		return term.ExitError(term.ExitFailed)
	}
	if out == "" {
		out = p.Manifest.Name + ".wasm"
		if p.Manifest.Version != "" {
			out = p.Manifest.Name + "-" + fileWord(p.Manifest.Version) + ".wasm"
		}
	}
	if a, err := os.Stat(out); err == nil {
		if b, err := os.Stat(p.WasmPath); err == nil && os.SameFile(a, b) {
			return msg.Usagef("give another file with -o", "%s is the plugin's own module", out)
		}
	}
	if err := atomicfile.Write(out, ".weir-pack-*", 0o644, packed); err != nil { // a daemon may watch the folder
		return msg.Usagef("give a file that can be written with -o", "%s cannot be written: %s", out, msg.Reason(err))
	}
	sum := sha256.Sum256(packed)
	r := packReport{File: out, Bytes: len(packed), SHA256: hex.EncodeToString(sum[:]), Name: p.Manifest.Name, Version: p.Manifest.Version, Tools: declaredNames(p)}
	for _, w := range problems {
		r.Warnings = append(r.Warnings, w.String())
	}
	if c.AsJSON(r) {
		return nil
	}
	c.Outf("%s  %s, sha256 %s\n", r.File, fileSize(r.Bytes), r.SHA256)
	c.about(p)
	return nil
}

// about lists a plugin's tools and what it asks for.
func (c *Commands) about(p *registry.Plugin) {
	for _, t := range p.Manifest.Tools {
		fmt.Fprintf(c.Out, "  %-24s %s\n", t.Spec.Name, term.OneLine(c.Description(t.Spec), 80))
	}
	a := p.Manifest.Asks
	for _, x := range a.Paths {
		c.Outf("  asks for the folder %s\n", x.Guest)
	}
	for _, x := range a.Hosts {
		c.Outf("  asks for the host %s\n", x.Rule)
	}
	for _, x := range a.Secrets {
		c.Outf("  asks for the secret %s, sent to %s\n", x.Name, x.Host)
	}
}

// Problems prints problems to standard error and returns the number of errors.
func (c *Commands) Problems(list []registry.Problem) (bad int) {
	for _, p := range list {
		fmt.Fprintln(c.Err, c.Text(p.Text()))
		if !p.Warning {
			bad++
		}
	}
	return bad
}

type validation struct {
	Path     string             `json:"path"`
	OK       bool               `json:"ok"`
	Name     string             `json:"name,omitempty"`
	ABI      string             `json:"abi,omitempty"`
	Tools    []string           `json:"tools,omitempty"`
	Problems []validatedProblem `json:"problems,omitempty"`
}

type validatedProblem struct {
	File    string    `json:"file"`
	Line    int       `json:"line,omitempty"`
	Col     int       `json:"column,omitempty"`
	Key     string    `json:"key,omitempty"`
	Msg     tool.Text `json:"message"`
	Fix     tool.Text `json:"hint,omitzero"`
	Warning bool      `json:"warning,omitempty"`
}

func validReport(path string, p *registry.Plugin, problems []registry.Problem) validation {
	v := validation{Path: path, OK: true}
	if p != nil {
		v.Name, v.ABI, v.Tools = p.Manifest.Name, string(p.ABI), declaredNames(p)
	}
	for _, x := range problems {
		v.OK = v.OK && x.Warning
		v.Problems = append(v.Problems, validatedProblem(x))
	}
	return v
}

func declaredNames(p *registry.Plugin) []string {
	var names []string
	for _, t := range p.Manifest.Tools {
		names = append(names, t.Spec.Name)
	}
	return names
}

// check checks a plugin as a scan would.
func (c *Commands) check(ctx context.Context, path string) (*registry.Plugin, []registry.Problem, error) {
	p, problems := registry.Check(path, c.Version)
	problems, err := c.withScript(ctx, p, problems)
	return p, problems, err
}

// withScript adds the problems that a script shows when its top level runs.
func (c *Commands) withScript(ctx context.Context, p *registry.Plugin, problems []registry.Problem) ([]registry.Problem, error) {
	if slices.ContainsFunc(problems, func(p registry.Problem) bool { return !p.Warning }) {
		return problems, nil
	}
	cfg, err := c.TestConfig()
	if err != nil {
		return nil, err
	}
	more, err := runner.CheckScript(ctx, p, runner.EnginesConfig{WorkerCommand: cfg.WorkerCommand, CacheDir: cfg.CacheDir, Logger: cfg.Logger})
	return append(problems, more...), err
}

// Validate checks a plugin and prints its problems. Of a plugin's code it runs the top
// level of a script, without permissions.
func (c *Commands) Validate(ctx context.Context, path string) error {
	p, problems, err := c.check(ctx, path)
	if err != nil {
		return err
	}
	if c.JSON {
		v := validReport(path, p, problems)
		c.Print(v)
		if !v.OK {
			return term.ExitError(term.ExitFailed)
		}
		return nil
	}
	if c.Problems(problems) > 0 {
		return term.ExitError(term.ExitFailed)
	}
	if p.ABI != registry.ABIOwn {
		list, _ := p.ABI.Exports()
		c.Outf("%s was made for another host (%s) and can be dropped into a plugin folder; its tools are known when its export %s has run there\n", path, p.ABI, list)
		return nil
	}
	c.Outf("%s is in order: %s %s, %s\n", path, p.Manifest.Name, p.Manifest.Version, fileSize(p.WasmBytes))
	c.about(p)
	return nil
}

// fileSize returns a number of bytes with its unit.
func fileSize(n int) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// fileWord returns a version with only characters that suit a file name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+", r) {
			return r
		}
		return '_'
	}, s)
}
