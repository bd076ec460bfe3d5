package plugincmd

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/plugintest"
)

// Inspect prints everything about the plugin at path under this configuration. It
// opens a host for the plugin alone and stores nothing.
func (c *Commands) Inspect(ctx context.Context, path string) error {
	pl, problems, err := c.check(ctx, path)
	if err != nil {
		return err
	}
	if c.Problems(problems) > 0 {
		if c.JSON {
			c.Print(validReport(path, pl, problems))
		}
		return term.ExitError(term.ExitFailed)
	}
	cfg, err := c.HostConfig()
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "weir-info-")
	if err != nil {
		return msg.Errorf("no place to look at a plugin: %w", err)
	}
	defer os.RemoveAll(temp)
	folder := filepath.Join(temp, "plugins")
	if err := plugintest.Alone(path, folder); err != nil {
		return err
	}
	trust := plugin.Trust("")
	for _, f := range cfg.Folders {
		if rel, err := filepath.Rel(author.Absolute(f.Path), author.Absolute(pl.Source)); err == nil && filepath.IsLocal(rel) {
			trust = cmp.Or(f.Trust, plugin.TrustAsk)
		}
	}
	cfg.Folders, cfg.Servers = []plugin.Folder{{Path: folder, Trust: plugin.TrustGranted}}, nil
	cfg.Archive, cfg.Lock, cfg.Approved = archive.Config{}, "", ""
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer h.Close()
	list := h.Plugins()
	if len(list) != 1 {
		return msg.Errorf("%s cannot be looked at", path)
	}
	r, err := h.Review(ctx, list[0].Name)
	if err != nil {
		return err
	}
	r.Plugin.Source, r.Plugin.Trust = pl.Source, trust // not of where it was put for a moment
	if v := r.Serving; v != nil {
		v.Source, v.File = pl.Source, pl.WasmPath
	}
	if c.AsJSON(r) {
		return nil
	}
	c.ShowReview(r)
	return nil
}
