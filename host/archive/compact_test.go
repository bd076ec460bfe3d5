package archive

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

func TestCompactMakesTextsSmall(t *testing.T) {
	s := openTest(t)
	long := put(t, s, strings.Repeat("the same line again and again\n", 2000))
	withParts := putEntry(t, s, Entry{Scope: mine, Tool: "shot", Full: strings.Repeat("a screen ", 500), Parts: []tool.Blob{{MIME: "image/png", Data: make([]byte, 9000)}}})
	noise := putEntry(t, s, Entry{Scope: mine, Tool: "run", Full: awkward["incompressible"]})
	short := put(t, s, "short")
	before, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.TextBytes != before.TextBytes || after.StoredBytes > before.StoredBytes/5 || after.Archives != 4 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for _, e := range []Entry{long, withParts, noise, short} {
		got, err := s.Get(t.Context(), mine, e.UUID)
		if err != nil || got.Full != e.Full || len(got.Parts) != len(e.Parts) || len(e.Parts) > 0 && string(got.Parts[0].Data) != string(e.Parts[0].Data) {
			t.Errorf("%.20q: error %v", e.Full, err)
		}
	}
	var tried int
	if err := s.read.QueryRow("SELECT count(*) FROM tool_result_archive WHERE encoding = 2").Scan(&tried); err != nil || tried != 2 {
		t.Errorf("%d rows are marked as not worth it, want 2; error %v", tried, err)
	}
}

// Maintenance leaves what a running conversation may still load as it came.
func TestMaintainLeavesTheWarm(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	put(t, s, strings.Repeat("old ", 1000))
	c.forward(warm + time.Minute)
	put(t, s, strings.Repeat("new ", 1000))
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	var old, fresh int
	if err := s.read.QueryRow("SELECT count(*) FILTER (WHERE encoding = 1), count(*) FILTER (WHERE encoding = 0) FROM tool_result_archive").Scan(&old, &fresh); err != nil || old != 1 || fresh != 1 {
		t.Errorf("%d compressed, %d as they came; error %v", old, fresh, err)
	}
}

// A damaged compressed text is an error, not half a text.
func TestDamagedText(t *testing.T) {
	s := openTest(t)
	e := put(t, s, strings.Repeat("line\n", 1000))
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.Exec("UPDATE tool_result_archive SET result_full = x'28b52ffd00'"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), mine, e.UUID); err == nil || got.Full != "" {
		t.Errorf("got %d bytes, error %v", len(got.Full), err)
	}
	if _, err := s.Search(t.Context(), mine, "line", SearchOptions{}); err == nil {
		t.Error("Search reads it")
	}
}

// onDisk reports in which files of the store a text stands.
func onDisk(t *testing.T, s *Store, needle string) []string {
	t.Helper()
	var in []string
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		b, err := os.ReadFile(s.cfg.Path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(b), needle) {
			in = append(in, suffix)
		}
	}
	return in
}

func size(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
