package archive

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// files are the names and contents of a folder, but for the index of the log,
// which everyone who reads has to mark.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(e.Name()) == ".db-shm" {
			b = nil
		}
		out[e.Name()] = b
	}
	return out
}

// examined examines a file and holds its folder to what it was before.
func examined(t *testing.T, path string) (Info, error) {
	t.Helper()
	before := files(t, filepath.Dir(path))
	h, err := Examine(t.Context(), path)
	after := files(t, filepath.Dir(path))
	for name, b := range after {
		if old, ok := before[name]; !ok || !bytes.Equal(old, b) {
			t.Errorf("%s was changed or made", name)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	return h, err
}

func TestExamine(t *testing.T) {
	pgtest.SQLite(t)
	c := newClock()
	var path string
	s := openTest(t, func(cfg *Config) { cfg.Now, path = c.now, cfg.Path })
	for i := range 3 {
		c.forward(time.Hour)
		if _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "grep", Full: string(rune('a' + i))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []string{"open", "closed"} {
		h, err := examined(t, path)
		if err != nil || h.Results != 3 || !h.Newest.Equal(c.now()) || h.Bytes == 0 {
			t.Errorf("%s: %+v, %v", state, h, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Examine(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestExamineWhatIsWrong(t *testing.T) {
	pgtest.SQLite(t)
	dir := t.TempDir()
	at := func(name string, content []byte) string {
		path := filepath.Join(dir, name, "archive.db")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	var path string
	s := openTest(t, func(cfg *Config) { path = cfg.Path })
	for range 50 {
		if _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "grep", Full: string(bytes.Repeat([]byte("river "), 5000))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hurt := bytes.Clone(sound)
	for i := 3 * 4096; i < len(hurt)-4096; i += 4096 {
		copy(hurt[i:], bytes.Repeat([]byte{0xaa}, 64))
	}
	newer := at("newer", sound)
	db, err := sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO archive_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want error
	}{
		{at("none", nil), fs.ErrNotExist}, {at("empty", []byte{}), nil}, {at("text", bytes.Repeat([]byte("text "), 100)), ErrForeign},
		{at("hurt", hurt), ErrDamaged}, {newer, ErrNewer}, {at("sound", sound), nil},
	} {
		if _, err := examined(t, c.path); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", c.path, err, c.want)
		}
	}
}
