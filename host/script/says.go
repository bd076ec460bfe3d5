package script

import (
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// Result returns what a model reads of a script: what became of it, or that it waits and
// how a person sees it.
func (s Status) Result() tool.Result {
	if s.Outcome != nil {
		return s.Outcome.Result
	}
	name := Name
	if s.Script.As.Name != "" {
		name = s.Script.As.Name
	}
	r := tool.Result{CallID: s.Script.CallID, Tool: name, Inner: s.Calls}
	if s.State == journal.Waiting {
		r.Err = tool.NewError(tool.Waiting, tool.Textf("the script has not ended: it waits for a person (calls: %d)", s.Waits),
			tool.Textf("do not run it again; tell the person that `weir scripts show %s` shows the calls, and that the script goes on when they are answered", s.ID))
		return r
	}
	r.Err = tool.NewError(tool.Waiting, tool.Textf("the script has not ended: weir stops, and it goes on when weir starts again"),
		tool.Textf("do not run it again; `weir scripts show %s` shows what becomes of it", s.ID))
	return r
}
