package runner

import (
	"errors"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// DescribeRefusal returns the state of a plugin whose module cannot be used because of
// err, with the reason and the fix. file is the module or its plugin.
func DescribeRefusal(name, file string, err error) (state plugin.State, why, fix tool.Text) {
	if q, ok := errors.AsType[*worker.Quarantined](err); ok {
		when := q.Entry.When.Format("2006-01-02 15:04 MST")
		return plugin.Quarantined, tool.Textf("%s, on %s; it is not tried again", q.Entry.Why, when),
			tool.Textf("correct the plugin, remove it, or try it once more with: weir plugin retry %s", name)
	}
	return plugin.Invalid, tool.Textf("%s: %s", file, err), tool.Textf("build the module again, or remove the plugin")
}

// Unlisted returns why a module was not asked for its tools; nil: it is not in
// quarantine.
func (e *Engines) Unlisted(r registry.Refusal) error {
	if !r.ListFailed {
		return nil
	}
	return e.Quarantined(r.WasmSHA256)
}

// ExplainUnlisted adds the reason and the fix to modules that cannot be asked for their
// tools because they are in quarantine. No other goroutine may use found.
func (e *Engines) ExplainUnlisted(found *registry.Snapshot) {
	for i := range found.Refused {
		r := &found.Refused[i]
		if err := e.Unlisted(*r); err != nil {
			_, why, fix := DescribeRefusal(r.Name, r.Source, err)
			r.Problems = []registry.Problem{{Msg: why, Fix: fix}}
		}
	}
}
