package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Change is a person's request to change the lock, given a scan of the folders.
// On an error the lock file is not written.
type Change func(ctx context.Context, snap *registry.Snapshot, lock *lockfile.Lock) error

// Update applies a change to the lock file. The error is a *plugin.Error.
func (c *Catalog) Update(ctx context.Context, snap *registry.Snapshot, change Change) error {
	if c.cfg.Store == nil {
		return &plugin.Error{Code: plugin.CodeLockUnusable, Msg: tool.Textf("this host has no lock file"), Hint: tool.Textf("give the host a lock file")}
	}
	lock, err := c.cfg.Store.Load()
	if err != nil {
		return lockError(err)
	}
	if err := change(ctx, snap, lock); err != nil {
		return err
	}
	err = c.save(snap, lock)
	if errors.Is(err, sharedlock.ErrChanged) {
		return &plugin.Error{Code: plugin.CodeChanged, Msg: tool.Textf("the plugins were changed elsewhere at the same moment"), Hint: tool.Textf("look at them again, and repeat it")}
	} else if err != nil {
		return lockError(err)
	}
	return nil
}

func lockError(err error) error {
	why, fix := problemOf(err)
	return &plugin.Error{Code: plugin.CodeLockUnusable, Msg: why, Hint: fix}
}

// Approve returns the change that lets the version with that digest run, which a
// person has reviewed. by is "cli", "page" or "api". It fails if the folder has
// other bytes by now.
func (c *Catalog) Approve(name, digest, by string) Change {
	return func(_ context.Context, snap *registry.Snapshot, lock *lockfile.Lock) error {
		i := slices.IndexFunc(snap.Plugins, func(p *registry.Plugin) bool { return p.Manifest.Name == name })
		if i < 0 {
			return notFound(snap, lock, name)
		}
		pl := snap.Plugins[i]
		if pl.Digest() != digest {
			return &plugin.Error{Code: plugin.CodeChanged, Msg: tool.Textf("%s is not what was shown: its files have changed since", name), Hint: tool.Textf("look at it again: weir plugin approve %s", name)}
		}
		if e := lock.Plugins[name]; e.Current() != nil && e.Digest == digest && e.Source == pl.Source && !e.RolledBack {
			e.Current().Powers = c.powersOf(pl) // it is approved already; the grants may be new
		} else if err := c.approve(lock, pl, by); err != nil {
			return lockError(err)
		}
		c.replace(snap, lock, pl) // and nothing else at its path
		return nil
	}
}

// Rollback returns the change that lets an earlier version run, and nothing else
// until the next approval. An empty digest means the previous version. A prefix of
// at least 6 digits suffices if it matches exactly one version.
func (c *Catalog) Rollback(name, digest string) Change {
	return func(ctx context.Context, snap *registry.Snapshot, lock *lockfile.Lock) error {
		e := lock.Plugins[name]
		if e == nil {
			return notFound(snap, lock, name)
		}
		if !c.cfg.Store.Shared() && !inFolder(snap, name, e.Source) {
			return goneError(name)
		}
		v, err := findVersion(name, e, digest)
		if err != nil {
			return err
		}
		trial := *e
		trial.Digest = v.Digest
		if c.readCopy(ctx, &trial, plugin.Folder{}) == nil {
			return &plugin.Error{Code: plugin.CodeNoVersion, Msg: tool.Textf("the copy of version %s of %s can no longer be used", orUnnamed(v.Version), name), Hint: tool.Textf("the log says why; weir plugin info %s lists the others", name)}
		}
		e.Digest, e.RolledBack = v.Digest, true
		return nil
	}
}

// inFolder reports whether a folder has anything of a plugin.
func inFolder(snap *registry.Snapshot, name, source string) bool {
	return slices.ContainsFunc(snap.Plugins, func(p *registry.Plugin) bool { return p.Manifest.Name == name || p.Source == source }) ||
		slices.ContainsFunc(snap.Refused, func(r registry.Refusal) bool { return r.Source == source })
}

func goneError(name string) error {
	return &plugin.Error{Code: plugin.CodeUnknown, Msg: tool.Textf("the plugin %s is in no plugin folder of this daemon", name), Hint: tool.Textf("put its files into one of them, or forget it: weir plugin remove %s", name)}
}

// findVersion returns the version that Rollback means.
func findVersion(name string, e *lockfile.Entry, digest string) (*lockfile.Version, error) {
	fail := func(hint tool.Text, format string, args ...any) (*lockfile.Version, error) {
		return nil, &plugin.Error{Code: plugin.CodeNoVersion, Msg: tool.Text{Format: format, Args: args}, Hint: hint}
	}
	if digest == "" {
		if v := e.Previous(); v != nil {
			return v, nil
		}
		return fail(tool.Textf("weir plugin info %s lists what was approved", name), "there is no version of %s before the current one", name)
	}
	var found []*lockfile.Version
	for _, v := range e.History {
		if strings.HasPrefix(v.Digest, digest) && len(digest) >= 6 {
			found = append(found, v)
		}
	}
	switch {
	case len(found) != 1:
		return fail(tool.Textf("weir plugin info %s lists them with their digests; give at least 6 digits", name), "%q names %d approved versions of %s", digest, len(found), name)
	case found[0].Copy == "":
		return fail(tool.Textf("%d earlier versions are kept", lockfile.PreviousCopies), "the copy of version %s of %s was deleted", orUnnamed(found[0].Version), name)
	}
	return found[0], nil
}

// Disable returns the change that disables a plugin until Enable, across restarts.
func (c *Catalog) Disable(name, by string) Change {
	return func(_ context.Context, snap *registry.Snapshot, lock *lockfile.Lock) error {
		if !slices.Contains(namesOf(snap, lock), name) {
			return notFound(snap, lock, name)
		}
		if e := lock.Entry(name); e.Disabled == nil {
			e.Disabled = &lockfile.Decision{By: by, At: c.cfg.Now().UTC()}
		}
		return nil
	}
}

// Enable returns the change that reverts Disable.
func (c *Catalog) Enable(name string) Change {
	return func(_ context.Context, snap *registry.Snapshot, lock *lockfile.Lock) error {
		if !slices.Contains(namesOf(snap, lock), name) {
			return notFound(snap, lock, name)
		}
		if e := lock.Plugins[name]; e != nil {
			e.Disabled = nil
		}
		return nil
	}
}

func namesOf(snap *registry.Snapshot, lock *lockfile.Lock) []string {
	var out []string
	for _, p := range snap.Plugins {
		out = append(out, p.Manifest.Name)
	}
	for _, r := range snap.Refused {
		out = append(out, r.Name)
	}
	out = slices.AppendSeq(out, maps.Keys(lock.Plugins))
	slices.Sort(out)
	return slices.Compact(out)
}

// notFound returns the error about a plugin that is invalid or does not exist.
func notFound(snap *registry.Snapshot, lock *lockfile.Lock, name string) error {
	for _, r := range snap.Refused {
		if r.Name == name || lock.Plugins[name] != nil && lock.Plugins[name].Source == r.Source {
			info := InvalidInfo(r)
			return &plugin.Error{Code: plugin.CodeInvalid, Msg: tool.Textf("%s cannot be used as it is: %s", name, info.Why), Hint: info.Fix}
		}
	}
	e := &plugin.Error{Code: plugin.CodeUnknown, Msg: tool.Textf("there is no plugin named %q", name), Hint: tool.Textf("`weir plugin list` lists the plugins")}
	switch near := text.Nearest(name, namesOf(snap, lock)); len(near) {
	case 0:
	case 1:
		e.Hint = tool.Textf("did you mean %s?", near[0])
	default:
		e.Hint = tool.Textf("did you mean %s or %s?", strings.Join(near[:len(near)-1], ", "), near[len(near)-1])
	}
	return e
}
