package host

import (
	"github.com/weirhost/weir/host/internal/changes"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Change lists the names of the plugins that a reload changed, by what became of
// them.
type Change = changes.Change

// Problems returns what is wrong with the plugin folders themselves, such as one that
// does not exist.
func (h *Host) Problems() []tool.Text {
	var out []tool.Text
	for _, w := range h.current.Load().Scan.Warnings {
		out = append(out, w.Text())
	}
	return out
}

// maxRefused is how many refused plugins the log names at a time: a folder may hold a
// thousand files that are none.
const maxRefused = 5

// logChange logs how many plugins there are at the first scan and which of them are
// refused; later it logs the changes. What waits at the start has waited before.
func (h *Host) logChange(old, next *snapshot.Snapshot, c Change) {
	first := old.Scan == nil
	if !first && c.Empty() {
		h.log.Debug("plugins scanned; nothing is different")
		return
	}
	logged := map[string]bool{}
	if !first {
		for _, w := range old.Scan.Warnings {
			logged[w.String()] = true
		}
	}
	for _, w := range next.Scan.Warnings {
		if line := w.String(); !logged[line] {
			h.log.Warn("plugin", "problem", line)
		}
	}
	before := map[string]plugin.Info{}
	for _, info := range old.Infos() {
		before[info.Source] = info
	}
	counts, refused := map[plugin.State]int{}, 0
	for _, info := range next.Infos() {
		counts[info.State]++
		was, ok := before[info.Source]
		same := ok && was.State == info.State && was.Why.String() == info.Why.String()
		if info.State != plugin.Ready && !same {
			log := h.log.Warn
			if info.State == plugin.Invalid {
				refused++
			}
			if first && info.State == plugin.Pending || refused > maxRefused || next.Scan.Writing(info.Source) {
				log = h.log.Debug
			}
			log("plugin", "name", info.Name, "state", string(info.State), "why", info.Why.String(), "fix", info.Fix.String())
		}
	}
	args := []any{"ready", counts[plugin.Ready], "waiting", counts[plugin.Pending], "refused", counts[plugin.Invalid], "tools", len(next.Tools)}
	if first {
		h.logUnknown(nil)
		h.log.Info("plugins scanned", args...)
		return
	}
	h.log.Info("plugins changed", append([]any{"added", c.Added, "changed", c.Changed, "removed", c.Removed, "now_waiting", c.Pending, "now_refused", c.Invalid}, args...)...)
}

// Changed returns a channel that is closed at the next reload that changes a plugin.
// To miss no change: get the channel, then read the lists, then wait.
func (h *Host) Changed() <-chan struct{} { return h.changed.Next() }
