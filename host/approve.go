package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
)

// Approve lets the version of a plugin run whose digest a person has seen. by
// names the way it was said: "cli", "page" or "api". It is an error when other
// bytes lie in the folder by now. Calls that run finish on what they began with.
func (h *Host) Approve(ctx context.Context, name, digest, by string) error {
	return h.say(ctx, func(snap *registry.Snapshot, lock *lockfile.Lock) error {
		i := slices.IndexFunc(snap.Plugins, func(p *registry.Plugin) bool { return p.Manifest.Name == name })
		if i < 0 {
			return missing(snap, lock, name)
		}
		pl := snap.Plugins[i]
		if pl.Digest() != digest {
			return &plugin.Error{Code: plugin.CodeChanged, Msg: fmt.Sprintf("%s is not what was shown: its files have changed since", name), Hint: "look at it again: weir plugin approve " + name}
		}
		if e := lock.Plugins[name]; e.Current() != nil && e.Digest == digest && e.Source == pl.Source && !e.RolledBack {
			e.Current().Powers = h.powers(pl) // approved already; what is granted may be new
		} else if err := h.admit(lock, pl, by); err != nil {
			return unpinned(err)
		}
		for other, e := range lock.Plugins { // what lay there before is replaced
			if other != name && e.Source == pl.Source {
				e.Digest, e.RolledBack = "", false
			}
		}
		return nil
	})
}

// Rollback lets an earlier version run again, and nothing else until the next
// approval. An empty digest means the version before the one that runs; a part
// of a digest, at least 6 digits, is enough when it fits one version alone.
func (h *Host) Rollback(ctx context.Context, name, digest string) error {
	return h.say(ctx, func(snap *registry.Snapshot, lock *lockfile.Lock) error {
		e := lock.Plugins[name]
		if e == nil {
			return missing(snap, lock, name)
		}
		if !lies(snap, name, e.Source) {
			return gone(name)
		}
		v, err := earlier(name, e, digest)
		if err != nil {
			return err
		}
		trial := *e
		trial.Digest = v.Digest
		if h.copyOf(&trial, registry.Folder{}) == nil {
			return &plugin.Error{Code: plugin.CodeNoVersion, Msg: fmt.Sprintf("the copy of version %s of %s cannot be used any more", orUnnamed(v.Version), name), Hint: "the log says why; weir plugin info " + name + " lists the others"}
		}
		e.Digest, e.RolledBack = v.Digest, true
		return nil
	})
}

// lies reports whether something of a plugin lies in a folder.
func lies(snap *registry.Snapshot, name, source string) bool {
	return slices.ContainsFunc(snap.Plugins, func(p *registry.Plugin) bool { return p.Manifest.Name == name || p.Source == source }) ||
		slices.ContainsFunc(snap.Refused, func(r registry.Refusal) bool { return r.Source == source })
}

// gone is the error about a plugin that the lock alone knows.
func gone(name string) error {
	return &plugin.Error{Code: plugin.CodeUnknown, Msg: fmt.Sprintf("the plugin %s lies in no folder any more", name), Hint: "put its files back, or forget it: weir plugin remove " + name}
}

// earlier finds the version to go back to.
func earlier(name string, e *lockfile.Entry, digest string) (*lockfile.Version, error) {
	if digest == "" {
		if v := e.Previous(); v != nil {
			return v, nil
		}
		return nil, &plugin.Error{Code: plugin.CodeNoVersion, Msg: fmt.Sprintf("there is no version of %s before the one in force", name), Hint: "weir plugin info " + name + " lists what was approved"}
	}
	var found []*lockfile.Version
	for _, v := range e.History {
		if strings.HasPrefix(v.Digest, digest) && len(digest) >= 6 {
			found = append(found, v)
		}
	}
	switch {
	case len(found) != 1:
		return nil, &plugin.Error{Code: plugin.CodeNoVersion, Msg: fmt.Sprintf("%q names %d approved versions of %s", digest, len(found), name), Hint: "weir plugin info " + name + " lists them with their digests; give at least 6 digits"}
	case found[0].Copy == "":
		return nil, &plugin.Error{Code: plugin.CodeNoVersion, Msg: fmt.Sprintf("the copy of version %s of %s is not kept any more", orUnnamed(found[0].Version), name), Hint: fmt.Sprintf("%d earlier versions are kept", lockfile.PreviousCopies)}
	}
	return found[0], nil
}

// Disable takes a plugin out until Enable, over restarts too.
func (h *Host) Disable(ctx context.Context, name, by string) error {
	return h.say(ctx, func(snap *registry.Snapshot, lock *lockfile.Lock) error {
		if !there(snap, lock, name) {
			return missing(snap, lock, name)
		}
		if e := lock.Entry(name); e.Disabled == nil {
			e.Disabled = &lockfile.Decision{By: by, At: h.cfg.Now().UTC()}
		}
		return nil
	})
}

// Enable takes Disable back.
func (h *Host) Enable(ctx context.Context, name string) error {
	return h.say(ctx, func(snap *registry.Snapshot, lock *lockfile.Lock) error {
		if !there(snap, lock, name) {
			return missing(snap, lock, name)
		}
		if e := lock.Plugins[name]; e != nil {
			e.Disabled = nil
		}
		return nil
	})
}

// Remove removes what the lock knows of a plugin, its copies, and with files
// its files from the folder: the manifest, the module and what the manifest
// refers to, and nothing else that lies there; of a folder that is a link, the
// link. Without files, the plugin is new at once. The plugin is forgotten also
// when a file could not be removed, which is an error; the Removal is true then,
// too.
func (h *Host) Remove(ctx context.Context, name string, files bool) (removed plugin.Removal, err error) {
	var paths []string
	err = h.sayThen(ctx, func(snap *registry.Snapshot, lock *lockfile.Lock) error {
		if !there(snap, lock, name) {
			return missing(snap, lock, name)
		}
		if files {
			paths = pathsOf(snap, name)
		}
		delete(lock.Plugins, name)
		return nil
	}, func() (err error) {
		removed, err = removeFiles(paths)
		return err
	})
	return removed, err
}

// removeFiles removes the files of a plugin, the first of which is its source,
// and its folder if that is empty then. No link is followed out of the folder:
// a stranger laid it out. A folder that is a link itself leads to where its
// author works; then the link is all that is removed.
func removeFiles(paths []string) (removed plugin.Removal, err error) {
	if len(paths) == 0 {
		return removed, nil
	}
	dir := filepath.Dir(paths[0])
	alone := filepath.Base(paths[0]) == registry.ManifestName // in a folder of its own
	if st, err := os.Lstat(dir); alone && err == nil && !st.IsDir() {
		if err := os.Remove(dir); err != nil {
			return removed, unremoved(dir, err, nil)
		}
		return plugin.Removal{Files: []string{dir}, Link: true}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return removed, unremoved(dir, err, nil)
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
			return removed, unremoved(path, err, removed.Files)
		}
	}
	if alone {
		_ = os.Remove(dir) // which fails when something else lies there
	}
	return removed, nil
}

func unremoved(path string, err error, removed []string) error {
	done := "it is forgotten, and no file is removed"
	if len(removed) > 0 {
		done = "it is forgotten, and these files are removed: " + strings.Join(removed, ", ")
	}
	return &plugin.Error{Code: plugin.CodeInvalid, Msg: fmt.Sprintf("%s cannot be removed: %s; %s", path, reasonOf(err), done), Hint: "remove the rest yourself"}
}

// pathsOf are the files of a plugin in its folder.
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

func reasonOf(err error) string {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// say changes the lock as a person said, and puts what comes of it in force.
func (h *Host) say(ctx context.Context, change func(*registry.Snapshot, *lockfile.Lock) error) error {
	return h.sayThen(ctx, change, func() error { return nil })
}

// sayThen is say with something that is done once the lock is written.
func (h *Host) sayThen(ctx context.Context, change func(*registry.Snapshot, *lockfile.Lock) error, then func() error) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if h.book == nil {
		return &plugin.Error{Code: plugin.CodeLockUnusable, Msg: "nothing is pinned here", Hint: "give the host a lock file"}
	}
	snap, err := h.scan(ctx, 0)
	if err != nil {
		return err
	}
	lock, err := h.book.Load()
	if err != nil {
		return unpinned(err)
	}
	changed := change(snap, lock)
	if changed == nil {
		if err := h.inscribe(lock); err != nil {
			return unpinned(err)
		}
		changed = then()
		if snap, err = h.scan(ctx, 0); err != nil { // files may have gone
			return err
		}
	}
	// What was found by looking is in force also when nothing was said.
	if _, err := h.install(ctx, snap); err != nil {
		return err
	}
	return changed
}

func unpinned(err error) error {
	e := &plugin.Error{Code: plugin.CodeLockUnusable, Msg: err.Error()}
	if f, ok := errors.AsType[*lockfile.Error](err); ok {
		e.Hint = f.Fix.String()
	}
	return e
}

func there(snap *registry.Snapshot, lock *lockfile.Lock, name string) bool {
	return slices.Contains(namesOf(snap, lock), name)
}

func namesOf(snap *registry.Snapshot, lock *lockfile.Lock) []string {
	var out []string
	for _, p := range snap.Plugins {
		out = append(out, p.Manifest.Name)
	}
	for _, r := range snap.Refused {
		out = append(out, r.Name)
	}
	for name := range lock.Plugins {
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// missing says that a plugin cannot be approved, because it is broken or not
// there.
func missing(snap *registry.Snapshot, lock *lockfile.Lock, name string) error {
	for _, r := range snap.Refused {
		if r.Name == name || lock.Plugins[name] != nil && lock.Plugins[name].Source == r.Source {
			info := refusedInfo(r)
			return &plugin.Error{Code: plugin.CodeInvalid, Msg: fmt.Sprintf("%s cannot be used as it is: %s", name, info.Why), Hint: info.Fix}
		}
	}
	e := &plugin.Error{Code: plugin.CodeUnknown, Msg: fmt.Sprintf("there is no plugin named %q", name), Hint: "`weir plugin list` lists the plugins"}
	if near := text.Nearest(name, namesOf(snap, lock)); len(near) > 0 {
		e.Hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}
