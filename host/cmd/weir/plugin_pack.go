package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
)

// packCmd makes one file of a plugin's folder.
func (c *cli) packCmd() *cobra.Command {
	var out string
	var strip bool
	cmd := &cobra.Command{
		Use: "pack DIR [-o FILE.wasm]", Short: "Write a plugin's manifest into its module: one file to hand around",
		Long: "Write the manifest of the plugin in DIR into the custom section weir.manifest of its\n" +
			"module. The new file, dropped alone into a plugin folder, is the whole plugin. The same\n" +
			"files give the same bytes.",
		Example: "  weir plugin pack plugins/grep_search\n  weir plugin pack . --strip -o /tmp/grep_search.wasm",
		Args:    argCount(1, 1, "one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.pack(args[0], out, strip)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE` (default: NAME-VERSION.wasm in the current folder)")
	cmd.Flags().BoolVar(&strip, "strip", false, "drop the module's other custom sections: names and debugging data")
	return cmd
}

// validateCmd reads a plugin as a host would, and runs nothing.
func (c *cli) validateCmd() *cobra.Command {
	return &cobra.Command{
		Use: "validate PATH", Short: "Check a plugin: its folder, its manifest, or a .wasm",
		Long: "Read a plugin as the host does, run nothing, and print what is wrong, each with file,\n" +
			"line and column and what to change. The exit code is 1 when the plugin cannot be used.",
		Args: argCount(1, 1, "one folder or file"),
		RunE: func(_ *cobra.Command, args []string) error { return c.validate(args[0]) },
	}
}

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

func (c *cli) pack(path, out string, strip bool) error {
	p, packed, problems := registry.Pack(path, version(), strip)
	if bad := c.problems(problems); bad > 0 {
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
			return usagef("give another file with -o", "%s is the plugin's own module", out)
		}
	}
	if err := writeModule(out, packed); err != nil {
		return fmt.Errorf("the packed plugin cannot be written: %w", err)
	}
	sum := sha256.Sum256(packed)
	r := packReport{File: out, Bytes: len(packed), SHA256: hex.EncodeToString(sum[:]), Name: p.Manifest.Name, Version: p.Manifest.Version, Tools: declaredNames(p)}
	for _, w := range problems {
		r.Warnings = append(r.Warnings, w.String())
	}
	if c.JSON {
		c.Print(r)
		return nil
	}
	c.outf("%s  %s, sha256 %s\n", r.File, fileSize(r.Bytes), r.SHA256)
	c.about(p)
	return nil
}

// about lists a plugin's tools and what it asks for.
func (c *cli) about(p *registry.Plugin) {
	for _, t := range p.Manifest.Tools {
		fmt.Fprintf(c.Out, "  %-24s %s\n", t.Spec.Name, term.OneLine(c.description(t.Spec), 80))
	}
	a := p.Manifest.Asks
	for _, x := range a.Paths {
		c.outf("  asks for the folder %s\n", x.Guest)
	}
	for _, x := range a.Hosts {
		c.outf("  asks for the host %s\n", x.Rule)
	}
	for _, x := range a.Secrets {
		c.outf("  asks for the secret %s, sent to %s\n", x.Name, x.Host)
	}
}

// problems prints what is wrong on stderr and counts the errors among it.
func (c *cli) problems(list []registry.Problem) (bad int) {
	for _, p := range list {
		p.Msg, p.Fix = c.text(p.Msg), c.text(p.Fix)
		fmt.Fprintln(c.Err, p)
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
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Msg     string `json:"message"`
	Fix     string `json:"hint,omitempty"`
	Warning bool   `json:"warning,omitempty"`
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

func (c *cli) validate(path string) error {
	p, problems := registry.Check(path, version())
	if c.JSON {
		v := validReport(path, p, problems)
		c.Print(v)
		if !v.OK {
			return term.ExitError(term.ExitFailed)
		}
		return nil
	}
	if c.problems(problems) > 0 {
		return term.ExitError(term.ExitFailed)
	}
	if p.ABI != registry.ABIOwn {
		list, _ := p.ABI.Exports()
		c.outf("%s was made for another host (%s) and can be dropped into a plugin folder; its tools are known when its export %s has run there\n", path, p.ABI, list)
		return nil
	}
	c.outf("%s is in order: %s %s, %s\n", path, p.Manifest.Name, p.Manifest.Version, fileSize(p.WasmBytes))
	c.about(p)
	return nil
}

// fileSize writes a number of bytes as people read it.
func fileSize(n int) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// fileWord makes a version fit for a file name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+", r) {
			return r
		}
		return '_'
	}, s)
}

// writeModule writes a file whole or not at all: a plugin folder may be watched.
func writeModule(file string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".weir-pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
