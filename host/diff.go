package host

import (
	"fmt"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Change lists the names of the plugins that a reload changed, by what became of
// them.
type Change struct {
	Added   []string `json:"added"`   // usable and new
	Changed []string `json:"changed"` // usable and different
	Removed []string `json:"removed"`
	Pending []string `json:"waiting"` // need a permission or an approval
	Invalid []string `json:"refused"`
}

// Empty reports whether nothing changed.
func (c Change) Empty() bool {
	return len(c.Added)+len(c.Changed)+len(c.Removed)+len(c.Pending)+len(c.Invalid) == 0
}

// diff returns what changed from old to next; old may be nil.
func diff(old, next *snapshot) Change {
	c := Change{Added: []string{}, Changed: []string{}, Removed: []string{}, Pending: []string{}, Invalid: []string{}}
	before, after := old.fingerprints(), next.fingerprints()
	for _, source := range next.sources() {
		was, existed := before[source]
		is := after[source]
		switch {
		case existed && was.text == is.text:
		case is.state == plugin.Invalid:
			c.Invalid = append(c.Invalid, is.name)
		case is.state == plugin.Pending, is.review != "" && is.review != was.review:
			c.Pending = append(c.Pending, is.name)
		case is.state == plugin.Disabled:
			c.Removed = append(c.Removed, is.name)
		case existed && was.state == plugin.Ready:
			c.Changed = append(c.Changed, is.name)
		default:
			c.Added = append(c.Added, is.name)
		}
	}
	for _, source := range old.sources() {
		if _, ok := after[source]; !ok {
			c.Removed = append(c.Removed, before[source].name)
		}
	}
	return c
}

// A fingerprint is equal for two states of a plugin between which nothing changed.
type fingerprint struct {
	name   string
	state  plugin.State
	text   string
	review string // the version that a person must review; empty: none
}

// fingerprints returns those of all plugins by source, which is unique.
func (s *snapshot) fingerprints() map[string]fingerprint {
	out := map[string]fingerprint{}
	if s == nil {
		return out
	}
	for i, info := range s.infos() {
		review := ""
		if info.Pending != nil {
			review = info.Pending.Digest + info.Pending.Why.String()
		}
		text := fmt.Sprint(info.State, info.Digest, info.Why, review, s.plugins[i].granted, info.Tools, info.Disabled)
		out[info.Source] = fingerprint{info.Name, info.State, text, review}
	}
	return out
}

// sources returns the plugins' sources in the order of their names.
func (s *snapshot) sources() []string {
	var out []string
	if s != nil {
		for _, one := range s.plugins {
			out = append(out, one.info.Source)
		}
	}
	return out
}

// Problems returns what is wrong with the plugin folders themselves, such as one that
// does not exist.
func (h *Host) Problems() []tool.Text {
	var out []tool.Text
	for _, w := range h.current.Load().scan.Warnings {
		out = append(out, w.Text())
	}
	return out
}

// maxRefused is how many refused plugins the log names at a time: a folder may hold a
// thousand files that are none.
const maxRefused = 5

// logChange logs how many plugins there are at the first scan and which of them are
// refused; later it logs the changes. What waits at the start has waited before.
func (h *Host) logChange(old, next *snapshot, c Change) {
	if old != nil && c.Empty() {
		h.log.Debug("plugins scanned; nothing is different")
		return
	}
	logged := map[string]bool{}
	if old != nil {
		for _, w := range old.scan.Warnings {
			logged[w.String()] = true
		}
	}
	for _, w := range next.scan.Warnings {
		if line := w.String(); !logged[line] {
			h.log.Warn("plugin", "problem", line)
		}
	}
	before := old.fingerprints()
	counts, refused := map[plugin.State]int{}, 0
	for _, info := range next.infos() {
		counts[info.State]++
		if was, ok := before[info.Source]; info.State != plugin.Ready && (!ok || was.state != info.State) {
			log := h.log.Warn
			if info.State == plugin.Invalid {
				refused++
			}
			if old == nil && info.State == plugin.Pending || refused > maxRefused {
				log = h.log.Debug
			}
			log("plugin", "name", info.Name, "state", string(info.State), "why", info.Why.String(), "fix", info.Fix.String())
		}
	}
	args := []any{"ready", counts[plugin.Ready], "waiting", counts[plugin.Pending], "refused", counts[plugin.Invalid], "tools", len(next.names)}
	if old == nil {
		h.logUnknown(nil)
		h.log.Info("plugins scanned", args...)
		return
	}
	h.log.Info("plugins changed", append([]any{"added", c.Added, "changed", c.Changed, "removed", c.Removed, "now_waiting", c.Pending, "now_refused", c.Invalid}, args...)...)
}

// Changed returns a channel that is closed at the next reload that changes a plugin.
// To miss no change: get the channel, then read the lists, then wait.
func (h *Host) Changed() <-chan struct{} { return h.changed.Next() }
