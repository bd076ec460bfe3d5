package archive

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// frozenEnv is set in a process that mounts a disk in a namespace of its own.
const frozenEnv = "WEIR_ARCHIVE_FROZEN"

const cannotMount = "a file system cannot be mounted"

// An archive on a disk that was mounted read-only opens and is read; every write
// returns why it fails. Where no disk may be mounted, the test simulates one.
func TestReadOnlyDisk(t *testing.T) {
	pgtest.SQLite(t)
	if os.Getenv(frozenEnv) != "" {
		readOnlyDisk(t, true)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestReadOnlyDisk$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), frozenEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM) || strings.Contains(string(out), cannotMount):
		t.Log("this process may not mount a file system")
		readOnlyDisk(t, false)
	case err != nil || !strings.Contains(string(out), "--- PASS: TestReadOnlyDisk"):
		t.Errorf("%v\n%s", err, out)
	}
}

func readOnlyDisk(t *testing.T, mount bool) {
	dir := t.TempDir()
	if mount {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatalf("%s: %v", cannotMount, err)
		}
		if err := syscall.Mount("weir", dir, "tmpfs", 0, "size=4m"); err != nil {
			t.Fatalf("%s: %v", cannotMount, err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	cfg := Config{Path: filepath.Join(dir, "archive.db")}
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	plainText, small := put(t, s, fiveLines), put(t, s, strings.Repeat("small\n", 2000))
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if mount {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	s, err = open(t.Context(), cfg, sqlite.Faults{ReadOnlyDisk: !mount})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, e := range []Entry{plainText, small} {
		if page, err := s.Read(t.Context(), mine, e.UUID, Part{}); err != nil || page.Text != e.Full {
			t.Errorf("reading: %d characters, error %v", page.Chars, err)
		}
	}
	if r, err := s.Search(t.Context(), mine, "two", SearchOptions{}); err != nil || len(r.Hits) != 1 {
		t.Errorf("searching: %+v, error %v", r.Hits, err)
	}
	for name, err := range map[string]error{"Put": func() error { _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "run", Full: "x"}); return err }(),
		"Maintain": s.Maintain(t.Context()), "Drop": s.Drop(t.Context(), mine, small.UUID)} {
		if name == "Maintain" && err == nil {
			continue // there was nothing to do
		}
		if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
