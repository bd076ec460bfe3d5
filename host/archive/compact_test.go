package archive

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
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
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM result_texts WHERE encoding = 2").Scan(&tried); err != nil || tried != 2 {
		t.Errorf("%d rows are marked as not worth it, want 2; error %v", tried, err)
	}
}

// Maintenance leaves what a running conversation may still load as it came, and
// everything while there is room; then the oldest go first.
func TestMaintainLeavesTheWarm(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now, cfg.MaxBytes = c.now, 40_000 }) // room for 10,000
	oldest := put(t, s, strings.Repeat("first ", 1000))
	c.forward(time.Minute)
	old := put(t, s, strings.Repeat("old ", 1000)) // 10,000 together
	list := []Entry{oldest, old}
	check := func(when string, want ...string) {
		t.Helper()
		if err := s.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			var encoding int
			if err := s.db.QueryRowContext(t.Context(), "SELECT encoding"+withTexts+"WHERE uuid = ?", e.UUID).Scan(&encoding); err != nil {
				t.Fatal(err)
			}
			if encoding == encodingS2 {
				got = append(got, e.UUID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d texts are compressed, want %d", when, len(got), len(want))
		}
	}
	check("within the hour")
	c.forward(minCompressAge + time.Minute)
	check("while there is room")
	list = append(list, put(t, s, strings.Repeat("fresh ", 500)))
	check("a little over it", oldest.UUID)
	list = append(list, put(t, s, strings.Repeat("other ", 2000)))
	check("far over it", oldest.UUID, old.UUID)
	for _, e := range list {
		if got, err := s.Get(t.Context(), mine, e.UUID); err != nil || got.Full != e.Full {
			t.Errorf("%.10q: error %v", e.Full, err)
		}
	}
}

func TestMaxPlainBytes(t *testing.T) {
	for _, row := range []struct{ all, each, want int64 }{
		{0, 0, DefaultMaxBytes / 4}, {-1, -1, DefaultMaxBytes / 4}, {400, 0, 100}, {400, 200, 50}, {0, 80, 20},
	} {
		if got := (Config{MaxBytes: row.all, MaxBytesPerPrincipal: row.each}).maxPlainBytes(); got != row.want {
			t.Errorf("bounds of %d and %d leave %d bytes, want %d", row.all, row.each, got, row.want)
		}
	}
}

// A damaged compressed text is an error, not half a text.
func TestDamagedText(t *testing.T) {
	for name, damage := range map[string]string{
		"cut":            "result_full = substr(result_full, 1, length(result_full) / 2)",
		"no s2":          "result_full = x'28b52ffd00'",
		"too long":       "result_full = x'ffffffff0f00'",
		"empty":          "result_full = x''",
		"s2 claimed":     "encoding = 1, result_full = x'28b52ffd00'",
		"not ours":       "encoding = 9",
		"parts cut":      "result_parts = substr(result_parts, 1, 20)",
		"parts not JSON": "result_parts = x'010061'",
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t)
			if pgtest.InPostgres() {
				damage = strings.ReplaceAll(damage, "x'", `'\x`)
			}
			e := putEntry(t, s, Entry{Scope: mine, Tool: "run", Full: strings.Repeat("line\n", 1000), Parts: []tool.Blob{{Data: make([]byte, 900)}}})
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.ExecContext(t.Context(), "UPDATE result_texts SET "+damage); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), mine, e.UUID); err == nil || got.Full != "" {
				t.Errorf("got %d bytes, error %v", len(got.Full), err)
			}
			if _, err := s.Search(t.Context(), mine, "line", SearchOptions{}); err == nil && !strings.HasPrefix(name, "parts") {
				t.Error("Search reads it")
			}
		})
	}
}

// onDisk returns the files of the store that contain a text.
func onDisk(t *testing.T, s *SQLite, needle string) []string {
	t.Helper()
	if pgtest.InPostgres() {
		return nil // its files are not weir's
	}
	var in []string
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		b, err := os.ReadFile(s.cfg().Path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(b), needle) {
			in = append(in, suffix)
		}
	}
	return in
}

func size(t *testing.T, s *SQLite) int64 {
	t.Helper()
	if pgtest.InPostgres() {
		return 0
	}
	info, err := os.Stat(s.cfg().Path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
