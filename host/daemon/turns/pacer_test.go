package turns

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// Progress of a tool that reports without pause is sent ten times a second.
func TestProgressIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		tn := &turn{s: New(Config{Now: time.Now}), report: report{emit: func(string, any) { told++ }}}
		for i := range 1000 {
			tn.progress(host.Progress{Call: tool.Call{ID: "a"}, Done: i, Total: 999})
			testtime.Sleep(time.Millisecond)
		}
		if told != 11 { // ten in a second, and the last one
			t.Errorf("told %d times", told)
		}
	})
}
