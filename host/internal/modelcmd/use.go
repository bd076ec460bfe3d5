package modelcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
)

// Flags are the flags of model use.
type Flags struct {
	config.ModelSettings
	// KeyEnv is the variable with the key; Name is how weir calls the model.
	KeyEnv, Name string
}

// given reports whether a flag sets something in the table of the model.
func (f Flags) given() bool { return f.BaseURL != "" || f.Window != 0 || f.KeyEnv != "" }

// A source is the configuration file before a command changes it.
type source struct {
	paths      config.Paths
	file, text string
	settings   config.Settings
	secrets    config.Lookup
}

// readForEdit returns the configuration file. A fault in it is an error.
func (c *Commands) readForEdit() (source, error) {
	p, l, err := c.Load()
	if err != nil {
		return source{}, err
	}
	file, text, err := c.Source.ReadForEdit(p.Config)
	if err != nil {
		return source{}, err
	}
	settings, _ := config.Parse(file, text) // Load has checked it
	return source{p, file, text, settings, l.Secrets}, nil
}

// Use makes a model the default, and adds it to the configuration if it is not there.
func (c *Commands) Use(ctx context.Context, arg string, m Flags) error {
	old, err := c.readForEdit()
	if err != nil {
		return err
	}
	file, toml, before := old.file, old.text, old.settings
	if toml, err = addModel(toml, arg, before.Models, m); err != nil {
		return err
	}
	if u := m.BaseURL; u != "" && !strings.Contains(u, "://") {
		return msg.Usagef("begin it with http:// or https://", "--base-url %s has no scheme", u)
	}
	after, faults := config.Parse(file, toml)
	if len(faults) > 0 || after.Agent.Model != m.Name {
		return msg.Usagef(fmt.Sprintf("write model = %q under [agent] yourself", m.Name), "%s is written in a way that this command cannot edit", file)
	}
	now := after.Models[m.Name]
	if m.BaseURL != "" && m.KeyEnv == "" && now.Key != "" && now.Key == before.Models[m.Name].Key && m.BaseURL != before.Models[m.Name].BaseURL {
		return msg.Usagef("name its own key with --key-env, or add another model with --name", "the key of [models.%s] would be sent to %s", m.Name, m.BaseURL)
	}
	if err := config.WriteFile(file, toml); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	if c.AsJSON(map[string]string{"file": file, "model": m.Name}) {
		return nil
	}
	c.Outf("%s is now the default model (%s)\n", m.Name, file)
	c.tellKey(now, config.EnvFile(file), old.secrets)
	c.tellServer(ctx, m.Name, now, old.secrets)
	c.Outf("try it: %s model test\n", c.program())
	c.TellReload(ctx, old.paths)
	return nil
}

// addModel returns the text of tools.toml with the model that the flags describe as
// the default one. Models are those of the text.
func addModel(text, arg string, models map[string]config.ModelSettings, m Flags) (string, error) {
	if m.KeyEnv != "" && !config.IsVariable(m.KeyEnv) { // which may be the key itself
		return "", msg.Usagef("give the name alone; the key goes into the environment or into .env", "--key-env takes the name of a variable")
	}
	if arg == daemon.DemoModel {
		if m.given() || m.Model != "" || m.Name != arg {
			return "", msg.Usagef("weir model use demo", "the demo model has no settings")
		}
		return config.SetKey(text, "agent", "model", fmt.Sprintf("%q", arg)), nil
	}
	set := m.ModelSettings
	if m.KeyEnv != "" {
		set.Key = "${" + m.KeyEnv + "}"
	}
	old, known := models[m.Name]
	if known && m.Model == "" && m.Name == arg {
		return config.SetModel(text, arg, set), nil
	}
	pre, ok := provider.PresetByName(arg)
	if !ok {
		return "", msg.Usagef("use a configured model, demo, or one of: "+strings.Join(config.PresetNames(), ", "), "there is no model or preset %q", arg)
	}
	if m.Model == "" {
		return "", msg.Usagef("weir model use "+arg+" --model NAME", "which model of %s?", pre.Title)
	}
	set.Provider = pre.Name
	if set.Key == "" && old.Key == "" && pre.KeyEnv != "" && pre.At(cmp.Or(m.BaseURL, old.BaseURL)) {
		set.Key = "${" + pre.KeyEnv + "}"
	}
	if pre.At(set.BaseURL) && old.BaseURL == "" {
		set.BaseURL = ""
	}
	return config.SetModel(text, m.Name, set), nil
}

// tellKey says where the key of a model goes, and where it has to be if its variable
// is not set here.
func (c *Commands) tellKey(m config.ModelSettings, envFile string, env config.Lookup) {
	if pre, _ := provider.PresetByName(m.Provider); m.Key == "" && pre.KeyEnv != "" && !pre.At(m.BaseURL) {
		c.Outf("no key is sent to %s: %s is for %s only; --key-env NAME names the variable of its key\n", m.BaseURL, pre.KeyEnv, pre.BaseURL)
	}
	name := config.Variable(m.Key)
	if value, _ := env(name); name != "" && value == "" {
		c.Outf("%s is not set: write %s=… into %s (chmod 600), or export it in the shell that starts weir\n", name, name, envFile)
	}
}

// Remove removes a configured model that is not the default.
func (c *Commands) Remove(ctx context.Context, name string) error {
	old, err := c.readForEdit()
	if err != nil {
		return err
	}
	file, toml, before := old.file, old.text, old.settings
	if _, ok := before.Models[name]; !ok {
		return unknownModel(name, before)
	}
	if before.Agent.Model == name {
		return msg.Usagef("choose another one first, for example: weir model use demo", "%s is the default model", name)
	}
	toml = config.WithoutTables(toml, "models."+name)
	after, faults := config.Parse(file, toml)
	if _, still := after.Models[name]; still {
		return msg.Usagef("", "%s is written in a way that this command cannot edit", file).WithHint("remove [models.%s] yourself", name)
	}
	if len(faults) > 0 {
		return msg.Usagef("", "%s is still in use: %v", name, faults[0].Msg).WithHint("change that in %s first", file)
	}
	if err := config.WriteFile(file, toml); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	if c.AsJSON(map[string]string{"file": file, "removed": name}) {
		return nil
	}
	c.Outf("%s is removed (%s)\n", name, file)
	c.TellReload(ctx, old.paths)
	return nil
}

// unknownModel is the error for a name that no configured model has.
func unknownModel(name string, s config.Settings) error {
	p := msg.Usagef("", "there is no model %q", name)
	if near := text.Nearest(name, slices.Sorted(maps.Keys(s.Models))); len(near) > 0 {
		return p.WithHint("did you mean one of these: %s", strings.Join(near, ", "))
	}
	return p.WithHint("`weir model list` lists them")
}

// serverTime bounds how long Use asks a local server for its models.
const serverTime = 2 * time.Second

// tellServer says whether the local server of a model answers and has the model.
func (c *Commands) tellServer(ctx context.Context, name string, m config.ModelSettings, env config.Lookup) {
	pre, ok := provider.PresetByName(m.Provider)
	if !ok || pre.KeyEnv != "" || m.BaseURL == "" && c.Getenv("WEIR_NO_PROBE") != "" {
		return
	}
	model := app.NewModel(name, m, env, hclog.NewNullLogger()).Model
	server, ok := agent.As[interface {
		Models(context.Context) ([]string, error)
	}](model)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	_, err := server.Models(ctx)
	if e, ok := errors.AsType[*agent.ModelError](err); ok {
		what, fix := e.Texts()
		c.Outf("%v\n  → %v\n", what, fix)
		return
	}
	if t := provider.Unlisted(ctx, model, m.Model); !t.IsZero() {
		c.Outf("%v\n", t)
		if pre.Name == "ollama" {
			c.Outf("  → get it with: ollama pull %s\n", m.Model)
		}
	}
}
