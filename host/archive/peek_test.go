package archive

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/sdk/tool"
)

// A person who looks at a result must not make it look as if a model had to
// load it back.
func TestPeekCountsNoLoad(t *testing.T) {
	s := openTest(t)
	e := put(t, s, fiveLines)
	page, err := s.Peek(t.Context(), mine, e.UUID, Part{First: 2, Last: 2})
	if err != nil || page.Text != "two\n" || page.Entry.Full != "" || page.Entry.UUID != e.UUID {
		t.Fatalf("%+v, %v", page, err)
	}
	if got, err := s.Get(t.Context(), mine, e.UUID); err != nil || got.Loads != 0 || !got.LastLoad.IsZero() {
		t.Errorf("after a peek: %d loads, %v", got.Loads, err)
	}
	if page, err = s.Read(t.Context(), mine, e.UUID, Part{}); err != nil || page.Entry.Loads != 1 || page.Text != fiveLines {
		t.Errorf("a read: %d loads, %v", page.Entry.Loads, err)
	}
	if _, err := s.Peek(t.Context(), Scope{Principal: "bob", Conversation: "c1"}, e.UUID, Part{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another's result: %v", err)
	}
	var bad *tool.Error
	if _, err := s.Peek(t.Context(), mine, e.UUID, Part{First: 9}); !errors.As(err, &bad) || bad.Code != tool.BadArgs {
		t.Errorf("a line that does not exist: %v", err)
	}
}

// Statistics are read by programs: their names are those of every other answer.
func TestStatsAsJSON(t *testing.T) {
	st := Stats{
		Tools:    []ToolStats{{Tool: "grep", Calls: 1, LoadedBack: 1, Archived: 1, Produced: 5, Shown: 3, Saved: 2, Duration: 1250 * time.Microsecond}},
		Models:   []ModelStats{{Model: "m", Format: "fence", Malformed: 1, Outcomes: map[string]int{"malformed:bad_json": 1}}},
		Archives: 1, TextBytes: 5, StoredBytes: 4, FileBytes: 4096,
	}
	const want = `{"tools":[{"tool":"grep","calls":1,"failed":0,"cut":0,"archived":1,"loaded_back":1,"produced":5,"shown":3,"saved":2,"duration_ms":1.25}],` +
		`"models":[{"model":"m","format":"fence","calls":0,"failed":0,"malformed":1,"outcomes":{"malformed:bad_json":1}}],` +
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
