package host

import (
	"fmt"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
)

// shown is the version that people are told about: what runs, else what waits.
func (s *seat) shown() *registry.Plugin {
	if s.plugin != nil {
		return s.plugin
	}
	return s.offered
}

// stays reports whether nothing of the plugin may run.
func (s *seat) stays() bool { return s.plugin == nil || s.entry != nil && s.entry.Disabled != nil }

// tell fills in what the lock says about the plugin.
func (s *seat) tell(info *plugin.Info) {
	info.Digest = s.shown().Digest()
	if v := s.entry.Current(); v != nil && v.Digest == info.Digest {
		info.Approved = &plugin.Approval{By: v.By, At: v.At, RolledBack: s.entry.RolledBack}
		info.Source = s.entry.Source // of a copy too
	}
	info.Pending = s.offer()
	if s.plugin == nil {
		info.State, info.Why, info.Fix = plugin.Pending, s.why, s.fix
	}
	if s.entry != nil && s.entry.Disabled != nil {
		w := s.entry.Disabled
		info.State, info.Fix = plugin.Disabled, "weir plugin enable "+s.name
		info.Why = fmt.Sprintf("it was disabled by %s on %s", w.By, w.At.Local().Format(time.DateOnly))
	}
}

// offer is what waits; nil: nothing.
func (s *seat) offer() *plugin.PendingVersion {
	switch {
	case s.offered != nil:
		return &plugin.PendingVersion{
			Digest: s.offered.Digest(), Version: s.offered.Manifest.Version, SHA256: s.offered.WasmSHA256,
			Source: s.offered.Source, Cause: s.cause, Why: s.why, Fix: s.fix,
		}
	case s.refused != nil:
		info := refusedInfo(*s.refused)
		return &plugin.PendingVersion{Source: info.Source, Cause: s.cause, Why: info.Why, Fix: info.Fix}
	case s.why != "":
		return &plugin.PendingVersion{Source: s.entry.Source, Cause: s.cause, Why: s.why, Fix: s.fix}
	}
	return nil
}

// taken says which tool of a plugin another one has already, or one that is
// easily taken for it; empty: none.
func (p *plan) taken(ready []*bound) string {
	for _, b := range ready {
		if name, ok := p.alike[registry.Likeness(b.info.Spec.Name)]; ok {
			return fmt.Sprintf("the tool name %q belongs to the plugin %s already (as %s)", b.info.Spec.Name, p.tools[name].info.Plugin, name)
		}
	}
	return ""
}
