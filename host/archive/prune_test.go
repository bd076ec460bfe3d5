package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/sdk/tool"
)

func TestPruneChoosesTheOldest(t *testing.T) {
	const kb = 1000
	for name, row := range map[string]struct {
		cfg    func(*Config)
		sizes  []int // of the texts, the oldest first, an hour apart; negative: of bob
		gone   []int // which of them go
		reason string
	}{
		"no bounds":     {func(c *Config) {}, []int{kb, kb, kb}, nil, ""},
		"negative ones": {func(c *Config) { c.MaxAge, c.MaxBytes, c.MaxCount = -1, -1, -1 }, []int{kb, kb}, nil, ""},
		"age":           {func(c *Config) { c.MaxAge = 90 * time.Minute }, []int{kb, kb, kb, kb}, []int{0, 1}, ByAge},
		"just not aged": {func(c *Config) { c.MaxAge = 3 * time.Hour }, []int{kb, kb, kb, kb}, nil, ""},
		"count":         {func(c *Config) { c.MaxCount = 3 }, []int{kb, kb, kb, kb}, []int{0}, ByCount},
		"count of each": {func(c *Config) { c.MaxCountPerPrincipal = 1 }, []int{kb, -kb, kb, kb}, []int{0, 2}, ByCount},
		"bytes":         {func(c *Config) { c.MaxBytes = 2 * kb }, []int{kb, kb, kb}, []int{0}, ByBytes},
		"bytes of each": {func(c *Config) { c.MaxBytesPerPrincipal = 2 * kb }, []int{kb, -kb, kb, -kb, kb}, []int{0}, ByBytes},
		"a small old one does not outlive a large newer one": {func(c *Config) { c.MaxBytes = 3 * kb }, []int{10, 2 * kb, 2 * kb}, []int{0, 1}, ByBytes},
		"one larger than everything goes alone":              {func(c *Config) { c.MaxBytes = 3 * kb }, []int{kb, 9 * kb, kb}, []int{1}, ByBytes},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			s := openTest(t, func(cfg *Config) { row.cfg(cfg); cfg.Now = c.now })
			var all []Entry
			for i, n := range row.sizes {
				if i > 0 {
					c.forward(time.Hour)
				}
				e := Entry{Scope: mine, Tool: "run", Full: strings.Repeat(string(rune('a'+i)), max(n, -n))}
				if n < 0 {
					e.Scope.Principal = "bob"
				}
				all = append(all, putEntry(t, s, e))
			}
			for _, dry := range []bool{true, false} {
				r, err := s.Prune(t.Context(), dry)
				if err != nil || r.DryRun != dry || r.Kept != len(all)-len(row.gone) {
					t.Fatalf("report %+v, error %v", r, err)
				}
				var gone []int
				var bytes int64
				for _, p := range r.Pruned {
					i := slices.IndexFunc(all, func(e Entry) bool { return e.UUID == p.UUID })
					gone = append(gone, i)
					bytes += int64(all[i].Bytes)
					if p.Reason != row.reason || p.Scope != all[i].Scope || p.Tool != "run" || !p.Created.Equal(all[i].Created) {
						t.Errorf("%+v", p)
					}
				}
				slices.Sort(gone)
				if !slices.Equal(gone, row.gone) || r.Bytes != bytes {
					t.Errorf("dry %v: %v went with %d bytes, want %v", dry, gone, r.Bytes, row.gone)
				}
				for i, e := range all {
					_, err := s.Get(t.Context(), e.Scope, e.UUID)
					if want := !dry && slices.Contains(row.gone, i); errors.Is(err, ErrExpired) != want {
						t.Errorf("dry %v: entry %d answers %v", dry, i, err)
					}
				}
			}
		})
	}
}

// A pruned row says how to get the text again, and nothing of the text is left
// in any file.
func TestPrunedLeavesNothingOnDisk(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now, cfg.MaxAge = c.now, time.Hour })
	var ids []string
	for i := range 150 { // more than one batch
		e := putEntry(t, s, Entry{Scope: mine, Tool: "read_file", Input: []byte(fmt.Sprintf(`{"n":%d}`, i)),
			Full: strings.Repeat("needle-in-text 针 ", 800+i), Raw: []byte("needle-in-raw"), Summary: "needle-in-summary",
			Parts: []tool.Blob{{MIME: "image/png", Name: "needle-in-part"}}})
		ids = append(ids, e.UUID)
		if i == 70 {
			if err := s.Compact(t.Context()); err != nil { // some compressed, some not
				t.Fatal(err)
			}
		}
	}
	full := size(t, s)
	c.forward(2 * time.Hour)
	stays := put(t, s, "stays")
	r, err := s.Prune(t.Context(), false)
	if err != nil || len(r.Pruned) != len(ids) || r.Kept != 1 {
		t.Fatalf("pruned %d, kept %d, error %v", len(r.Pruned), r.Kept, err)
	}
	for _, needle := range []string{"needle-in-text", "针", "needle-in-raw", "needle-in-summary", "needle-in-part"} {
		if in := onDisk(t, s, needle); in != nil {
			t.Errorf("%q is left in the files %q", needle, in)
		}
	}
	if now := size(t, s); now > full/2 {
		t.Errorf("the file has %d bytes of %d", now, full)
	}
	for _, id := range ids {
		e, err := s.Get(t.Context(), mine, id)
		if !errors.Is(err, ErrExpired) || e.Tool != "read_file" || !strings.HasPrefix(string(e.Input), `{"n":`) || e.Full != "" || !e.Pruned {
			t.Fatalf("%+v, error %v", e, err)
		}
	}
	if e, err := s.Get(t.Context(), mine, stays.UUID); err != nil || e.Full != "stays" {
		t.Errorf("the newest: %v", err)
	}
	if list, err := s.List(t.Context(), mine, Filter{Limit: -1}); err != nil || len(list) != len(ids)+1 {
		t.Errorf("%d rows are left, error %v; the pruned stay without text", len(list), err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Archives != 1 || st.Pruned != len(ids) || st.TextBytes != 5 {
		t.Errorf("stats %+v, error %v", st, err)
	}
	if again, err := s.Prune(t.Context(), false); err != nil || len(again.Pruned) != 0 {
		t.Errorf("again: %d, error %v", len(again.Pruned), err)
	}
}

// Deleting overwrites, so a dropped text is gone once the log is.
func TestDroppedIsOverwritten(t *testing.T) {
	s := openTest(t)
	put(t, s, "before")
	e := put(t, s, strings.Repeat("dropped-needle ", 3000))
	put(t, s, "behind")
	if err := s.Drop(t.Context(), mine, e.UUID); err != nil {
		t.Fatal(err)
	}
	if err := s.db.TruncateLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in := onDisk(t, s, "dropped-needle"); in != nil {
		t.Errorf("left in %q", in)
	}
}

// A reader that holds an old snapshot keeps the log from being emptied; the
// next maintenance does it.
func TestLogIsEmptiedLater(t *testing.T) {
	pgtest.SQLite(t)
	s := openTest(t)
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA busy_timeout = 20"); err != nil {
		t.Fatal(err)
	}
	put(t, s, strings.Repeat("held-needle ", 3000))
	reader, err := s.db.QueryContext(t.Context(), "SELECT uuid FROM tool_result_archive UNION ALL SELECT uuid FROM tool_result_archive")
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Next() {
		t.Fatal("there is no row")
	}
	if _, err := deleteConversation(t, s, mine); err != nil {
		t.Fatal(err)
	}
	if !s.db.LogInUse() || onDisk(t, s, "held-needle") == nil {
		t.Fatal("the reader held nothing back, so this test shows nothing")
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in := onDisk(t, s, "held-needle"); in != nil || s.db.LogInUse() {
		t.Errorf("left in %q", in)
	}
}
