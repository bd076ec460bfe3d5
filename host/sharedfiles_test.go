package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
)

// A machine that only follows has no more copies than the one that approves.
func TestMachinesDeleteCopies(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	var folders []string
	copies := func(c *Config) { folders = append(folders, filepath.Join(filepath.Dir(c.Lock), "approved")) }
	lay(t, dir, "a", wanting("a", "0", ""), generation(1))
	a, b := open(dir, copies), open(t.TempDir(), copies)
	agree(t, a, "a")
	soon(t, b, "a", generation(1))
	for n := 2; n < 4+lockfile.PreviousCopies; n++ {
		lay(t, dir, "a", wanting("a", "0", ""), generation(n))
		reload(t, a)
		agree(t, a, "a")
		soon(t, b, "a", generation(n))
	}
	for i, want := range []int{lockfile.PreviousCopies + 1, lockfile.PreviousCopies + 1} {
		if have, err := os.ReadDir(folders[i]); err != nil || len(have) != want {
			t.Errorf("machine %d has %d copies: %v", i, len(have), err)
		}
	}
}

// What the first machine approved is not lost if its folder is away, as when its disk is missing:
// all serve the copy.
func TestMachinesKeepWhatIsAway(t *testing.T) {
	open, dir := machines(t), filepath.Join(t.TempDir(), "disk")
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	lock := alone(t, dir, func(h *Host) { agree(t, h, "a") })
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	a, b := open(dir, func(c *Config) { c.Lock = lock }), open(t.TempDir(), nil)
	says(t, a, "a", generation(1))
	says(t, b, "a", generation(1))
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	reload(t, a)
	says(t, a, "a", generation(1))
	if p := info(t, a, "a"); p.Pending != nil {
		t.Errorf("%+v", p.Pending)
	}
}

// A person who leaves while their change is put in force changes nothing of it: the machine
// serves what all serve.
func TestMachinesServeWhatWasSaid(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	a, b := open(dir, nil), open(t.TempDir(), nil)
	agree(t, a, "a")
	soon(t, b, "a", generation(1))
	ctx, leave := context.WithCancel(t.Context())
	if err := b.update(ctx, func(ctx context.Context, snap *registry.Snapshot, l *lockfile.Lock) error {
		leave()
		return b.catalog.Disable("a", "page")(ctx, snap, l)
	}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	soon(t, a, "a", "")
	soon(t, b, "a", "")
	if err := a.Enable(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	soon(t, b, "a", generation(1))
	b.reloading.Lock() // what another one said is read, for example for a review, before it is in force
	if err := a.Disable(t.Context(), "a", "page"); err != nil {
		t.Error(err)
	}
	if _, err := b.lock.Load(); err != nil {
		t.Error(err)
	}
	b.reloading.Unlock()
	soon(t, b, "a", "")
}

// A plugin that has moved, or lies elsewhere on another machine, goes on when another one is put
// where it was.
func TestMachinesHaveOtherPlaces(t *testing.T) {
	open, dir := machines(t), t.TempDir()
	lay(t, dir, "old", manifest("old", "old", "old", ""), generation(1))
	a := open(dir, func(c *Config) { c.Folders[0].Trust = plugin.TrustGranted })
	says(t, a, "old", generation(1))
	if err := os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	reload(t, a)
	write(t, filepath.Join(dir, "old", "new.wasm"), answering("new", generation(2)))
	write(t, filepath.Join(dir, "old", "plugin.toml"), manifest("new", "new", "new", ""))
	for range 2 {
		reload(t, a)
		says(t, a, "new", generation(2))
		says(t, a, "old", generation(1))
	}
}

// A machine whose trusted folder stays at an early version does not bring it back, however many
// others were approved since.
func TestMachinesStayAhead(t *testing.T) {
	open, dirs := machines(t), []string{t.TempDir(), t.TempDir()}
	var hosts []*Host
	for _, dir := range dirs {
		lay(t, dir, "a", wanting("a", "1", ""), generation(1))
		hosts = append(hosts, open(dir, func(c *Config) { c.Folders[0].Trust = plugin.TrustGranted }))
	}
	for n := 2; n < 25; n++ {
		lay(t, dirs[0], "a", wanting("a", "1", ""), generation(n))
		reload(t, hosts[0])
		reload(t, hosts[1])
		for _, h := range hosts {
			says(t, h, "a", generation(n))
		}
	}
}
