package runner

import (
	"errors"

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
