package catalog

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Config is what a Catalog needs. Store may be nil; all other fields are required.
type Config struct {
	// Store has the lock file and the approved copies. If nil, every plugin runs.
	Store *sharedlock.Lock
	// Resolver returns what intersects asks and the grants in force, which it has.
	Resolver func() grant.Resolver
	// Options are for reading approved copies.
	Options func() registry.Options
	// Limits returns a tool with the limits in force.
	Limits func(spec tool.Spec, pl *registry.Plugin) plugin.ToolInfo
	Now    func() time.Time
	Log    hclog.Logger
}

// A Catalog decides which plugins may run. Its methods must not be called
// concurrently: only one process, and in it one caller at a time, writes the lock.
type Catalog struct{ cfg Config }

// New returns a Catalog.
func New(cfg Config) *Catalog { return &Catalog{cfg} }

// What approves a version without a person.
const (
	byRule  = "asks for nothing"
	byTrust = "folder is trusted"
)

// A Decision is the result of Decide.
type Decision struct {
	Snapshot *registry.Snapshot
	Entries  []*Entry
	// Refused are the invalid plugins that no approved version replaces.
	Refused []registry.Refusal
	// Revision is that of the lock.
	Revision string
}

// TrustOf returns the trust of a folder.
func TrustOf(f plugin.Folder) plugin.Trust { return cmp.Or(f.Trust, plugin.TrustAsk) }

// Decide returns what of a snapshot may run. It approves what needs no person: the
// lock file has it before it runs. ctx is for reading approved copies.
func (c *Catalog) Decide(ctx context.Context, snap *registry.Snapshot) (d *Decision) {
	const tries = 5 // other daemons approve as well
	for n, again := 0, true; again && n < tries; n++ {
		d, again = c.decideAll(ctx, snap)
	}
	return d
}

// decideAll is Decide. again says that another daemon has changed the lock meanwhile.
func (c *Catalog) decideAll(ctx context.Context, snap *registry.Snapshot) (d *Decision, again bool) {
	d = &Decision{Snapshot: snap, Refused: snap.Refused}
	if c.cfg.Store == nil {
		for _, pl := range snap.Plugins {
			d.Entries = append(d.Entries, &Entry{Name: pl.Manifest.Name, Plugin: pl})
		}
		return d, false
	}
	lock, err := c.cfg.Store.Load()
	if err != nil {
		for _, pl := range snap.Plugins {
			d.Entries = append(d.Entries, c.pending(ctx, nil, pl, err))
		}
		return d, false
	}
	for _, pl := range snap.Plugins {
		d.Entries = append(d.Entries, c.decide(ctx, lock, pl))
	}
	again = c.approveAll(ctx, lock, d)
	d.Revision = lock.Revision
	c.addMissing(ctx, lock, d)
	slices.SortStableFunc(d.Entries, func(a, b *Entry) int { return a.approvedAt().Compare(b.approvedAt()) })
	return d, again
}

// KnownSources returns the sources of the approved plugins. New plugins cannot take
// their names.
func (c *Catalog) KnownSources() map[string]bool {
	lock := c.lock()
	if lock == nil {
		return nil
	}
	out := map[string]bool{}
	for _, e := range lock.Plugins {
		if e.Digest != "" {
			out[e.Source] = true
		}
	}
	return out
}

// lock returns the lock; nil if there is none or it cannot be loaded.
func (c *Catalog) lock() *lockfile.Lock {
	if c.cfg.Store == nil {
		return nil
	}
	lock, err := c.cfg.Store.Load()
	if err != nil {
		return nil
	}
	return lock
}

// AddImpliedAsks sets the asks of a plugin made for another host, which cannot state
// them: everything that the operator grants it.
func (c *Catalog) AddImpliedAsks(p *registry.Plugin) {
	if p.ABI != registry.ABIOwn {
		p.Manifest.Asks = grant.Powers().Implied(c.cfg.Resolver().Grants[p.Manifest.Name])
	}
}

// decide returns the entry of one plugin in the folder.
func (c *Catalog) decide(ctx context.Context, lock *lockfile.Lock, pl *registry.Plugin) *Entry {
	name := pl.Manifest.Name
	locked := lock.Plugins[name]
	current := locked.Current()
	same := current != nil && locked.Digest == pl.Digest()
	switch {
	case same && (locked.Source == pl.Source || c.cfg.Store.Shared()):
		return &Entry{Name: name, locked: locked, Plugin: pl}
	case current == nil:
		return c.decideNew(lock, pl)
	}
	e := c.pending(ctx, locked, pl, nil)
	e.cause, e.why = changeOf(locked, pl, same)
	e.fix = approveFix(name)
	if locked.RolledBack || TrustOf(pl.Folder) != plugin.TrustGranted {
		return e
	}
	if c.cfg.Store.Shared() && locked.Had(pl.Digest()) {
		return e // another machine has a later version already, which would change back and forth
	}
	var before registry.Asks
	if e.Plugin != nil {
		before = e.Plugin.Manifest.Asks
	}
	g := c.cfg.Resolver().Grants[name]
	g.Secrets, g.Inject = nil, nil // they do not say where a secret goes: only what ran before does
	if excess := grant.Powers().FirstExcess(pl.Manifest.Asks, before, g); excess.IsZero() {
		e.approveBy = byTrust
	} else {
		e.cause, e.why = plugin.CauseExceedsGrant, tool.Textf("it asks for more than it is granted: %s", excess)
	}
	return e
}

// changeOf returns how the plugin in the folder differs from the approved version.
func changeOf(e *lockfile.Entry, pl *registry.Plugin, same bool) (plugin.Cause, tool.Text) {
	v := e.Current()
	switch {
	case e.RolledBack:
		return plugin.CauseRolledBack, tool.Textf("a person rolled back to version %s, which stays until the next approval", orUnnamed(v.Version))
	case same:
		return plugin.CauseMoved, tool.Textf("it has moved: it was approved as %s and is now %s", e.Source, pl.Source)
	case v.WasmSHA256 == pl.WasmSHA256 && v.ManifestSHA256 != pl.ManifestSHA256:
		return plugin.CauseChanged, tool.Textf("its manifest has changed since it was approved")
	case v.WasmSHA256 != pl.WasmSHA256 && v.ManifestSHA256 == pl.ManifestSHA256:
		return plugin.CauseChanged, tool.Textf("its module has changed since it was approved")
	case v.WasmSHA256 == pl.WasmSHA256:
		return plugin.CauseChanged, tool.Textf("a file that its manifest refers to has changed since it was approved")
	}
	return plugin.CauseChanged, tool.Textf("its module and its manifest have changed since they were approved")
}

func orUnnamed(version string) string { return cmp.Or(version, "(unnamed)") }

func approveFix(name string) tool.Text {
	return tool.Textf("look at it and approve it: weir plugin approve %s", name)
}

// decideNew returns the entry of a plugin without an approved version.
func (c *Catalog) decideNew(lock *lockfile.Lock, pl *registry.Plugin) *Entry {
	name := pl.Manifest.Name
	resolver := c.cfg.Resolver()
	g := resolver.Grants[name]
	e := &Entry{Name: name, Offered: pl, locked: lock.Plugins[name]}
	r := resolver.Resolve(pl.Manifest.Asks, g)
	trusted := TrustOf(pl.Folder) == plugin.TrustGranted
	replaced := replacedBy(lock, pl)
	switch {
	case c.cfg.Store.Shared() && e.locked != nil && len(e.locked.History) > 0: // other machines may have it as well
		e.cause, e.why, e.fix = plugin.CauseNew, tool.Textf("it was approved, and then removed or replaced"), approveFix(name)
	case trusted && (len(r.Missing) == 0 || !grant.Powers().Exceeds(pl.Manifest.Asks, registry.Asks{}, g)):
		e.approveBy = byTrust
	case trusted:
		e.cause, e.why, e.fix = plugin.CauseExceedsGrant, r.Why(), r.Fix(name)
	case replaced != "":
		e.cause, e.why, e.fix = plugin.CauseReplaced, tool.Textf("it is at the path of the approved plugin %s", replaced), approveFix(name)
	case len(r.Asks) == 0:
		e.approveBy = byRule
	default:
		first := grant.Powers().FirstExcess(pl.Manifest.Asks, registry.Asks{}, plugin.Grant{})
		if more := len(r.Asks) - 1; more > 0 {
			first = tool.Textf("%s (and %d more)", first, more)
		}
		e.cause, e.why, e.fix = plugin.CauseNew, tool.Textf("it is new, asks for %s, and is not approved yet", first), approveFix(name)
	}
	return e
}

// replacedBy returns the approved plugin whose path pl has taken; empty if none.
func replacedBy(lock *lockfile.Lock, pl *registry.Plugin) string {
	for name, e := range lock.Plugins {
		if e.Digest != "" && e.Source == pl.Source && name != pl.Manifest.Name {
			return name
		}
	}
	return ""
}

// pending returns an entry in which the plugin in the folder waits, and the approved
// copy runs, if there is one. err is the problem of the lock file; it may be nil.
func (c *Catalog) pending(ctx context.Context, locked *lockfile.Entry, pl *registry.Plugin, err error) *Entry {
	e := &Entry{Name: pl.Manifest.Name, locked: locked, Offered: pl}
	if err != nil {
		e.cause = plugin.CauseLockUnusable
		e.why, e.fix = problemOf(err)
	}
	e.Plugin = c.readCopy(ctx, locked, pl.Folder)
	e.copied = e.Plugin != nil
	return e
}

// problemOf returns an error of the lock file and its fix.
func problemOf(err error) (why, fix tool.Text) {
	if e, ok := errors.AsType[*lockfile.Error](err); ok {
		return e.Msg, e.Fix
	}
	return tool.Text{Format: err.Error()}, tool.Text{}
}

// readCopy returns the approved copy of a plugin; nil if there is none, or if its
// bytes are not those that were approved.
func (c *Catalog) readCopy(ctx context.Context, e *lockfile.Entry, folder plugin.Folder) *registry.Plugin {
	v := e.Current()
	if v == nil || v.Copy == "" {
		return nil
	}
	pl, problem := c.readVersion(ctx, v, folder)
	if pl == nil && c.cfg.Store.Fetch(ctx, v) == nil {
		pl, problem = c.readVersion(ctx, v, folder)
	}
	if pl == nil {
		c.cfg.Log.Error("an approved copy cannot be used", "copy", c.cfg.Store.CopyPath(v), "problem", problem)
		return nil
	}
	c.AddImpliedAsks(pl)
	return pl
}

// readVersion returns a version's local copy; nil with the problem if it cannot be used.
func (c *Catalog) readVersion(ctx context.Context, v *lockfile.Version, folder plugin.Folder) (pl *registry.Plugin, problem string) {
	pl, problems := registry.ReadPlugin(ctx, c.cfg.Store.CopyPath(v), v.WasmSHA256, folder, c.cfg.Options())
	switch {
	case len(problems) > 0:
		return nil, problems[0].String()
	case pl.Digest() != v.Digest:
		return nil, "it is not what was approved"
	}
	return pl, ""
}

// approveAll writes the versions that need no person to the lock file. Those that
// cannot be written stay pending. again says that another daemon was faster.
func (c *Catalog) approveAll(ctx context.Context, lock *lockfile.Lock, d *Decision) (again bool) {
	first := c.unshared(lock) && len(lock.Plugins) > 0
	var missed error // about a copy that the database must have
	var approved []*Entry
	for _, e := range d.Entries {
		if e.approveBy != "" {
			if err := c.approve(lock, e.Offered, e.approveBy); err != nil {
				*e = *c.pending(ctx, e.locked, e.Offered, err)
				continue
			}
			if c.cfg.Store.Shared() {
				c.replace(d.Snapshot, lock, e.Offered)
			}
			approved = append(approved, e)
		} else if e.Plugin != nil && (!e.copied || first) {
			if err := c.restoreCopy(e, first); first {
				missed = cmp.Or(missed, err)
			}
		}
	}
	if len(approved) == 0 && !first {
		return false
	}
	err := missed
	if err == nil {
		err = c.save(d.Snapshot, lock)
	}
	if err != nil {
		changed := errors.Is(err, sharedlock.ErrChanged) // by another daemon, as when both start: it is tried again
		if !changed {
			c.cfg.Log.Warn("what is approved cannot be saved", "problem", err)
		}
		before := c.lock()
		for _, e := range approved {
			var locked *lockfile.Entry
			if before != nil {
				locked = before.Plugins[e.Name]
			}
			*e = *c.pending(ctx, locked, e.Offered, err)
		}
		return changed
	}
	for _, e := range approved {
		*e = Entry{Name: e.Name, Plugin: e.Offered, locked: lock.Plugins[e.Name]}
	}
	return false
}

// unshared reports whether other daemons will have the lock, and do not have one yet.
func (c *Catalog) unshared(lock *lockfile.Lock) bool {
	return c.cfg.Store.Shared() && lock.Revision == ""
}

// replace ends the approval of another plugin at the path of pl, and, as copies serve without a
// folder, of the same files under another name that has gone from it. On other machines the path
// may be another plugin's: one that is in a folder here goes on.
func (c *Catalog) replace(snap *registry.Snapshot, lock *lockfile.Lock, pl *registry.Plugin) {
	for name, e := range lock.Plugins {
		if c.cfg.Store.Shared() && slices.ContainsFunc(snap.Plugins, func(p *registry.Plugin) bool { return p.Manifest.Name == name }) {
			continue
		}
		if name != pl.Manifest.Name && (e.Source == pl.Source || c.cfg.Store.Shared() && e.Digest == pl.Digest() && !inFolder(snap, name, e.Source)) {
			e.Digest, e.RolledBack = "", false
		}
	}
}

// restoreCopy creates the approved copy of a plugin if it is missing, or in any case.
func (c *Catalog) restoreCopy(e *Entry, always bool) error {
	v := e.locked.Current()
	if _, err := os.Stat(c.cfg.Store.CopyPath(v)); err == nil && !always {
		return nil
	}
	files, source, err := e.Plugin.Files()
	if err != nil {
		return err
	}
	added, err := c.cfg.Store.AddCopy(v.Digest, files, source)
	if err == nil || !c.cfg.Store.Shared() { // others may have the copy
		v.Copy = added
	}
	if err != nil {
		c.cfg.Log.Warn("plugin", "name", e.Name, "problem", err.Error())
	}
	return err
}

// approve adds a version to the lock, which by has approved, and stores a copy.
func (c *Catalog) approve(lock *lockfile.Lock, pl *registry.Plugin, by string) error {
	e := lock.Entry(pl.Manifest.Name)
	if v := e.Current(); v != nil && v.Digest == pl.Digest() && by == byTrust {
		e.Source, e.RolledBack = pl.Source, false // only its path has changed
		return nil
	}
	files, source, err := pl.Files()
	if err != nil {
		return &lockfile.Error{Msg: tool.Textf("its module changed while it was read"), Fix: tool.Textf("scan the folder again")}
	}
	v := &lockfile.Version{
		Digest: pl.Digest(), WasmSHA256: pl.WasmSHA256, ManifestSHA256: pl.ManifestSHA256,
		Version: pl.Manifest.Version, Source: pl.Source, Powers: c.powersOf(pl), By: by, At: c.cfg.Now().UTC(),
	}
	if v.Copy, err = c.cfg.Store.AddCopy(v.Digest, files, source); err != nil {
		return err
	}
	before := slices.Clone(e.History)
	if e.Approve(v); c.cfg.Store.Shared() {
		e.KeepEarlier(before)
	}
	return nil
}

// powersOf returns what a plugin asks for, each with whether it is granted now.
func (c *Catalog) powersOf(pl *registry.Plugin) []plugin.Ask {
	r := c.cfg.Resolver()
	return r.Resolve(pl.Manifest.Asks, r.Grants[pl.Manifest.Name]).Asks
}

// unread reports whether it is not known if a folder has a plugin: the folder cannot be read, as
// when its disk is missing, or the files come just now.
func unread(snap *registry.Snapshot, name, source string) bool {
	return slices.ContainsFunc(snap.Warnings, func(p registry.Problem) bool { return strings.HasPrefix(source, p.File+string(filepath.Separator)) }) ||
		slices.ContainsFunc(snap.InFlux, func(f registry.InFlux) bool { return f.Source == source }) ||
		slices.ContainsFunc(snap.Pending, func(p *registry.Plugin) bool { return p.Manifest.Name == name || p.Source == source })
}

// save writes the lock file and deletes copies that are no longer needed. The first lock that
// daemons share approves nothing that has gone from the folders.
func (c *Catalog) save(snap *registry.Snapshot, lock *lockfile.Lock) error {
	for name, e := range lock.Plugins {
		if c.unshared(lock) && !inFolder(snap, name, e.Source) && !unread(snap, name, e.Source) {
			e.Digest, e.RolledBack = "", false
		}
	}
	lock.PruneCopies()
	if err := c.cfg.Store.Save(lock); err != nil {
		return err
	}
	c.cfg.Store.RemoveUnused(lock)
	return nil
}

// addMissing adds approved plugins that the scan did not find under their names. A
// broken or renamed plugin at the same path is a pending change of it. A plugin
// whose file was deleted is not added.
func (c *Catalog) addMissing(ctx context.Context, lock *lockfile.Lock, d *Decision) {
	known, at := map[string]bool{}, map[string]*Entry{}
	for _, e := range d.Entries {
		known[e.Name] = true
		if e.Offered != nil && e.Plugin == nil {
			at[e.Offered.Source] = e
		}
	}
	var refused []registry.Refusal
	for _, r := range d.Refused {
		if name := approvedAt(lock, r.Source); name != "" && !known[name] && TrustOf(r.Folder) != plugin.TrustGranted && !r.Gone {
			if pl := c.readCopy(ctx, lock.Plugins[name], r.Folder); pl != nil {
				d.Entries = append(d.Entries, &Entry{Name: name, Plugin: pl, copied: true, Refused: &r, cause: plugin.CauseInvalid, locked: lock.Plugins[name]})
				known[name] = true
				continue
			}
		}
		refused = append(refused, r)
	}
	d.Refused = refused
	for source, e := range at {
		if name := approvedAt(lock, source); name != "" && !known[name] {
			if pl := c.readCopy(ctx, lock.Plugins[name], e.Offered.Folder); pl != nil {
				d.Entries = append(d.Entries, &Entry{
					Name: name, Plugin: pl, copied: true, locked: lock.Plugins[name], cause: plugin.CauseReplaced,
					why: tool.Textf("another plugin, %s, is at its path", e.Name), fix: tool.Textf("look at that one: weir plugin info %s", e.Name),
				})
				known[name] = true
			}
		}
	}
	for name, e := range lock.Plugins { // those that are in the folders of other machines alone
		if c.cfg.Store.Shared() && !known[name] {
			if pl := c.readCopy(ctx, e, plugin.Folder{}); pl != nil {
				d.Entries = append(d.Entries, &Entry{Name: name, Plugin: pl, copied: true, locked: e})
			}
		}
	}
}

// approvedAt returns the approved plugin of a source; empty if there is none.
func approvedAt(lock *lockfile.Lock, source string) string {
	first := ""
	for name, e := range lock.Plugins {
		if e.Digest != "" && e.Source == source && (first == "" || name < first) {
			first = name
		}
	}
	return first
}
