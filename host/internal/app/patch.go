package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/linediff"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/settingkeys"
	"github.com/weirhost/weir/host/internal/tomledit"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// tools is the text of tools.toml at one moment.
type tools struct {
	paths      config.Paths
	file, text string
}

// tag returns the ETag of the text.
func tag(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf(`"%x"`, sum[:12])
}

func (a *App) toolsText() (t tools, err error) {
	if t.paths, err = a.options.Source.Paths(); err == nil {
		t.file, t.text, err = a.options.Source.ReadForEdit(t.paths.Config)
	}
	return t, err
}

// SettingsTag returns the ETag of tools.toml.
func (a *App) SettingsTag() (string, error) {
	t, err := a.toolsText()
	return tag(t.text), err
}

// SettingsSchema returns the keys of tools.toml that PatchSettings writes.
func (a *App) SettingsSchema() (api.SettingsSchema, error) {
	t, err := a.toolsText()
	return settingkeys.Schema(t.file, t.text, func(key string) bool { return covers(reloadable, key) }), err
}

// PatchSettings changes keys of tools.toml, if its ETag is still match, and puts them in
// force. The file is checked as a whole before it is written.
func (a *App) PatchSettings(ctx context.Context, match string, body api.SettingsPatch) (out api.SettingsPatched, err error) {
	changes, err := settingkeys.Changes(body.Changes)
	if err != nil {
		return out, err
	}
	a.editing.Lock()
	defer a.editing.Unlock()
	t, err := a.toolsText()
	if err != nil {
		return out, err
	}
	if tag(t.text) != match {
		return out, outdated(t.file)
	}
	root, _ := tomlpos.Locate(t.text)
	for _, table := range settingkeys.NeedTables(changes) {
		if root.Find(table...) == nil {
			return out, api.Problemf(http.StatusConflict, "no_table", "`weir model use` and `weir user add` make one", "%s has no table [%s]", t.file, strings.Join(table, "."))
		}
	}
	return a.change(ctx, t, changes, body.DryRun)
}

// change writes changes and puts them in force; with dry it only says what they would do.
func (a *App) change(ctx context.Context, t tools, changes []tomledit.Change, dry bool) (out api.SettingsPatched, err error) {
	after, err := edited(t, changes)
	if err != nil {
		return out, err
	}
	out = api.SettingsPatched{File: t.file, ETag: tag(after), Diff: linediff.Of(t.text, after), Notes: []tool.Text{}}
	if out.InForce, out.Restart, err = a.preview(t, after); err != nil || dry || after == t.text {
		return out, err
	}
	return a.put(ctx, t, after, out)
}

// edited returns the text with the changes.
func edited(t tools, changes []tomledit.Change) (string, error) {
	after, err := tomledit.Apply(t.text, changes)
	if err != nil {
		p := api.Problemf(http.StatusUnprocessableEntity, "not_editable", "", "%s", err)
		return "", p.WithHint("edit %s yourself: %s", t.file, lines(changes))
	}
	return after, nil
}

// lines returns changes as a person writes them.
func lines(changes []tomledit.Change) string {
	var out []string
	for _, c := range changes {
		var names []string
		for _, name := range c.Path {
			names = append(names, tomledit.Key(name))
		}
		literal, err := tomledit.Literal(c.Value)
		if err != nil {
			literal = "(remove it)"
		}
		out = append(out, strings.Join(names, ".")+" = "+literal)
	}
	return strings.Join(out, "; ")
}

// preview checks a text as a reload does, and returns the keys that it would change: those
// that apply now, and those after a restart.
func (a *App) preview(t tools, text string) (inForce, restart []string, err error) {
	p := t.paths
	p.Config = t.file
	loaded, err := a.options.Source.LoadText(p, []byte(text))
	if err == nil {
		err = loaded.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var next *pending
	if err == nil {
		next, err = a.prepare(p, loaded)
	}
	if err != nil {
		return nil, nil, &api.Problem{Status: http.StatusUnprocessableEntity, Code: "config", Msg: msg.Of(err), Hint: tool.Textf("nothing was written; correct the value")}
	}
	a.discard(next.tracing)
	inForce, restart = Diff(a.inForce, next.settings)
	return inForce, restart, nil
}

// put writes the text and puts it in force. If that fails, the text before is back.
func (a *App) put(ctx context.Context, t tools, after string, out api.SettingsPatched) (api.SettingsPatched, error) {
	file, err := filepath.EvalSymlinks(t.file)
	if err != nil { // there is no file yet
		file = t.file
	}
	if now, err := os.ReadFile(file); err == nil && string(now) != t.text {
		return out, outdated(t.file)
	}
	if err := config.WriteFile(file, after); err != nil {
		return out, api.Problemf(http.StatusConflict, "config", "check the permissions of the file and its folder", "%s cannot be written", t.file)
	}
	report, err := a.Reload(ctx)
	if err != nil {
		if back := config.WriteFile(file, t.text); back != nil {
			a.Log.Error("the configuration before a change cannot be written back", "file", file, "error", back)
		}
		return out, err
	}
	out.Written, out.InForce, out.Restart, out.Change, out.Notes = true, report.InForce, report.Restart, report.Change, report.Notes
	return out, nil
}

func outdated(file string) error {
	return api.Problemf(http.StatusPreconditionFailed, "changed", "read the settings again and send the change with their ETag", "%s has changed since it was read", file)
}
