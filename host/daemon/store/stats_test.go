package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Programs read the statistics: the names are those of all other answers.
func TestStatsAsJSON(t *testing.T) {
	st := Stats{
		Tools:    []ToolStats{{Tool: "grep", Calls: 1, LoadedBack: 1, Archived: 1, Produced: 5, Shown: 3, Saved: 2, Duration: 1250 * time.Microsecond}},
		Models:   []ModelStats{{Model: "m", Format: "fence", Malformed: 1, Misused: 1, Outcomes: map[string]int{"malformed:bad_json": 1}}},
		Archives: 1, TextBytes: 5, StoredBytes: 4, FileBytes: 4096,
	}
	const want = `{"tools":[{"tool":"grep","calls":1,"failed":0,"cut":0,"archived":1,"loaded_back":1,"produced":5,"shown":3,"saved":2,"duration_ms":1.25}],` +
		`"models":[{"model":"m","format":"fence","calls":0,"failed":0,"malformed":1,"misused":1,"outcomes":{"malformed:bad_json":1}}],` +
		`"archives":1,"pruned":0,"text_bytes":5,"stored_bytes":4,"file_bytes":4096}`
	b, err := json.Marshal(st)
	if err != nil || string(b) != want {
		t.Fatalf("%s, %v\nwant %s", b, err, want)
	}
	var back Stats
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(st, back); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	if err := json.Unmarshal([]byte(`{"tools":[{"duration_ms":"long"}]}`), &back); err == nil {
		t.Error("a duration that is no number was read")
	}
}

// The sums of a client are those of all users, and go with a user.
func TestFoldStats(t *testing.T) {
	s := openTest(t)
	add := func(principal, client string, saved int64) {
		t.Helper()
		if err := s.AddFold(t.Context(), principal, FoldStats{Client: client, Requests: 1, Cut: 2, Folded: 3, Sent: 40, Saved: saved, Loads: 5, Refused: 6}); err != nil {
			t.Fatal(err)
		}
	}
	add("ann", "qwen", 100)
	add("ann", "opencode", 100)
	add("ann", "opencode", 100)
	add("bob", "opencode", 50)
	folds := func() []FoldStats {
		t.Helper()
		st, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Folds
	}
	want := []FoldStats{{"opencode", 3, 6, 9, 120, 250, 15, 18}, {"qwen", 1, 2, 3, 40, 100, 5, 6}}
	if d := cmp.Diff(want, folds()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := s.Purge(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if got := folds(); len(got) != 1 || got[0].Saved != 50 {
		t.Errorf("after a user is gone: %+v", got)
	}
}
