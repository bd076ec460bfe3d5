package storecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/backup"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/toolmeta"
	"github.com/weirhost/weir/host/script/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

// Nothing that is under way is lost by a copy, or runs in both places.
func TestCopyOfWhatIsUnderWay(t *testing.T) {
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	a, err := archive.Open(t.Context(), archive.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	s, err := store.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{URL: url}, archive.Schema(), store.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	j, err := journal.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Add(t.Context(), journal.Script{ID: "s", Principal: "me", Script: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.toml"), fmt.Appendf(nil, "[store]\nurl = %q\n", url), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Commands{Printer: &term.Printer{Env: term.Env{Out: io.Discard, Err: io.Discard}}, Source: config.Source{Config: filepath.Join(dir, "tools.toml"), Data: dir}}

	// A script goes on in one of two places: where it is, or where all of it moves to.
	if err := s.Join(t.Context(), "other", "1", ""); err != nil {
		t.Fatal(err)
	}
	if err := c.Migrate(t.Context(), true); err == nil || !strings.Contains(err.Error(), "a daemon uses the database") {
		t.Errorf("a daemon lives: %v", err)
	}
	if err := s.Leave(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if err := c.Migrate(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := c.Copy(t.Context(), url, filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	for name, runtime := range map[string]string{"archive.db": "", "copy.db": journal.Restored} {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := j.Unfinished(t.Context()); err != nil || len(list) != 1 || list[0].Runtime != runtime {
			t.Errorf("%s: %+v %v; want the runtime %q", name, list, err, runtime)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}

	r := store.Run{Turn: "turn", Scope: archive.Scope{Principal: "ann", Conversation: "c"}, Fence: 1, Ask: []byte("{}")}
	if err := s.BeginRun(t.Context(), store.Conversation{ID: "c", Principal: "ann"}, []store.Message{{Role: "user"}}, 0, &r, "one"); err != nil {
		t.Fatal(err)
	}
	if err := c.Copy(t.Context(), url, filepath.Join(dir, "other.db")); err == nil || !strings.Contains(err.Error(), "1 answers are under way") {
		t.Error(err)
	}

	file, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "archive.db")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.ExecContext(t.Context(), `INSERT INTO conversations (id, principal, title, profile, created_at, updated_at) VALUES ('c', 'ann', '', '', 1, 1);
		INSERT INTO turn_steps (conversation_id, seq, body) VALUES ('c', 1, '{}'), ('c', 2, '{}'); INSERT INTO turn_pieces (conversation_id, seq, body) VALUES ('c', 1, '{}')`)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := c.Copy(t.Context(), dir, pgtest.URL(t)); err == nil || !strings.Contains(err.Error(), "1 answers are under way") {
		t.Error("a killed daemon's answer:", err)
	}
}

// A copy of a shared database has what is approved there, in place of an older weir.lock, and
// its files. A database that has such a row is not empty.
func TestCopyHasTheLock(t *testing.T) {
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	open := func(o sqlite.Options, dir string) *sharedlock.Lock {
		t.Helper()
		db, err := sqlite.Open(t.Context(), o, archive.Schema(), store.Schema(), journal.Schema(), toolmeta.Schema(), installkey.Schema())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		l, err := sharedlock.Open(t.Context(), db, filepath.Join(dir, "weir.lock"), "", hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	data, digest := t.TempDir(), strings.Repeat("a", 64)
	shared := open(sqlite.Options{URL: url}, t.TempDir())
	lock, err := shared.Load()
	if err != nil {
		t.Fatal(err)
	}
	v := &lockfile.Version{Digest: digest, By: "cli"}
	if v.Copy, err = shared.AddCopy(digest, map[string][]byte{"a.wasm": []byte("module")}, "a.wasm"); err != nil {
		t.Fatal(err)
	}
	lock.Entry("a").Approve(v)
	if err := shared.Save(lock); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(data, "archive.db")
	if _, err := backup.Copy(t.Context(), sqlite.Options{URL: url, ReadOnly: true}, sqlite.Options{Path: file}, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "weir.lock"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second start finds it adopted
		l := open(sqlite.Options{Path: file}, data)
		lock, err := l.Load()
		if err != nil || lock.Plugins["a"].Current() == nil {
			t.Fatal(lock, err)
		}
		if text, err := os.ReadFile(l.CopyPath(lock.Plugins["a"].Current())); err != nil || string(text) != "module" {
			t.Errorf("%q %v", text, err)
		}
	}
	if old, err := os.ReadFile(filepath.Join(data, "weir.lock"+sharedlock.Aside)); err != nil || string(old) != "old" {
		t.Errorf("%q %v", old, err)
	}
	if _, err := backup.Copy(t.Context(), sqlite.Options{Path: file}, sqlite.Options{URL: url}, false, nil); !errors.Is(err, sqlite.ErrNotEmpty) {
		t.Error(err)
	}
}
