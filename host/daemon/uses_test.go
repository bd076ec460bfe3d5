package daemon

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
)

// Uses are put down when there are many, without waiting for their time, and then
// the next ones; none is lost.
func TestManyUses(t *testing.T) {
	s := newServer(t, replay.New())
	l, sc := s.daemon.uses, archive.Scope{Principal: "ann", Conversation: "c1"}
	n := 0
	add := func() {
		l.add(store.Call{Scope: sc, CallID: fmt.Sprint("call", n), Tool: "echo", Code: "ok", Created: time.UnixMilli(1_800_000_000_000)})
		n++
	}
	for range 2 {
		l.mu.Lock()
		l.soon = time.AfterFunc(time.Hour, l.flush) // none comes by time
		l.mu.Unlock()
		for range manyUses {
			add()
		}
		for put := 0; put < n; {
			uses, err := s.daemon.store.Calls(t.Context(), sc, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			put = len(uses)
			runtime.Gosched()
		}
	}
	add()
	l.flush()
	uses, err := s.daemon.store.Calls(t.Context(), sc, time.Time{})
	if err != nil || len(uses) != n {
		t.Fatalf("%d uses of %d, %v", len(uses), n, err)
	}
	seen := map[string]bool{}
	for _, u := range uses {
		seen[u.CallID] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d are there", len(seen), n)
	}
}
