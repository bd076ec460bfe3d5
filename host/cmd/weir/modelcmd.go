package main

import (
	"cmp"
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

// modelFlags are the flags of model use.
type modelFlags struct {
	config.ModelSettings
	keyEnv, name string
}

// given reports whether a flag sets something in the table of the model.
func (f modelFlags) given() bool { return f.BaseURL != "" || f.Window != 0 || f.keyEnv != "" }

func modelUseCmd(c *cli) *cobra.Command {
	var m modelFlags
	cmd := &cobra.Command{
		Use: "use NAME|PRESET", Short: "Make a model the default, adding it to tools.toml if it is not there",
		Long: c.helpf("Make a configured model the default, or add one from a preset: %s.\n"+
			"The key itself is never written: tools.toml gets a reference to the variable that holds it. A preset's\n"+
			"variable is for the preset's address; for a server of --base-url name one with --key-env.", strings.Join(config.PresetNames(), ", ")),
		Example: "  weir model use ollama --model qwen3:8b\n  weir model use ark --model doubao-seed-1-6\n" +
			"  weir model use openai --base-url https://llm.example.com/v1 --key-env LLM_KEY --model qwen3 --name house\n  weir model use demo",
		Args: argCount(1, 1, "one model or preset"),
		RunE: func(_ *cobra.Command, args []string) error {
			m.name = cmp.Or(m.name, args[0])
			return c.useModel(args[0], m)
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.Model, "model", "", "the model's `NAME` at the provider")
	f.StringVar(&m.BaseURL, "base-url", "", "the server's `URL`, when it is not the preset's")
	f.StringVar(&m.keyEnv, "key-env", "", "the `NAME` of the variable that holds the key (default: the preset's, for the preset's address)")
	f.IntVar(&m.Window, "window", 0, "the context window in `TOKENS`; 0: ask the provider")
	f.StringVar(&m.name, "name", "", "how weir calls it (default: the preset's name)")
	return cmd
}

func (c *cli) useModel(arg string, m modelFlags) error {
	p, l, err := c.settings()
	if err != nil {
		return err
	}
	file, text, err := c.source().ReadForEdit(p.Config)
	if err != nil {
		return err
	}
	before, _ := config.Parse(file, text) // c.settings has checked it
	if text, err = addModel(text, arg, before.Models, m); err != nil {
		return err
	}
	if u := m.BaseURL; u != "" && !strings.Contains(u, "://") {
		return usagef("begin it with http:// or https://", "--base-url %s has no scheme", u)
	}
	after, faults := config.Parse(file, text)
	if len(faults) > 0 || after.Agent.Model != m.name {
		return usagef(fmt.Sprintf("write model = %q under [agent] yourself", m.name), "%s is written in a way that this command cannot edit", file)
	}
	now := after.Models[m.name]
	if m.BaseURL != "" && m.keyEnv == "" && now.Key != "" && now.Key == before.Models[m.name].Key && m.BaseURL != before.Models[m.name].BaseURL {
		return usagef("name its own key with --key-env, or add another model with --name", "the key of [models.%s] would be sent to %s", m.name, m.BaseURL)
	}
	if err := config.WriteFile(file, text); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	if c.JSON {
		c.Print(map[string]string{"file": file, "model": m.name})
		return nil
	}
	c.outf("%s is now the default model (%s)\n", m.name, file)
	c.tellKey(now, config.EnvFile(file), l.Secrets)
	c.outf("try it: weir model test\na running daemon takes it up with: weir reload\n")
	return nil
}

// addModel returns the text of tools.toml with the model that the flags describe as
// the default one. Models are those of the text.
func addModel(text, arg string, models map[string]config.ModelSettings, m modelFlags) (string, error) {
	if m.keyEnv != "" && !config.IsVariable(m.keyEnv) { // which may be the key itself
		return "", usagef("give the name alone; the key goes into the environment or into .env", "--key-env takes the name of a variable")
	}
	if arg == daemon.DemoModel {
		if m.given() || m.Model != "" || m.name != arg {
			return "", usagef("weir model use demo", "the demo model has no settings")
		}
		return config.SetKey(text, "agent", "model", fmt.Sprintf("%q", arg)), nil
	}
	set := m.ModelSettings
	if m.keyEnv != "" {
		set.Key = "${" + m.keyEnv + "}"
	}
	old, known := models[m.name]
	if known && m.Model == "" && m.name == arg {
		return config.SetModel(text, arg, set), nil
	}
	pre, ok := provider.PresetByName(arg)
	if !ok {
		return "", usagef("use a configured model, demo, or one of: "+strings.Join(config.PresetNames(), ", "), "there is no model or preset %q", arg)
	}
	if m.Model == "" {
		return "", usagef("weir model use "+arg+" --model NAME", "which model of %s?", pre.Title)
	}
	set.Provider = pre.Name
	if set.Key == "" && old.Key == "" && pre.KeyEnv != "" && pre.At(cmp.Or(m.BaseURL, old.BaseURL)) {
		set.Key = "${" + pre.KeyEnv + "}"
	}
	if pre.At(set.BaseURL) && old.BaseURL == "" {
		set.BaseURL = ""
	}
	return config.SetModel(text, m.name, set), nil
}

// tellKey says where the key of a model goes, and where it has to be if its variable
// is not set here.
func (c *cli) tellKey(m config.ModelSettings, envFile string, env config.Lookup) {
	if pre, _ := provider.PresetByName(m.Provider); m.Key == "" && pre.KeyEnv != "" && !pre.At(m.BaseURL) {
		c.outf("no key is sent to %s: %s is for %s only; --key-env NAME names the variable of its key\n", m.BaseURL, pre.KeyEnv, pre.BaseURL)
	}
	name := config.Variable(m.Key)
	if value, _ := env(name); name != "" && value == "" {
		c.outf("%s is not set: write %s=… into %s (chmod 600), or export it in the shell that starts weir\n", name, name, envFile)
	}
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
