package host

import (
	"fmt"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/plugin"
)

// A Change is what a reload made different, each a list of plugins' names.
type Change struct {
	Added   []string `json:"added"`   // can be used now and were not there
	Changed []string `json:"changed"` // can be used now and are not what they were
	Removed []string `json:"removed"` // are gone
	Pending []string `json:"waiting"` // lack something now
	Invalid []string `json:"refused"` // are broken now
}

// Empty says that nothing is different.
func (c Change) Empty() bool {
	return len(c.Added)+len(c.Changed)+len(c.Removed)+len(c.Pending)+len(c.Invalid) == 0
}

// compare says what is different in a plan; old may be nil.
func compare(old, next *plan) Change {
	c := Change{Added: []string{}, Changed: []string{}, Removed: []string{}, Pending: []string{}, Invalid: []string{}}
	was, is := old.prints(), next.prints()
	for _, source := range next.sources() {
		before, there := was[source]
		now := is[source]
		switch {
		case there && before.text == now.text:
		case now.state == plugin.Invalid:
			c.Invalid = append(c.Invalid, now.name)
		case now.state == plugin.Pending, now.waits != "" && now.waits != before.waits:
			c.Pending = append(c.Pending, now.name)
		case now.state == plugin.Disabled:
			c.Removed = append(c.Removed, now.name)
		case there && before.state == plugin.Ready:
			c.Changed = append(c.Changed, now.name)
		default:
			c.Added = append(c.Added, now.name)
		}
	}
	for _, source := range old.sources() {
		if _, ok := is[source]; !ok {
			c.Removed = append(c.Removed, was[source].name)
		}
	}
	return c
}

// A print is what makes a plugin of a plan different from that of another.
type print struct {
	name  string
	state plugin.State
	text  string
	waits string // what a person has to look at; empty: nothing
}

// prints are those of all plugins by source, which is theirs alone.
func (p *plan) prints() map[string]print {
	out := map[string]print{}
	if p == nil {
		return out
	}
	for i, info := range p.infos() {
		waits := ""
		if info.Pending != nil {
			waits = info.Pending.Digest + info.Pending.Why.String()
		}
		out[info.Source] = print{info.Name, info.State, fmt.Sprint(info.State, info.Digest, info.Why, waits, p.plugins[i].given, info.Tools, info.Disabled), waits}
	}
	return out
}

// sources are the plugins' sources in the order of their names.
func (p *plan) sources() []string {
	var out []string
	if p != nil {
		for _, one := range p.plugins {
			out = append(out, one.info.Source)
		}
	}
	return out
}

// tell logs what became of the plugins: all of them at first, later what is
// different.
func (h *Host) tell(old, p *plan, c Change) {
	if old != nil && c.Empty() {
		h.log.Debug("plugins scanned; nothing is different")
		return
	}
	for _, w := range p.snap.Warnings {
		if old == nil || !slices.Contains(old.snap.Warnings, w) {
			h.log.Warn("plugin", "problem", w.String())
		}
	}
	before := old.prints()
	counts := map[plugin.State]int{}
	for _, info := range p.infos() {
		counts[info.State]++
		if was, ok := before[info.Source]; info.State != plugin.Ready && (!ok || was.state != info.State) {
			h.log.Warn("plugin", "name", info.Name, "state", string(info.State), "why", info.Why.String(), "fix", info.Fix.String())
		}
	}
	args := []any{"ready", counts[plugin.Ready], "waiting", counts[plugin.Pending], "refused", counts[plugin.Invalid], "tools", len(p.names)}
	if old == nil {
		h.tellUnknown(nil)
		h.log.Info("plugins scanned", args...)
		return
	}
	h.log.Info("plugins changed", append([]any{"added", c.Added, "changed", c.Changed, "removed", c.Removed, "now_waiting", c.Pending, "now_refused", c.Invalid}, args...)...)
}

// Changed returns a channel that is closed when a reload has next made a
// difference to the plugins. To miss nothing: take the channel, then read the
// lists, then wait.
func (h *Host) Changed() <-chan struct{} { return h.changed.next() }

// A signal wakes everyone who waits for the next time that something happens.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
