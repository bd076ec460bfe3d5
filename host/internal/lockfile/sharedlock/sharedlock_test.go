package sharedlock

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/internal/testtime"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

// machines returns a function that opens the lock of another machine.
func machines(t *testing.T) func() *Lock {
	t.Helper()
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	return func() *Lock {
		t.Helper()
		db, err := sqlite.Open(t.Context(), sqlite.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		l, err := Open(t.Context(), db, filepath.Join(t.TempDir(), "weir.lock"), "", hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

var digest = strings.Repeat("a", 64)

// approve stores a version of a plugin and approves it.
func approve(t *testing.T, l *Lock, name, source string, files map[string][]byte) {
	t.Helper()
	lock, err := l.Load()
	if err != nil {
		t.Fatal(err)
	}
	v := &lockfile.Version{Digest: digest, Source: "/" + source}
	if v.Copy, err = l.AddCopy(digest, files, source); err != nil {
		t.Fatal(err)
	}
	lock.Entry(name).Approve(v)
	if err := l.Save(lock); err != nil {
		t.Fatal(err)
	}
}

func inDatabase(t *testing.T, l *Lock, statement string, args ...any) {
	t.Helper()
	if err := l.db.Transact(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// One module has other names on other machines: each gets the one that it needs. Large files
// and empty ones arrive whole.
func TestNamesOfOneVersion(t *testing.T) {
	open := machines(t)
	a, b := open(), open()
	large := slices.Repeat([]byte("0123456789abcdef"), maxPiece/8) // two pieces
	approve(t, a, "a", "a.wasm", map[string][]byte{"a.wasm": large, "empty": {}})
	approve(t, a, "b", "b.wasm", map[string][]byte{"b.wasm": []byte("module")})
	if err := b.Fetch(t.Context(), &lockfile.Version{Digest: digest}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lock{a, b} {
		files, err := l.Files(digest)
		if names := slices.Sorted(maps.Keys(files)); err != nil || !slices.Equal(names, []string{"a.wasm", "b.wasm", "empty"}) || !slices.Equal(files["a.wasm"], large) {
			t.Errorf("%v %v", names, err)
		}
	}
}

// What the database has already is neither fetched nor stored again. What was changed there, cut
// off or made longer is as it should be afterwards.
func TestUploadOfWhatIsThere(t *testing.T) {
	l := machines(t)()
	text := make([]byte, 16*maxPiece+3)
	for i := range text {
		text[i] = byte(i >> 8)
	}
	files := map[string][]byte{"a.wasm": text, "empty": {}}
	upload := func() {
		t.Helper()
		if err := l.upload(digest, files); err != nil {
			t.Fatal(err)
		}
	}
	versions := func() (all string) {
		t.Helper()
		if err := l.db.QueryRowContext(t.Context(), "SELECT string_agg(xmin::text, ' ' ORDER BY name, piece) FROM plugin_files").Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	upload()
	before := versions()
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	upload()
	runtime.ReadMemStats(&end)
	if n := end.TotalAlloc - start.TotalAlloc; n > uint64(len(text))/2 {
		t.Errorf("%d bytes for files that are there", n)
	}
	if now := versions(); now != before {
		t.Errorf("%s\n%s", before, now)
	}
	for _, change := range []string{
		"UPDATE plugin_files SET data = substr(data, 2) WHERE piece = 3",
		"DELETE FROM plugin_files WHERE piece = 16",
		"DELETE FROM plugin_files WHERE piece = 0",
		"INSERT INTO plugin_files SELECT digest, name, 17, data FROM plugin_files WHERE piece = 16",
		"UPDATE plugin_files SET data = 'x' WHERE name = 'empty'",
		"DELETE FROM plugin_files",
	} {
		inDatabase(t, l, change)
		upload()
		if has, err := l.files(t.Context(), l.db, digest); err != nil || !bytes.Equal(has["a.wasm"], text) || len(has) != 2 || len(has["empty"]) != 0 {
			t.Errorf("after %s: %d bytes, %v", change, len(has["a.wasm"]), err)
		}
	}
}

// Of two daemons that store one version at once, one that fails in the middle leaves what the
// other one has stored.
func TestTwoUploads(t *testing.T) {
	open := machines(t)
	a, b := open(), open()
	files := map[string][]byte{"a.wasm": slices.Repeat([]byte("0123456789abcdef"), maxPiece/8)} // two pieces
	if err := a.upload(digest, files); err != nil {
		t.Fatal(err)
	}
	inDatabase(t, a, "CREATE TABLE stored AS SELECT * FROM plugin_files")
	inDatabase(t, a, "DELETE FROM plugin_files")
	first := make(chan error, 1)
	go func() { // stores all when the other one has seen that there is nothing, and before it writes
		_, err := a.db.Beside(t.Context(), `DO $$ BEGIN
			LOCK TABLE plugin_files IN SHARE MODE;
			WHILE NOT EXISTS (SELECT FROM pg_locks WHERE relation = 'plugin_files'::regclass AND NOT granted) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
			INSERT INTO plugin_files SELECT * FROM stored;
			ALTER TABLE plugin_files ADD CONSTRAINT "full" CHECK (piece < 1) NOT VALID;
		END $$`)
		first <- err
	}()
	for locked := false; !locked; {
		if err := a.db.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'plugin_files'::regclass AND mode = 'ShareLock' AND granted)").Scan(&locked); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.upload(digest, files); err == nil {
		t.Error("it stored what cannot be stored")
	}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if has, err := a.files(t.Context(), a.db, digest); err != nil || !bytes.Equal(has["a.wasm"], files["a.wasm"]) {
		t.Errorf("%d bytes, %v", len(has["a.wasm"]), err)
	}
}

// After a restore of the database the number of changes is that of another content.
func TestRestoredDatabase(t *testing.T) {
	open := machines(t)
	a, b := open(), open()
	files := map[string][]byte{"a.wasm": []byte("module")}
	approve(t, a, "a", "a.wasm", files)
	inDatabase(t, a, "CREATE TABLE saved AS SELECT * FROM plugin_lock")
	approve(t, a, "b", "a.wasm", files)
	old, err := a.Load()
	if err != nil {
		t.Fatal(err)
	}
	inDatabase(t, a, "DELETE FROM plugin_lock")
	inDatabase(t, a, "INSERT INTO plugin_lock SELECT * FROM saved")
	approve(t, b, "c", "a.wasm", files)
	if lock, err := a.Load(); err != nil || lock.Plugins["c"] == nil {
		t.Errorf("%+v %v", lock.Plugins, err)
	}
	if err := a.Save(old); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

// A machine that approves nothing itself deletes its copies of what is no longer approved, and
// keeps those that its earlier weir.lock names.
func TestFollowerDeletesCopies(t *testing.T) {
	open := machines(t)
	a, b := open(), open()
	old := strings.Repeat("b", 64)
	own := &lockfile.Lock{}
	v := &lockfile.Version{Digest: old, Source: "/old.wasm"}
	var err error
	if v.Copy, err = b.Store.AddCopy(old, map[string][]byte{"old.wasm": []byte("old")}, "old.wasm"); err != nil {
		t.Fatal(err)
	}
	own.Entry("old").Approve(v)
	if err := b.Store.Save(own); err != nil {
		t.Fatal(err)
	}
	approve(t, a, "a", "a.wasm", map[string][]byte{"a.wasm": []byte("module")})
	if _, err := b.Load(); err != nil {
		t.Fatal(err)
	}
	if err := b.Fetch(t.Context(), &lockfile.Version{Digest: digest}); err != nil {
		t.Fatal(err)
	}
	lock, err := a.Load()
	if err != nil {
		t.Fatal(err)
	}
	delete(lock.Plugins, "a")
	if err := a.Save(lock); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.Load(); err != nil {
			t.Fatal(err)
		}
		if files, err := b.Files(digest); err == nil {
			t.Errorf("%d files of what is removed are there", len(files))
		}
		if _, err := b.Files(old); err != nil {
			t.Error(err)
		}
		approve(t, b, "c", "a.wasm", map[string][]byte{"a.wasm": []byte("module")})
		b.RemoveUnused(lock)
	}
}

// A weir.lock that has no effect and cannot be renamed does not count when the row is gone, also
// for a daemon that starts then. It counts again when it is another one.
func TestFileThatCannotBeRenamed(t *testing.T) {
	open := machines(t)
	a, b := open(), open()
	approve(t, a, "a", "a.wasm", map[string][]byte{"a.wasm": []byte("module")})
	own := &lockfile.Lock{}
	own.Entry("old").Approve(&lockfile.Version{Digest: digest, Source: "/old.wasm"})
	if err := b.Store.Save(own); err != nil {
		t.Fatal(err)
	}
	rename = func(from, to string) error { return errors.New("it is busy") }
	t.Cleanup(func() { rename = os.Rename })
	has := func(l *Lock, want string) {
		t.Helper()
		lock, err := l.Load()
		if err != nil {
			t.Fatal(err)
		}
		if names := slices.Collect(maps.Keys(lock.Plugins)); strings.Join(names, " ") != want {
			t.Errorf("%q, want %q", names, want)
		}
	}
	again := func() *Lock {
		t.Helper()
		l, err := Open(t.Context(), b.db, b.File, b.Copies, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	has(b, "a")
	inDatabase(t, a, "DELETE FROM plugin_lock")
	has(b, "")
	has(again(), "")
	calls := follow(t, b, func() { _, _ = b.Load() })
	approve(t, a, "a", "a.wasm", map[string][]byte{"a.wasm": []byte("module")})
	testtime.Until(t, "the new row is seen", func() bool { return calls.Load() > 0 })
	has(b, "a")
	inDatabase(t, a, "DELETE FROM plugin_lock")
	own.Entry("older").Approve(&lockfile.Version{Digest: digest, Source: "/older.wasm"})
	delete(own.Plugins, "old")
	if err := b.Store.Save(own); err != nil {
		t.Fatal(err)
	}
	has(again(), "older")
}

// follow counts how often Follow calls, of a lock that is in force when it is loaded.
func follow(t *testing.T, l *Lock, changed func()) *atomic.Int32 {
	calls, _ := watched(t, l, changed)
	return calls
}

// watched is follow, and counts how often Follow looks, too.
func watched(t *testing.T, l *Lock, changed func()) (calls, looks *atomic.Int32) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	calls, looks = new(atomic.Int32), new(atomic.Int32)
	go func() {
		defer close(done)
		l.Follow(ctx, func() string { looks.Add(1); return l.loaded() }, func() { calls.Add(1); changed() })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return calls, looks
}

func (l *Lock) loaded() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unread {
		return ""
	}
	return l.version
}

// A row of a newer weir, and files that come slowly, cause no scan each second.
func TestFollowIsQuiet(t *testing.T) {
	open := machines(t)
	a, b := open(), open()
	approve(t, a, "a", "a.wasm", map[string][]byte{"a.wasm": []byte("module")})
	v, load := &lockfile.Version{Digest: digest}, func() { _, _ = b.Load() }
	load()
	inDatabase(t, a, "ALTER TABLE plugin_files RENAME TO away")
	calls, looks := watched(t, b, load)
	looksTwice := func() {
		t.Helper()
		end := looks.Load() + 3 // it may be in the middle of one
		testtime.Until(t, "two looks", func() bool { return looks.Load() >= end })
	}
	if err := b.Fetch(t.Context(), v); err == nil {
		t.Error("files were read without a table")
	}
	looksTwice()
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls while files are missing", n)
	}
	inDatabase(t, a, "ALTER TABLE away RENAME TO plugin_files")
	testtime.Until(t, "the files are there", func() bool { return calls.Load() > 0 })
	looksTwice()
	if files, err := b.Files(digest); err != nil || string(files["a.wasm"]) != "module" || calls.Load() != 1 {
		t.Errorf("%q %v after %d calls", files, err, calls.Load())
	}
	inDatabase(t, a, `UPDATE plugin_lock SET version = 'x', body = '{"schema": 99}'`)
	testtime.Until(t, "the newer row is seen", func() bool { return calls.Load() > 1 })
	looksTwice()
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls", n-1)
	}
	if _, err := b.Load(); err == nil {
		t.Error("a newer row was read")
	}
}
