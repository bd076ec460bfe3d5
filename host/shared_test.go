package host

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
)

// machines returns a function that opens a host over a folder, as on a machine of its own, with
// the database of the others.
func machines(t *testing.T) func(dir string, change func(*Config)) *Host {
	t.Helper()
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	database := filepath.Join(t.TempDir(), "archive.db")
	return func(dir string, change func(*Config)) *Host {
		return pinned(t, dir, func(c *Config) {
			c.Archive.Path = database
			if change != nil {
				change(c)
			}
		})
	}
}

// soon waits until a tool answers with text.
func soon(t *testing.T, h *Host, name, text string) {
	t.Helper()
	var answer string
	defer func() {
		if t.Failed() {
			t.Logf("%s answers %q, want %q; %s", name, answer, text, states(h))
		}
	}()
	testtime.Until(t, "the other host knows it", func() bool {
		answer = try(t, h.Session("me", "c1"), name, "").Whole()
		return answer == text
	})
}

// inDatabase runs a statement in the database of hosts.
func inDatabase(t *testing.T, h *Host, statement string, args ...any) {
	t.Helper()
	if err := h.archive.(*archive.SQLite).DB().Transact(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func revision(t *testing.T, h *Host) string {
	t.Helper()
	l, err := h.lock.Load()
	if err != nil {
		t.Fatal(err)
	}
	return l.Revision
}

// What a person says about a plugin on one machine holds on all within two seconds, also where
// the plugin's folder is missing. Of two at the same moment, one is refused.
func TestMachinesServeTheSame(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	a, b := open(dir, nil), open(t.TempDir(), nil)
	first := agree(t, a, "a")
	soon(t, b, "a", generation(1))
	if err := b.Disable(t.Context(), "a", "page"); err != nil {
		t.Fatal(err)
	}
	soon(t, a, "a", "")
	if err := a.Enable(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	soon(t, b, "a", generation(1))
	lay(t, dir, "a", wanting("a", "2", ""), generation(2))
	reload(t, a)
	err := a.update(t.Context(), func(ctx context.Context, snap *registry.Snapshot, l *lockfile.Lock) error {
		if err := b.Disable(t.Context(), "a", "page"); err != nil {
			t.Error(err)
		}
		return a.catalog.Approve("a", info(t, a, "a").Pending.Digest, "cli")(ctx, snap, l)
	}, nil)
	if code(err) != plugin.CodeChanged {
		t.Errorf("the later one: %v", err)
	}
	soon(t, a, "a", "")
	if err := b.Enable(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	soon(t, a, "a", generation(1))
	agree(t, a, "a")
	soon(t, b, "a", generation(2))
	if err := b.Rollback(t.Context(), "a", first); err != nil {
		t.Fatal(err)
	}
	soon(t, a, "a", generation(1))
	inDatabase(t, a, "ALTER TABLE plugin_lock RENAME TO away")
	reload(t, b)
	says(t, b, "a", generation(1))
	if err := b.Disable(t.Context(), "a", "page"); code(err) != plugin.CodeLockUnusable {
		t.Errorf("while the database is away: %v", err)
	}
	says(t, b, "a", generation(1))
	inDatabase(t, a, "ALTER TABLE away RENAME TO plugin_lock")
	if _, err := b.Remove(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	soon(t, a, "a", "")
}

// Files in the database that are not those that were approved do not serve. A copy that was
// changed on one machine is replaced.
func TestMachinesServeApprovedBytesAlone(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	lay(t, dir, "b", wanting("b", "1", ""), generation(2))
	a := open(dir, nil)
	digest, other := agree(t, a, "a"), agree(t, a, "b")
	var copies string
	b := open(t.TempDir(), func(c *Config) { copies = filepath.Join(filepath.Dir(c.Lock), "approved") })
	says(t, b, "a", generation(1))
	write(t, filepath.Join(copies, digest, "a.wasm"), answering("a", generation(3)))
	reload(t, b)
	says(t, b, "a", generation(1))
	inDatabase(t, a, "UPDATE plugin_files SET data = (SELECT data FROM plugin_files WHERE digest = ? AND name LIKE '%.wasm') WHERE digest = ? AND name LIKE '%.wasm'", other, digest)
	c := open(t.TempDir(), nil)
	says(t, c, "b", generation(2))
	says(t, c, "a", "")
	asks := wanting("b", "1", "hosts = [{ host = \"evil.example\", reason = \"sends it\" }]")
	inDatabase(t, a, "UPDATE plugin_files SET data = ? WHERE digest = ? AND name = 'plugin.toml'", asks, other)
	says(t, open(t.TempDir(), nil), "b", "")
	inDatabase(t, a, "UPDATE plugin_files SET data = 'x' WHERE digest = ?", digest)
	reload(t, c)
	says(t, c, "a", "")
}

// Machines with the same files in other folders change nothing of each other's, and those with
// other files in trusted folders come to serve one of both versions.
func TestMachinesAgree(t *testing.T) {
	open, dirs := machines(t), []string{t.TempDir(), t.TempDir()}
	var hosts []*Host
	for i, dir := range dirs {
		lay(t, dir, "a", wanting("a", "1", ""), generation(1+i))
		lay(t, dir, "pure", manifest("pure", "pure", "pure", ""), generation(7))
		hosts = append(hosts, open(dir, func(c *Config) { c.Folders[0].Trust = plugin.TrustGranted }))
	}
	for _, h := range hosts {
		soon(t, h, "a", generation(2))
		soon(t, h, "pure", generation(7))
	}
	before := revision(t, hosts[0])
	for _, h := range hosts {
		reload(t, h)
		says(t, h, "a", generation(2))
	}
	if now := revision(t, hosts[1]); now != before {
		t.Error("there are more changes")
	}
	var offered string
	for _, h := range hosts {
		if p := info(t, h, "a").Pending; p != nil {
			offered = p.Digest
		}
	}
	if err := hosts[0].Approve(t.Context(), "a", offered, "cli"); err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		soon(t, h, "a", generation(1))
	}
}

// alone approves plugins on a machine without a database, and returns its lock.
func alone(t *testing.T, dir string, approve func(h *Host)) (lock string) {
	t.Helper()
	lock = filepath.Join(t.TempDir(), "weir.lock")
	h := start(t, dir, pin(filepath.Dir(lock), nil))
	approve(h)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return lock
}

// The first machine gives the others what its weir.lock has, with earlier versions. What it no
// longer has in a folder serves nowhere.
func TestMachinesTakeOverALock(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	for i, name := range []string{"a", "b"} {
		lay(t, dir, name, wanting(name, "1", ""), generation(1+i))
	}
	lock := alone(t, dir, func(h *Host) {
		agree(t, h, "a")
		agree(t, h, "b")
		lay(t, dir, "a", wanting("a", "2", ""), generation(3))
		reload(t, h)
		agree(t, h, "a")
	})
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	a, b := open(dir, func(c *Config) { c.Lock = lock }), open(t.TempDir(), nil)
	says(t, b, "a", generation(3))
	for _, h := range []*Host{a, b} {
		says(t, h, "b", "")
	}
	if err := a.Rollback(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	soon(t, b, "a", generation(1))
	if err := b.Rollback(t.Context(), "b", ""); err != nil {
		t.Error("nothing of it is lost:", err)
	}
	soon(t, a, "b", generation(2))
}

// The weir.lock of a machine that comes later has no effect, and is kept.
func TestMachinesKeepALock(t *testing.T) {
	open, dirs := machines(t), []string{t.TempDir(), t.TempDir()}
	var locks []string
	for i, name := range []string{"a", "b"} {
		lay(t, dirs[i], name, wanting(name, "1", ""), generation(1+i))
		locks = append(locks, alone(t, dirs[i], func(h *Host) { agree(t, h, name) }))
	}
	before, err := os.ReadFile(locks[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		h := open(dir, func(c *Config) { c.Lock = locks[i] })
		says(t, h, "a", generation(1))
		says(t, h, "b", "")
	}
	if kept, err := os.ReadFile(locks[1] + ".before-database"); err != nil || string(kept) != string(before) {
		t.Errorf("%q %v", kept, err)
	}
	if _, err := os.Stat(locks[1]); err == nil {
		t.Error("weir.lock has no effect, and is there")
	}
}

// What cannot be stored for all is not approved, and what is approved is not lost.
func TestMachinesGiveAllOrNothing(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	var digest string
	lock := alone(t, dir, func(h *Host) { digest = agree(t, h, "a") })
	b := open(t.TempDir(), nil)
	inDatabase(t, b, `ALTER TABLE plugin_files ADD CONSTRAINT "full" CHECK (digest <> '`+digest+`')`)
	lay(t, dir, "pure", manifest("pure", "pure", "pure", ""), generation(7))
	a := open(dir, func(c *Config) { c.Lock = lock })
	says(t, a, "a", generation(1))
	says(t, a, "pure", "")
	reload(t, b)
	says(t, b, "a", "")
	inDatabase(t, b, `ALTER TABLE plugin_files DROP CONSTRAINT "full"`)
	reload(t, a)
	for _, h := range []*Host{a, b} {
		soon(t, h, "a", generation(1))
		soon(t, h, "pure", generation(7))
	}
}

// A plugin that has another name at its path, or that was removed, serves no longer, whatever
// folders have.
func TestMachinesForget(t *testing.T) {
	open, dirs := machines(t), []string{t.TempDir(), t.TempDir()}
	trust := func(c *Config) { c.Folders[0].Trust = plugin.TrustGranted }
	var hosts []*Host
	for _, dir := range dirs {
		lay(t, dir, "old", manifest("old", "old", "old", ""), generation(1))
		lay(t, dir, "y", manifest("y", "y", "y", ""), generation(2))
		hosts = append(hosts, open(dir, trust))
	}
	write(t, filepath.Join(dirs[0], "old", "new.wasm"), answering("old", generation(1)))
	write(t, filepath.Join(dirs[0], "old", "plugin.toml"), manifest("new", "new", "old", ""))
	reload(t, hosts[0])
	if _, err := hosts[0].Remove(t.Context(), "y", true); err != nil {
		t.Fatal(err)
	}
	lay(t, dirs[1], "y", manifest("y", "y", "y", ""), generation(5)) // another version of what was removed
	for range 3 {
		for _, h := range hosts {
			soon(t, h, "new", generation(1))
			soon(t, h, "old", "")
			soon(t, h, "y", "")
			reload(t, h)
		}
	}
	agree(t, hosts[1], "y")
	soon(t, hosts[0], "y", generation(5))
}
