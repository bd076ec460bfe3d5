package app

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
)

// grant adds to the grants of a plugin in the configuration file. undo writes the text
// that it had before. A folder must be in the workspace: whoever has the token could
// else read all files of this account through a plugin.
func (a *App) grant(name string, add plugin.Grant) (undo func() error, err error) {
	a.editing.Lock()
	defer a.editing.Unlock()
	p, l, err := a.load()
	if err != nil {
		return nil, err
	}
	file, text, err := a.options.Source.ReadForEdit(p.Config)
	if err != nil {
		return nil, err
	}
	var wish config.GrantSettings
	for _, g := range add.Paths {
		dir, _ := l.Secrets("WEIR_WORKSPACE")
		folder, err := inWorkspace(cmp.Or(a.options.Source.Workspace, dir, filepath.Dir(file)), g.Host)
		if err != nil {
			return nil, err
		}
		wish.Paths = append(wish.Paths, config.PathGrant{Guest: g.Guest, Host: folder, Mode: g.Mode})
	}
	for _, h := range add.Hosts {
		wish.Hosts = append(wish.Hosts, config.HostGrant{Host: h.Host})
	}
	for _, s := range add.Secrets {
		wish.Secrets = append(wish.Secrets, config.SecretGrant{Name: s})
	}
	after, _, err := config.AddGrant(file, text, name, wish)
	if err != nil {
		return nil, err
	}
	return func() error { return a.replace(file, after, text) }, config.WriteFile(file, after)
}

// replace writes a text in place of another, unless somebody has changed the file since.
func (a *App) replace(file, before, after string) error {
	a.editing.Lock()
	defer a.editing.Unlock()
	if now, err := os.ReadFile(file); err != nil || string(now) != before {
		return msg.Usagef("look at [grants] in it", "%s has changed meanwhile, and what an approval granted there was not taken back", file)
	}
	return config.WriteFile(file, after)
}

// inWorkspace returns a folder of the workspace without symbolic links. A relative one
// is relative to the workspace.
func inWorkspace(workspace, folder string) (string, error) {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(workspace, folder)
	}
	root, err := realPath(workspace)
	dir, err2 := realPath(folder)
	if err := errors.Join(err, err2); err != nil {
		return "", msg.Usagef("give a folder that exists", "%s is not a folder", folder)
	}
	if in, err := filepath.Rel(root, dir); err != nil || !filepath.IsLocal(in) {
		return "", msg.Usagef("", "%s is not in the workspace %s", folder, root).WithHint("`weir plugin approve NAME --path GUEST=DIR` grants any folder")
	}
	return dir, nil
}

func realPath(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}
