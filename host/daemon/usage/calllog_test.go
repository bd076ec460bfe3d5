package usage

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
)

// Many calls are written without waiting for the time, and so are the next ones; none
// is lost.
func TestManyCalls(t *testing.T) {
	db := openStore(t)
	l, sc := NewCallLog(db, hclog.NewNullLogger()), archive.Scope{Principal: "ann", Conversation: "c1"}
	n := 0
	add := func() {
		l.Add(store.Call{Scope: sc, CallID: fmt.Sprint("call", n), Tool: "echo", Code: "ok", Created: time.UnixMilli(1_800_000_000_000)})
		n++
	}
	for range 2 {
		l.mu.Lock()
		l.timer = time.AfterFunc(time.Hour, l.Flush) // no write because of the time
		l.mu.Unlock()
		for range writeCalls {
			add()
		}
		for put := 0; put < n; {
			calls, err := db.Calls(t.Context(), sc, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			put = len(calls)
			runtime.Gosched()
		}
	}
	add()
	l.Flush()
	calls, err := db.Calls(t.Context(), sc, time.Time{})
	if err != nil || len(calls) != n {
		t.Fatalf("%d calls of %d, %v", len(calls), n, err)
	}
	seen := map[string]bool{}
	for _, u := range calls {
		seen[u.CallID] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d are there", len(seen), n)
	}
}
