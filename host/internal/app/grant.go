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
// that it had before. A folder must be in [server] page_folders, or in the workspace:
// whoever has the token could else read all files of this account through a plugin.
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
	dir, _ := l.Secrets("WEIR_WORKSPACE")
	workspace, open := cmp.Or(a.options.Source.Workspace, dir, filepath.Dir(file)), l.Settings.Server.PageFolders
	for _, g := range add.Paths {
		folder, err := inFolders(workspace, filepath.Dir(file), open, g.Host)
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

// inFolders returns a folder, relative to the workspace, without symbolic links. It must be
// in one of the folders open, which are relative to the folder of the configuration file;
// if these are none, in the workspace.
func inFolders(workspace, here string, open []string, folder string) (string, error) {
	if len(open) == 0 {
		return inWorkspace(workspace, folder)
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(workspace, folder)
	}
	for _, root := range open {
		if !filepath.IsAbs(root) {
			root = filepath.Join(here, root)
		}
		if dir, err := inWorkspace(root, folder); err == nil {
			return dir, nil
		}
	}
	return "", msg.Usagef("", "%s is not in a folder of [server] page_folders", folder).WithHint("`weir plugin approve NAME --path GUEST=DIR` grants any folder")
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
	if config.Variable(dir) != "" { // ${X:-..}, the name of a folder, would lead out when the file is read
		return "", msg.Usagef("rename the folder", "tools.toml would read a variable in the name %s", dir)
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
