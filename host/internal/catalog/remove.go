package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Remove returns the change that deletes a plugin and its copies from the lock. If
// paths is not nil, the change stores in it the plugin's files in the folder, for
// RemoveFiles.
func (c *Catalog) Remove(name string, paths *[]string) Change {
	return func(_ context.Context, snap *registry.Snapshot, lock *lockfile.Lock) error {
		if !slices.Contains(namesOf(snap, lock), name) {
			return notFound(snap, lock, name)
		}
		if paths != nil {
			*paths = pathsOf(snap, name)
		}
		e := lock.Plugins[name]
		if delete(lock.Plugins, name); e != nil && c.cfg.Store.Shared() { // no other machine approves it again
			for _, v := range e.History {
				v.Copy, v.Powers = "", nil
			}
			lock.Plugins[name] = &lockfile.Entry{History: e.History, Earlier: e.Earlier}
		}
		return nil
	}
}

// pathsOf returns the files of a plugin in its folder, its source first.
func pathsOf(snap *registry.Snapshot, name string) []string {
	for _, p := range snap.Plugins {
		if p.Manifest.Name == name {
			return p.Paths()
		}
	}
	for _, r := range snap.Refused {
		if r.Name == name {
			return []string{r.Source}
		}
	}
	return nil
}

// RemoveFiles deletes the files of a plugin, of which the first is its source, and
// its folder if that is empty afterwards. It follows no link out of the folder, whose
// content is not trusted. If the folder itself is a link, to where the author works,
// only the link is deleted. On an error the Removal lists what was deleted before.
func RemoveFiles(paths []string) (removed plugin.Removal, err error) {
	if len(paths) == 0 {
		return removed, nil
	}
	dir := filepath.Dir(paths[0])
	ownFolder := filepath.Base(paths[0]) == registry.ManifestName
	if st, err := os.Lstat(dir); ownFolder && err == nil && !st.IsDir() {
		if err := os.Remove(dir); err != nil {
			return removed, removeError(dir, err, nil)
		}
		return plugin.Removal{Files: []string{dir}, Link: true}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return removed, removeError(dir, err, nil)
	}
	defer root.Close()
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err == nil {
			err = root.Remove(name)
		}
		if err == nil {
			removed.Files = append(removed.Files, path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return removed, removeError(path, err, removed.Files)
		}
	}
	if ownFolder {
		_ = os.Remove(dir) // fails if the folder has other files
	}
	return removed, nil
}

func removeError(path string, err error, removed []string) error {
	done := tool.Textf("the plugin is forgotten, and no file is deleted")
	if len(removed) > 0 {
		done = tool.Textf("the plugin is forgotten, and these files are deleted: %s", strings.Join(removed, ", "))
	}
	return &plugin.Error{Code: plugin.CodeInvalid, Msg: tool.Textf("%s cannot be deleted: %s; %s", path, msg.Reason(err), done), Hint: tool.Textf("delete the rest yourself")}
}
