package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
)

func modelCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "model", Short: "List, choose and test chat models"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the configured models, and servers and keys that were found", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listModels(cmd.Context()) },
	}, modelUseCmd(c), modelTestCmd(c))
	return cmd
}

func (c *cli) listModels(ctx context.Context) error {
	_, l, err := c.settings()
	if err != nil {
		return err
	}
	s := l.Settings.WithDefaults()
	found := c.probe(ctx, l.Secrets)
	type row struct {
		Name     string `json:"name"`
		Provider string `json:"provider"`
		Model    string `json:"model"`
		BaseURL  string `json:"base_url,omitempty"`
		Window   int    `json:"window"` // tokens; 0: asked for
		Default  bool   `json:"default"`
	}
	rows := []row{}
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := s.Models[name]
		rows = append(rows, row{name, m.Provider, m.Model, m.BaseURL, m.Window, name == s.Agent.Model})
	}
	rows = append(rows, row{Name: daemon.DemoModel, Provider: "weir", Model: app.DemoInfo().Model, Default: s.Agent.Model == daemon.DemoModel})
	if c.JSON {
		if found == nil {
			found = []provider.Found{}
		}
		c.Print(map[string]any{"models": rows, "found": found})
		return nil
	}
	c.Table("NAME\tPROVIDER\tMODEL\tWINDOW\t", func(w io.Writer) {
		for _, r := range rows {
			window, mark := c.text("asked for"), ""
			if r.Window > 0 {
				window = fmt.Sprint(r.Window)
			}
			if r.Default {
				mark = c.Sprintf("(default)")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Provider, r.Model, window, mark)
		}
	})
	c.tellFound(c.Out, found)
	return nil
}

func modelUseCmd(c *cli) *cobra.Command {
	var m config.ModelSettings
	var name string
	cmd := &cobra.Command{
		Use: "use NAME|PRESET", Short: "Make a model the default, adding it to tools.toml if it is not there",
		Long: c.helpf("Make a configured model the default, or add one from a preset: %s.\n"+
			"The key itself is never written: tools.toml gets a reference to the variable that holds it.", strings.Join(config.PresetNames(), ", ")),
		Example: "  weir model use ollama --model qwen3:8b\n  weir model use ark --model doubao-seed-1-6\n  weir model use demo",
		Args:    argCount(1, 1, "one model or preset"),
		RunE: func(_ *cobra.Command, args []string) error {
			if name == "" {
				name = args[0]
			}
			return c.useModel(args[0], name, m)
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.Model, "model", "", "the model's `NAME` at the provider")
	f.StringVar(&m.BaseURL, "base-url", "", "the server's `URL`, when it is not the preset's")
	f.IntVar(&m.Window, "window", 0, "the context window in `TOKENS`; 0: ask the provider")
	f.StringVar(&name, "name", "", "how weir calls it (default: the preset's name)")
	return cmd
}

func (c *cli) useModel(arg, name string, m config.ModelSettings) error {
	p, l, err := c.settings()
	if err != nil {
		return err
	}
	file, text, err := c.source().ReadForEdit(p.Config)
	if err != nil {
		return err
	}
	if _, known := l.Settings.Models[arg]; (known && m.Model == "") || arg == daemon.DemoModel {
		text = config.SetKey(text, "agent", "model", fmt.Sprintf("%q", arg))
		name = arg
	} else if text, err = c.addModel(text, arg, name, m); err != nil {
		return err
	}
	if after, faults := config.Parse(file, text); len(faults) > 0 || after.Agent.Model != name {
		return usagef(fmt.Sprintf("write model = %q under [agent] yourself", name), "%s is written in a way that this command cannot edit", file)
	}
	if err := config.WriteFile(file, text); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	if c.JSON {
		c.Print(map[string]string{"file": file, "model": name})
		return nil
	}
	c.outf("%s is now the default model (%s)\ntry it: weir model test\na running daemon takes it up with: weir reload\n", name, file)
	return nil
}

func (c *cli) addModel(text, preset, name string, m config.ModelSettings) (string, error) {
	pre, ok := provider.PresetByName(preset)
	if !ok {
		return "", usagef("use a configured model, demo, or one of: "+strings.Join(config.PresetNames(), ", "), "there is no model or preset %q", preset)
	}
	if m.Model == "" {
		return "", usagef("weir model use "+preset+" --model NAME", "which model of %s?", pre.Title)
	}
	m.Provider = pre.Name
	if m.BaseURL == pre.BaseURL {
		m.BaseURL = ""
	}
	if pre.KeyEnv != "" {
		m.Key = "${" + pre.KeyEnv + "}"
	}
	return config.SetModel(text, name, m), nil
}

func (c *cli) probe(ctx context.Context, env config.Lookup) []provider.Found {
	bases := map[string]string{}
	if c.Getenv("WEIR_NO_PROBE") != "" { // tests, and people whose other servers listen there
		for _, p := range provider.Presets() {
			if p.KeyEnv == "" {
				bases[p.Name] = ""
			}
		}
	}
	return provider.Probe(ctx, provider.ProbeOptions{BaseURLs: bases, Getenv: func(name string) string {
		v, _ := env(name)
		return v
	}})
}

func (c *cli) tellFound(w io.Writer, found []provider.Found) {
	for _, f := range found {
		where := c.Sprintf("at %s", f.BaseURL)
		if f.KeyEnv != "" {
			where = c.Sprintf("by %s", f.KeyEnv)
		}
		fmt.Fprint(w, c.Sprintf("          found %s %s → %s\n", f.Title, where, f.Command))
	}
}

// tellModel says in the banner who answers, and what else could.
func (c *cli) tellModel(ctx context.Context, a *app.App) {
	name := a.Settings.Agent.Model
	if m := a.Settings.Models[name]; m.Model != "" {
		c.errf("  model   %s (%s, %s)\n", name, m.Provider, m.Model)
		if err := a.ModelError(name); err != nil {
			c.errf("          it cannot be used: %s\n", err)
		}
		return
	}
	c.errf("  model   the offline demo: a script, not an AI. weir model use … brings a real one\n")
	c.tellFound(c.Err, c.probe(ctx, a.Lookup))
}
