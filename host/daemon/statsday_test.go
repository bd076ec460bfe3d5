package daemon

import (
	"testing"
	"time"
	_ "time/tzdata" // where the system has none

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
)

// Sums day by day, by the daemon's clock also where a day has 23 or 25 hours.
func TestStatsByDay(t *testing.T) {
	s := newServer(t, replay.New())
	zone, err := time.LoadLocation("Australia/Lord_Howe") // half an hour, and summer time of half an hour
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 4, 6, 12, 0, 0, 0, zone)
	s.daemon.now = func() time.Time { return now }
	call := func(tool string, at time.Time, c store.Call) {
		c.Scope, c.Tool, c.Created = archive.Scope{Principal: "local", Conversation: "x"}, tool, at
		s.daemon.calls.Add(c)
	}
	midnight := time.Date(2026, 4, 5, 0, 0, 0, 0, zone) // the day on which the clock goes back
	call("a", midnight.Add(-time.Second), store.Call{Code: "ok", Produced: 10, Shown: 10})
	call("a", midnight, store.Call{Code: "ok", Produced: 100, Shown: 40, Layer: "tool"})
	call("a", time.Date(2026, 4, 6, 0, 0, 0, 0, zone).Add(-time.Second), store.Call{Code: "failed", Produced: 5, Shown: 5})
	call("b", midnight.Add(time.Hour), store.Call{Code: "ok", Produced: 1, Shown: 1})
	call("a", now, store.Call{Code: "ok", Produced: 7, Shown: 7})
	call("a", midnight.AddDate(0, 0, -2), store.Call{Code: "ok", Produced: 9, Shown: 9})
	call("", now, store.Call{Code: store.MalformedCode + "bad_json"})
	want := []store.DayStats{
		{Day: "2026-04-06", Tool: "a", Calls: 1, Produced: 7, Shown: 7},
		{Day: "2026-04-05", Tool: "a", Calls: 2, Failed: 1, Cut: 1, Produced: 105, Shown: 45, Saved: 60},
		{Day: "2026-04-05", Tool: "b", Calls: 1, Produced: 1, Shown: 1},
		{Day: "2026-04-04", Tool: "a", Calls: 1, Produced: 10, Shown: 10},
	}
	if diff := cmp.Diff(want, decoded[store.Stats](t, s.get("/api/stats?days=3")).Days); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st := decoded[store.Stats](t, s.get("/api/stats")); st.Days != nil || st.Tools[0].Calls != 5 {
		t.Errorf("without days: %+v", st)
	}
	if all := decoded[store.Stats](t, s.get("/api/stats?days=999999999")).Days; len(all) != 5 {
		t.Errorf("of all days: %+v", all)
	}
	if a := s.get("/api/stats?days=-1"); a.code(t) != "bad_query" {
		t.Error(a.body)
	}
}

// What was loaded back is counted on the day of the result.
func TestStatsByDayOfLoads(t *testing.T) {
	s := newServer(t, replay.New(replay.Call("long_text", `{}`), replay.Text("Made.")))
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Make a text"}`).body), api.EventEnd)
	s.post("/api/tools/load_tool_history/call", `{"arguments":{"uuid":"`+end.Results[0].KeptUUID+`"},"conversation_id":"`+end.Conversation+`"}`)
	for _, d := range decoded[store.Stats](t, s.get("/api/stats?days=1")).Days {
		if d.Tool == "long_text" && (d.Archived != 1 || d.LoadedBack != 1 || d.Cut != 1 || d.Saved != d.Produced-d.Shown) {
			t.Errorf("%+v", d)
		}
	}
}
