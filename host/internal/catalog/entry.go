package catalog

import (
	"cmp"
	"time"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// An Entry is the decision about one plugin: what of it may run, and what waits.
type Entry struct {
	Name string
	// Plugin may run; nil if nothing may. It can be the approved copy.
	Plugin *registry.Plugin
	// Offered is in the folder and pending; nil if nothing is pending, or if what
	// is pending is invalid.
	Offered *registry.Plugin
	// Refused is in the folder and invalid, while the approved copy runs; else nil.
	Refused *registry.Refusal

	copied    bool         // Plugin is the approved copy
	cause     plugin.Cause // why something is pending; empty if nothing is
	why, fix  tool.Text
	locked    *lockfile.Entry // nil: not in the lock file
	approveBy string          // what approves Offered without a person; empty: nothing
}

// approvedAt returns when the running version was approved. Of two plugins with
// equal tool names the older one keeps it.
func (e *Entry) approvedAt() time.Time {
	if v := e.locked.Current(); v != nil {
		return v.At
	}
	return time.Unix(1<<40, 0)
}

// Shown returns the version that Info describes: the one that runs, else the one
// that is pending.
func (e *Entry) Shown() *registry.Plugin {
	return cmp.Or(e.Plugin, e.Offered)
}

// Blocked reports whether nothing of the plugin may run.
func (e *Entry) Blocked() bool { return e.Plugin == nil || e.locked != nil && e.locked.Disabled != nil }

// FillInfo copies the approval state into info.
func (e *Entry) FillInfo(info *plugin.Info) {
	info.Digest = e.Shown().Digest()
	if v := e.locked.Current(); v != nil && v.Digest == info.Digest {
		info.Approved = &plugin.Approval{By: v.By, At: v.At, RolledBack: e.locked.RolledBack}
		if e.copied {
			info.Source = e.locked.Source
		}
	}
	info.Pending = e.pendingVersion()
	if e.Plugin == nil {
		info.State, info.Why, info.Fix = plugin.Pending, e.why, e.fix
	}
	if e.locked != nil && e.locked.Disabled != nil {
		by := e.locked.Disabled
		info.State, info.Fix = plugin.Disabled, tool.Textf("weir plugin enable %s", e.Name)
		info.Why = tool.Textf("it was disabled by %s on %s", by.By, by.At.Local().Format(time.DateOnly))
	}
}

// pendingVersion returns what is pending; nil if nothing is.
func (e *Entry) pendingVersion() *plugin.PendingVersion {
	switch {
	case e.Offered != nil:
		return &plugin.PendingVersion{
			Digest: e.Offered.Digest(), Version: e.Offered.Manifest.Version, SHA256: e.Offered.WasmSHA256,
			Source: e.Offered.Source, Cause: e.cause, Why: e.why, Fix: e.fix,
		}
	case e.Refused != nil:
		info := InvalidInfo(*e.Refused)
		return &plugin.PendingVersion{Source: info.Source, Cause: e.cause, Why: info.Why, Fix: info.Fix}
	case !e.why.IsZero():
		return &plugin.PendingVersion{Source: e.locked.Source, Cause: e.cause, Why: e.why, Fix: e.fix}
	}
	return nil
}

// InvalidInfo describes an invalid plugin.
func InvalidInfo(r registry.Refusal) plugin.Info {
	info := plugin.Info{Name: r.Name, State: plugin.Invalid, Source: r.Source, SHA256: r.WasmSHA256, Trust: TrustOf(r.Folder), Why: r.Why()}
	if len(r.Problems) > 0 {
		first := r.Problems[0]
		info.Fix, first.Fix = first.Fix, tool.Text{}
		info.Why = registry.Refusal{Problems: append([]registry.Problem{first}, r.Problems[1:]...)}.Why()
	}
	for _, p := range r.Problems {
		info.Problems = append(info.Problems, p.Text())
	}
	return info
}
