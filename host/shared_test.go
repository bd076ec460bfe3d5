package host

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
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
			c.Archive.Path, c.Archive.Shared = database, true
			if change != nil {
				change(c)
			}
		})
	}
}

// soon waits until a tool answers with text, for two seconds at most.
func soon(t *testing.T, h *Host, name, text string) {
	t.Helper()
	answer := func() string { return try(t, h.Session("me", "c1"), name, "").Whole() }
	for end := time.Now().Add(2 * time.Second); answer() != text; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s answers %q, want %q; %s", name, answer(), text, states(h))
		}
	}
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

func revision(t *testing.T, h *Host) int64 {
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
	inDatabase(t, a, "UPDATE plugin_files SET data = (SELECT data FROM plugin_files WHERE digest = ?) WHERE digest = ?", other, digest)
	c := open(t.TempDir(), nil)
	says(t, c, "b", generation(2))
	says(t, c, "a", "")
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
		t.Errorf("%d changes more", now-before)
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

// The first machine gives the others what its weir.lock has.
func TestMachinesTakeOverALock(t *testing.T) {
	open, dir, data := machines(t), t.TempDir(), t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	alone := pinned(t, dir, func(c *Config) { c.Lock = filepath.Join(data, "weir.lock") })
	agree(t, alone, "a")
	a := open(dir, func(c *Config) { c.Lock = filepath.Join(data, "weir.lock") })
	says(t, a, "a", generation(1))
	says(t, open(t.TempDir(), nil), "a", generation(1))
}
