package usage

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/internal/testtime"
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
	add() // the first call of a tool is written at once
	for range 2 {
		l.mu.Lock()
		l.timer = time.AfterFunc(time.Hour, l.Flush) // no write because of the time
		l.mu.Unlock()
		for range writeCalls {
			add()
		}
		testtime.Until(t, "all calls are stored", func() bool {
			calls, err := db.Calls(t.Context(), sc, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			return len(calls) >= n
		})
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

// TestFirstCallIsWritten: that a tool ran in a conversation is on the disk before its caller
// reads the result: weir asks about what leaves the machine afterwards, also after a crash.
func TestFirstCallIsWritten(t *testing.T) {
	db := openStore(t)
	l := NewCallLog(db, hclog.NewNullLogger())
	t.Cleanup(l.Flush)
	for i, tt := range []struct {
		conversation, tool, code string
		ran, written             int
	}{
		{"c1", "nope", "unknown_tool", 0, 0}, {"c1", "read_file", "denied", 0, 0}, {"c1", "read_file", "failed", 1, 3}, {"c1", "read_file", "ok", 1, 3},
		{"c2", "read_file", "ok", 1, 5}, {"c1", "fetch_url", "ok", 2, 6},
	} {
		sc := archive.Scope{Principal: "ann", Conversation: tt.conversation}
		l.Add(store.Call{Scope: sc, CallID: fmt.Sprint(i), Tool: tt.tool, Format: "mcp", Code: tt.code, Created: time.UnixMilli(1_800_000_000_000)})
		names, err := db.RanTools(t.Context(), sc)
		all, failed := db.Calls(t.Context(), archive.Scope{Principal: "ann", Everywhere: true}, time.Time{})
		if err != nil || failed != nil || len(names) != tt.ran || len(all) != tt.written {
			t.Errorf("after call %d: %q, %d written; want %d, %d; %v %v", i, names, len(all), tt.ran, tt.written, err, failed)
		}
	}
}
