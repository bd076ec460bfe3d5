package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/plugintest"
)

// isPath reports whether an argument means a plugin's files, not a plugin that
// the daemon has by name.
func isPath(arg string) bool {
	return strings.ContainsAny(arg, `/\`) || arg == "." || arg == ".." || strings.HasSuffix(arg, ".wasm") || strings.HasSuffix(arg, ".toml")
}

// infoOf shows a plugin that lies anywhere, as this configuration would take it
// in. Nothing is kept of it, and no daemon is asked.
func (c *cli) infoOf(ctx context.Context, path string) error {
	pl, problems := registry.Check(path, version())
	if c.problems(problems) > 0 {
		if c.JSON {
			c.Print(validReport(path, pl, problems))
		}
		return term.ExitError(term.ExitFailed)
	}
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	s, secrets, err := c.settings(p)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "weir-info-")
	if err != nil {
		return fmt.Errorf("no place to look at a plugin: %w", err)
	}
	defer os.RemoveAll(temp)
	folder := filepath.Join(temp, "plugins")
	if err := plugintest.Alone(path, folder); err != nil {
		return err
	}
	cfg := s.WithDefaults().Host(p, secrets, c.pluginLogger(), version())
	cfg.Folders, cfg.Servers = []plugin.Folder{{Path: folder, Trust: plugin.TrustGranted}}, nil
	cfg.Archive, cfg.Lock, cfg.Approved = archive.Config{}, "", ""
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer h.Close()
	list := h.Plugins()
	if len(list) != 1 {
		return fmt.Errorf("%s cannot be looked at", path)
	}
	r, err := h.Review(ctx, list[0].Name)
	if err != nil {
		return err
	}
	r.Plugin.Source = pl.Source // not where it was put for a moment
	if v := r.Serving; v != nil {
		v.Source, v.File = pl.Source, pl.WasmPath
	}
	if c.JSON {
		c.Print(r)
		return nil
	}
	c.tellReview(r)
	return nil
}
