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
