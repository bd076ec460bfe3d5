package hostile

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// A tool that hangs is called more often than there are slots: calls of other tools do
// not wait for its deadline.
func TestAHangingToolDoesNotBlockOthers(t *testing.T) {
	for _, isolation := range []host.Isolation{host.OwnProcess, host.Inline} {
		t.Run(string(isolation), func(t *testing.T) {
			dir := t.TempDir()
			dropIn(t, dir, honest, dropped{name: "hang", wasm: guest(sleepFor(eternity), answer), timeout: 4 * time.Minute})
			h := open(t, dir, isolation, nil)
			if r, _ := ask(t, h, tool.En, "honest", `{}`); r.Err != nil {
				t.Fatal(r.Err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			var over atomic.Int32
			for range 40 {
				wg.Go(func() {
					h.Session("somebody", "else").Call(ctx, tool.Call{Tool: "hang", Args: []byte(`{}`)})
					over.Add(1)
				})
			}
			for range 50 {
				if r, _ := ask(t, h, tool.En, "honest", `{"n":1}`); r.Err != nil {
					t.Error(r.Err)
				}
			}
			if n := over.Load(); n != 0 {
				t.Errorf("%d of the hanging calls are over: they held the honest ones up", n)
			}
		})
	}
}
