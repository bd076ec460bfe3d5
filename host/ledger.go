package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Who lets a plugin in when no person has to.
const (
	byRule  = "asks for nothing"
	byTrust = "folder is trusted"
)

// A seat is one plugin's place in a plan: what of it may run, and what lies in
// the folder and may not.
type seat struct {
	name string
	// plugin may run; nil: nothing may. When copied, it is the approved copy.
	plugin *registry.Plugin
	copied bool
	// offered lies in the folder and waits; nil: nothing waits, or what waits is broken.
	offered  *registry.Plugin
	refused  *registry.Refusal
	cause    plugin.Cause // why something waits; empty: nothing does
	why, fix string       // about what waits, for people
	entry    *lockfile.Entry
	admit    string // who lets offered in; empty: nobody
}

// A seating is what a scan comes to under the lock.
type seating struct {
	snap    *registry.Snapshot
	seats   []*seat
	refused []registry.Refusal
}

// bookOf is the lock that a Config names; nil: nothing is pinned.
func bookOf(cfg Config) *lockfile.Store {
	if cfg.Lock == "" {
		return nil
	}
	return &lockfile.Store{File: cfg.Lock, Copies: cmp.Or(cfg.Approved, filepath.Join(filepath.Dir(cfg.Lock), "approved"))}
}

// seat decides what of a snapshot may run. What may be let in without a
// person is let in: it is pinned before it runs.
func (h *Host) seat(snap *registry.Snapshot) *seating {
	s := &seating{snap: snap, refused: snap.Refused}
	if h.book == nil {
		for _, pl := range snap.Plugins {
			s.seats = append(s.seats, &seat{name: pl.Manifest.Name, plugin: pl})
		}
		return s
	}
	lock, err := h.book.Load()
	if err != nil {
		for _, pl := range snap.Plugins {
			s.seats = append(s.seats, h.hold(nil, pl, err))
		}
		return s
	}
	for _, pl := range snap.Plugins {
		s.seats = append(s.seats, h.place(lock, pl))
	}
	h.admitAll(lock, s)
	s.absent(h, lock)
	slices.SortStableFunc(s.seats, func(a, b *seat) int { return a.since().Compare(b.since()) })
	return s
}

// since is when what runs was let in. Of two plugins that clash over a tool the
// older one keeps it.
func (s *seat) since() time.Time {
	if v := s.entry.Current(); v != nil {
		return v.At
	}
	return time.Unix(1<<40, 0)
}

// known are the sources of approved plugins: newcomers do not take their names.
func (h *Host) known() map[string]bool {
	if h.book == nil {
		return nil
	}
	lock, err := h.book.Load()
	if err != nil {
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

// place decides about what lies in the folder under one name.
func (h *Host) place(lock *lockfile.Lock, pl *registry.Plugin) *seat {
	name := pl.Manifest.Name
	e := lock.Plugins[name]
	s := &seat{name: name, entry: e}
	current := e.Current()
	same := current != nil && e.Digest == pl.Digest()
	switch {
	case same && e.Source == pl.Source:
		s.plugin = pl
		return s
	case current == nil:
		return h.newcomer(s, lock, pl)
	}
	held := h.hold(e, pl, nil)
	held.cause, held.why = changeOf(e, pl, same)
	held.fix = approveFix(name)
	if !e.RolledBack && trust(pl.Folder) == plugin.TrustGranted && !wider(pl.Manifest.Asks, wanted(held.plugin), h.grants()[name]) {
		held.admit = byTrust
	} else if trust(pl.Folder) == plugin.TrustGranted && !e.RolledBack {
		held.cause = plugin.CauseExceedsGrant
		held.why = "it asks for more than it is granted: " + widest(pl.Manifest.Asks, wanted(held.plugin), h.grants()[name])
	}
	return held
}

// changeOf says how what lies in the folder differs from what is approved.
func changeOf(e *lockfile.Entry, pl *registry.Plugin, same bool) (plugin.Cause, string) {
	v := e.Current()
	switch {
	case e.RolledBack:
		return plugin.CauseRolledBack, fmt.Sprintf("somebody went back to version %s, which stays until the next approval", orUnnamed(v.Version))
	case same:
		return plugin.CauseMoved, fmt.Sprintf("it has moved: it was approved as %s and lies at %s now", e.Source, pl.Source)
	case v.WasmSHA256 == pl.WasmSHA256 && v.ManifestSHA256 != pl.ManifestSHA256:
		return plugin.CauseChanged, "its manifest has changed since it was approved"
	case v.WasmSHA256 != pl.WasmSHA256 && v.ManifestSHA256 == pl.ManifestSHA256:
		return plugin.CauseChanged, "its module has changed since it was approved"
	case v.WasmSHA256 == pl.WasmSHA256:
		return plugin.CauseChanged, "a file that its manifest refers to has changed since it was approved"
	}
	return plugin.CauseChanged, "its module and its manifest have changed since they were approved"
}

func orUnnamed(version string) string { return cmp.Or(version, "(unnamed)") }

func approveFix(name string) string { return "look at it and approve it: weir plugin approve " + name }

// newcomer decides about a plugin of which nothing is approved.
func (h *Host) newcomer(s *seat, lock *lockfile.Lock, pl *registry.Plugin) *seat {
	s.offered = pl
	deal := h.cfg.strike(pl.Manifest.Asks, h.grants()[s.name])
	granted := trust(pl.Folder) == plugin.TrustGranted
	former := formerly(lock, pl)
	switch {
	case granted && (len(deal.lacks) == 0 || !wider(pl.Manifest.Asks, registry.Asks{}, h.grants()[s.name])):
		s.admit = byTrust
	case granted:
		s.cause, s.why, s.fix = plugin.CauseExceedsGrant, deal.why(), deal.fix(s.name)
	case former != "":
		s.cause = plugin.CauseReplaced
		s.why, s.fix = fmt.Sprintf("it lies where the approved plugin %s lay", former), approveFix(s.name)
	case pl.Manifest.Asks.Empty():
		s.admit = byRule
	default:
		s.cause = plugin.CauseNew
		s.why, s.fix = "it is new and "+firstAsk(deal.asks)+", and nobody has approved it yet", approveFix(s.name)
	}
	return s
}

// firstAsk says what a plugin asks for, in one line.
func firstAsk(asks []plugin.Ask) string {
	out := fmt.Sprintf("asks for the %s %s%s", kindWord(asks[0].Kind), asks[0].What, because(asks[0].Reason))
	if more := len(asks) - 1; more > 0 {
		out += fmt.Sprintf(" (and %d more)", more)
	}
	return out
}

func kindWord(kind string) string {
	if kind == "path" {
		return "folder"
	}
	return kind
}

// formerly is the approved plugin that lay where pl lies; empty: none did.
func formerly(lock *lockfile.Lock, pl *registry.Plugin) string {
	for name, e := range lock.Plugins {
		if e.Digest != "" && e.Source == pl.Source && name != pl.Manifest.Name {
			return name
		}
	}
	return ""
}

// hold keeps what lies in the folder from running; the approved copy takes its
// place, if there is one. cause is why, when it is not a change.
func (h *Host) hold(e *lockfile.Entry, pl *registry.Plugin, cause error) *seat {
	s := &seat{name: pl.Manifest.Name, entry: e, offered: pl}
	if cause != nil {
		s.cause, s.why, s.fix = plugin.CauseLockUnusable, cause.Error(), ""
		if f, ok := errors.AsType[*lockfile.Error](cause); ok {
			s.fix = f.Fix.String()
		}
	}
	s.plugin = h.copyOf(e, pl.Folder)
	s.copied = s.plugin != nil
	return s
}

// copyOf reads the approved copy and returns it when its bytes are those that
// were approved; nil: there is none such.
func (h *Host) copyOf(e *lockfile.Entry, folder registry.Folder) *registry.Plugin {
	v := e.Current()
	if v == nil || v.Copy == "" {
		return nil
	}
	pl, problems := registry.ReadPlugin(h.ending, h.book.CopyPath(v), v.WasmSHA256, folder, registry.Options{Version: h.cfg.Version, Describe: h.lister.List, Index: h.index})
	switch {
	case len(problems) > 0:
		h.log.Error("an approved copy cannot be used", "copy", h.book.CopyPath(v), "problem", problems[0].String())
		return nil
	case pl.Digest() != v.Digest:
		h.log.Error("an approved copy is not what was approved", "copy", h.book.CopyPath(v))
		return nil
	}
	h.adopt(pl)
	return pl
}

func wanted(pl *registry.Plugin) registry.Asks {
	if pl == nil {
		return registry.Asks{}
	}
	return pl.Manifest.Asks
}

// admitAll pins what is let in without a person. What cannot be pinned waits.
func (h *Host) admitAll(lock *lockfile.Lock, s *seating) {
	var let []*seat
	for _, one := range s.seats {
		if one.admit != "" {
			if err := h.admit(lock, one.offered, one.admit); err != nil {
				*one = *h.hold(one.entry, one.offered, err)
				continue
			}
			let = append(let, one)
		} else if one.plugin != nil && !one.copied {
			h.heal(lock, one)
		}
	}
	if len(let) == 0 {
		return
	}
	if err := h.inscribe(lock); err != nil {
		before, readErr := h.book.Load()
		for _, one := range let {
			var e *lockfile.Entry
			if readErr == nil {
				e = before.Plugins[one.name]
			}
			*one = *h.hold(e, one.offered, err)
		}
		return
	}
	for _, one := range let {
		*one = seat{name: one.name, plugin: one.offered, entry: lock.Plugins[one.name]}
	}
}

// heal makes the copy of a plugin anew when it is gone.
func (h *Host) heal(lock *lockfile.Lock, one *seat) {
	v := one.entry.Current()
	if _, err := os.Stat(h.book.CopyPath(v)); err == nil {
		return
	}
	if files, source, err := one.plugin.Files(); err == nil {
		if v.Copy, err = h.book.AddCopy(v.Digest, files, source); err != nil {
			h.log.Warn("plugin", "name", one.name, "problem", err.Error())
		}
	}
}

// admit puts a plugin's bytes into the lock, as by says, and keeps a copy.
func (h *Host) admit(lock *lockfile.Lock, pl *registry.Plugin, by string) error {
	e := lock.Entry(pl.Manifest.Name)
	if v := e.Current(); v != nil && v.Digest == pl.Digest() && by == byTrust {
		e.Source, e.RolledBack = pl.Source, false // it has only moved
		return nil
	}
	files, source, err := pl.Files()
	if err != nil {
		return &lockfile.Error{Msg: tool.Textf("its module was being changed while it was read"), Fix: tool.Textf("scan the folder again")}
	}
	v := &lockfile.Version{
		Digest: pl.Digest(), WasmSHA256: pl.WasmSHA256, ManifestSHA256: pl.ManifestSHA256,
		Version: pl.Manifest.Version, Source: pl.Source, By: by, At: h.cfg.Now().UTC(),
	}
	v.Powers = h.powers(pl)
	if v.Copy, err = h.book.AddCopy(v.Digest, files, source); err != nil {
		return err
	}
	e.Approve(v)
	return nil
}

// powers are what a plugin asks for, and whether it is granted now.
func (h *Host) powers(pl *registry.Plugin) (out []plugin.Ask) {
	for _, a := range h.cfg.strike(pl.Manifest.Asks, h.grants()[pl.Manifest.Name]).asks {
		out = append(out, plugin.Ask(a))
	}
	return out
}

// inscribe writes the lock, and lets go of copies that are too many.
func (h *Host) inscribe(lock *lockfile.Lock) error {
	lock.PruneCopies()
	if err := h.book.Save(lock); err != nil {
		return err
	}
	h.book.RemoveUnused(lock)
	return nil
}

// absent seats approved plugins that a scan did not find under their names: a
// broken or renamed one lies in their place, and is a change that waits. One
// whose file is gone is gone.
func (s *seating) absent(h *Host, lock *lockfile.Lock) {
	seated, at := map[string]bool{}, map[string]*seat{}
	for _, one := range s.seats {
		seated[one.name] = true
		if one.offered != nil && one.plugin == nil {
			at[one.offered.Source] = one
		}
	}
	var still []registry.Refusal
	for _, r := range s.refused {
		if name := named(lock, r.Source); name != "" && !seated[name] && trust(r.Folder) != plugin.TrustGranted && !r.Gone {
			if pl := h.copyOf(lock.Plugins[name], r.Folder); pl != nil {
				s.seats = append(s.seats, &seat{name: name, plugin: pl, copied: true, refused: &r, cause: plugin.CauseInvalid, why: r.Why(), entry: lock.Plugins[name]})
				seated[name] = true
				continue
			}
		}
		still = append(still, r)
	}
	s.refused = still
	for source, one := range at {
		if name := named(lock, source); name != "" && !seated[name] {
			if pl := h.copyOf(lock.Plugins[name], one.offered.Folder); pl != nil {
				s.seats = append(s.seats, &seat{name: name, plugin: pl, copied: true, entry: lock.Plugins[name],
					cause: plugin.CauseReplaced, why: fmt.Sprintf("a plugin named %s lies in its place", one.name), fix: "look at that one: weir plugin info " + one.name})
			}
		}
	}
}

// named is the approved plugin of a source; empty: none.
func named(lock *lockfile.Lock, source string) string {
	var out []string
	for name, e := range lock.Plugins {
		if e.Digest != "" && e.Source == source {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(1, len(out))], "")
}
