package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/term"
)

// packed is one entry of a tar made by hand.
type packed struct {
	name string
	kind byte
	body string
}

func pack(t *testing.T, head string, entries ...packed) string {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, e := range append([]packed{{"backup.json", tar.TypeReg, head}}, entries...) {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o600, Size: int64(len(e.body))}
		if e.kind != tar.TypeReg {
			h.Size, h.Linkname = 0, e.body
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := tw.Write([]byte(e.body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.gz")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// weirRun runs the command line in this process.
func weirRun(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, term.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Lookup: func(string) (string, bool) { return "", false }})
	return code, errs.String()
}

// entries are the names of a folder, but for the lock.
func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if e.Name() != "lock" {
			out = append(out, e.Name())
		}
	}
	return out
}

const soundHead = `{"format":1,"weir":"test"}`

// What does not belong into a data folder is refused whole: nothing of it is
// written anywhere.
func TestRestoreRefuses(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "archive.db")
	s, err := archive.Open(t.Context(), archive.Config{Path: newer})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
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
	future, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file, says string
	}{
		{"a newer format", pack(t, `{"format":2,"weir":"9.0"}`), "newer weir (9.0)"},
		{"no format", pack(t, `{}`), "no backup"},
		{"a newer archive", pack(t, soundHead, packed{"archive.db", tar.TypeReg, string(future)}), "a newer weir wrote this archive"},
		{"another program's archive", pack(t, soundHead, packed{"archive.db", tar.TypeReg, "hello"}), "not a weir archive"},
		{"a way out", pack(t, soundHead, packed{"../escaped", tar.TypeReg, "x"}), "does not belong"},
		{"an absolute path", pack(t, soundHead, packed{"/escaped", tar.TypeReg, "x"}), "does not belong"},
		{"a link", pack(t, soundHead, packed{"plugins", tar.TypeSymlink, "/etc"}), "does not belong"},
		{"another process's files", pack(t, soundHead, packed{"daemon.json", tar.TypeReg, "{}"}), "does not belong"},
		{"the archive's log", pack(t, soundHead, packed{"archive.db-wal", tar.TypeReg, "x"}), "does not belong"},
	} {
		data := filepath.Join(t.TempDir(), "data")
		code, said := weirRun(t, "--data", data, "restore", c.file)
		if code != term.ExitUsage || !strings.Contains(said, c.says) || strings.Contains(said, ".restore-") {
			t.Errorf("%s: exit %d: %s", c.name, code, said)
		}
		if got := entriesOf(t, data); len(got) > 0 {
			t.Errorf("%s: left behind: %v", c.name, got)
		}
		if got := entriesOf(t, filepath.Dir(data)); !slices.Equal(got, []string{"data"}) {
			t.Errorf("%s: beside the folder: %v", c.name, got)
		}
	}
}

// A backup that is cut anywhere changes nothing.
func TestRestoreOfACutFile(t *testing.T) {
	data := t.TempDir()
	if code, said := weirRun(t, "--data", data, "ask", "hello"); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	file := filepath.Join(t.TempDir(), "b.gz")
	if code, said := weirRun(t, "--data", data, "backup", file); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(entriesOf(t, data))
	for i := range 40 {
		at := i * len(whole) / 40
		cut := filepath.Join(t.TempDir(), "cut.gz")
		if err := os.WriteFile(cut, whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		if code, said := weirRun(t, "--data", data, "restore", "--replace", cut); code != term.ExitUsage || !strings.Contains(said, "damaged") {
			t.Errorf("cut at %d of %d: exit %d: %s", at, len(whole), code, said)
		}
	}
	if after := fmt.Sprint(entriesOf(t, data)); after != before {
		t.Errorf("the folder was %s and is %s", before, after)
	}
	if _, err := archive.Examine(context.Background(), filepath.Join(data, "archive.db")); err != nil {
		t.Error(err)
	}
}
