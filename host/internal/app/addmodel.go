package app

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/tomledit"
)

// mostModelName bounds the name of a model, in characters.
const mostModelName = 200

// AddModel writes a model that was found into tools.toml, and puts it in force. Address
// and key are those of what was found: whoever has the token could else send a key to a
// server of their own.
func (a *App) AddModel(ctx context.Context, found provider.Found, body api.ModelAdd) (out api.SettingsPatched, err error) {
	name := cmp.Or(body.Name, found.Preset)
	if !plainName(body.Model) || !plainName(name) || body.Window < 0 {
		return out, api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"preset": "ollama", "model": "qwen3:8b"}`, "the name of the model is not valid")
	}
	a.editing.Lock()
	defer a.editing.Unlock()
	t, err := a.toolsText()
	if err != nil {
		return out, err
	}
	before, _ := config.Parse(t.file, t.text)
	if _, ok := before.Models[name]; ok || name == "demo" {
		return out, api.Problemf(http.StatusConflict, "exists", "send another \"name\"", "a model named %q is configured already", name)
	}
	return a.change(ctx, t, tableOf(name, found, body), body.DryRun)
}

// tableOf returns the keys of a model that was found. Its own key is the name of a variable.
func tableOf(name string, found provider.Found, body api.ModelAdd) []tomledit.Change {
	at := func(key string) []string { return []string{"models", name, key} }
	out := []tomledit.Change{{Path: at("provider"), Value: found.Preset}, {Path: at("model"), Value: body.Model}}
	if pre, _ := provider.PresetByName(found.Preset); !pre.At(found.BaseURL) {
		out = append(out, tomledit.Change{Path: at("base_url"), Value: found.BaseURL})
	}
	if found.KeyEnv != "" {
		out = append(out, tomledit.Change{Path: at("key"), Value: "${" + found.KeyEnv + "}"})
	}
	if body.Window > 0 {
		out = append(out, tomledit.Change{Path: at("window"), Value: int64(body.Window)})
	}
	if body.Default {
		out = append(out, tomledit.Change{Path: []string{"agent", "model"}, Value: name})
	}
	return out
}

// plainName reports whether a name can be written into tools.toml: it refers to no
// variable, and hides nothing.
func plainName(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= mostModelName && !strings.Contains(name, "${") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
