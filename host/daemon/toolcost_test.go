package daemon

import (
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/plugin"
)

// The cost of a tool's description is there before a model was asked, and follows what
// the default model has reported since.
func TestCostOfADescription(t *testing.T) {
	s, _ := desk(t, replay.New(), nil)
	cost := func() int { return decoded[plugin.ToolInfo](t, s.get("/api/tools/write_note")).Tokens }
	first := cost()
	if first <= 0 {
		t.Fatalf("%d tokens before any question", first)
	}
	s.daemon.current.State().Models["scripted"].Estimator.Calibrate(100, 200)
	if n := cost(); n != 2*first && n != 2*first-1 && n != 2*first+1 {
		t.Errorf("%d tokens, and %d where the model counts twice as many", first, n)
	}
}
