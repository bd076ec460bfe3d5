package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/jail"
)

// folders creates a folder to grant, with a secret beside it and links to the secret.
func folders(t *testing.T) (granted, secret string) {
	t.Helper()
	root := t.TempDir()
	granted, secret = filepath.Join(root, "granted"), filepath.Join(root, "secret.txt")
	for name, text := range map[string]string{"granted/a.txt": "alpha", "granted/sub/b.txt": "beta", "secret.txt": "SECRET"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"rel": "../secret.txt", "abs": secret, "dir": "..", "in": "sub/b.txt"} {
		if err := os.Symlink(to, filepath.Join(granted, link)); err != nil {
			t.Fatal(err)
		}
	}
	return granted, secret
}

func TestFilesAsAGuestSeesThem(t *testing.T) {
	m := guest(t)
	granted, secret := folders(t)
	ro := Grant{Mounts: []jail.Mount{{Guest: "/workspace", Host: granted}}}
	rw := Grant{Mounts: []jail.Mount{{Guest: "/workspace", Host: granted, Write: true}}}
	for _, row := range []struct {
		name, export, input string
		grant               Grant
		want                string // empty: it must fail
	}{
		{"a file", "cat", "/workspace/a.txt", ro, "alpha"},
		{"a file below", "cat", "/workspace/sub/../sub/b.txt", ro, "beta"},
		{"a link inside", "cat", "/workspace/in", ro, "beta"},
		{"a folder as Go walks it", "walk", "/workspace", ro,
			". d--------- 0\na.txt ---------- 5\nabs L--------- " + strconv.Itoa(len(secret)) + "\ndir L--------- 2\nin L--------- 9\nrel L--------- 13\nsub d--------- 0\nsub/b.txt ---------- 4\n"},
		{"a relative link out", "cat", "/workspace/rel", ro, ""},
		{"an absolute link out", "cat", "/workspace/abs", ro, ""},
		{"through a linked folder", "cat", "/workspace/dir/secret.txt", ro, ""},
		{"by dots", "cat", "/workspace/../secret.txt", ro, ""},
		{"by its real name", "cat", secret, ro, ""},
		{"nothing granted", "cat", "/workspace/a.txt", Grant{}, ""},
		{"write where only reading is granted", "files", "write /workspace/a.txt x", ro, ""},
		{"create there", "files", "write /workspace/n.txt x", ro, ""},
		{"make a folder there", "files", "mkdir /workspace/n", ro, ""},
		{"remove there", "files", "remove /workspace/a.txt", ro, ""},
		{"rename there", "files", "rename /workspace/a.txt /workspace/c.txt", ro, ""},
		{"truncate there", "files", "truncate /workspace/a.txt", ro, ""},
		{"write where granted", "files", "write /workspace/new.txt text of the guest", rw, "ok"},
		{"read it back, in a call of its own", "cat", "/workspace/new.txt", ro, "text of the guest"},
		{"append", "files", "append /workspace/new.txt !", rw, "ok"},
		{"the appended", "cat", "/workspace/new.txt", ro, "text of the guest!"},
		{"truncate", "files", "truncate /workspace/new.txt", rw, "ok"},
		{"the truncated", "cat", "/workspace/new.txt", ro, "tex"},
		{"folders", "files", "mkdir /workspace/x/y", rw, "ok"},
		{"rename", "files", "rename /workspace/new.txt /workspace/x/y/z.txt", rw, "ok"},
		{"remove all", "files", "remove /workspace/x", rw, "ok"},
		{"make a link out", "files", "symlink /workspace/mine ../secret.txt", rw, ""},
		{"make a link inside", "files", "symlink /workspace/mine a.txt", rw, ""},
		{"make a hard link", "files", "link /workspace/mine /workspace/a.txt", rw, ""},
		{"write through a link out", "files", "write /workspace/rel pwned", rw, ""},
		{"create through a linked folder", "files", "write /workspace/dir/new.txt pwned", rw, ""},
		{"rename out", "files", "rename /workspace/a.txt /workspace/dir/a.txt", rw, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, fail := m.Call(t.Context(), Invocation{Export: row.export, Input: []byte(row.input), Grant: row.grant})
			switch {
			case row.want == "" && fail == nil:
				t.Errorf("it worked: %q", out.Bytes)
			case row.want != "" && fail != nil:
				t.Errorf("it failed: %v", fail)
			case row.want != string(out.Bytes):
				t.Errorf("got %q, want %q", out.Bytes, row.want)
			case fail != nil && strings.Contains(fail.Error(), "SECRET"):
				t.Errorf("the secret is in the error: %v", fail)
			}
		})
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "SECRET" {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(granted)); err != nil || len(entries) != 2 {
		t.Errorf("something was made outside: %v, %v", entries, err)
	}
}

func TestAGrantThatDoesNotExist(t *testing.T) {
	m := guest(t)
	_, fail := m.Call(t.Context(), Invocation{Export: "echo", Grant: Grant{Mounts: []jail.Mount{{Guest: "/workspace", Host: "/no/such/folder"}}}})
	if fail == nil || !strings.Contains(fail.Msg, "mount /workspace: cannot open the folder /no/such/folder") {
		t.Errorf("got %v", fail)
	}
}

// A granted folder is replaced between calls: a spare instance does not show the old
// one.
func TestSparesSeeAReplacedFolder(t *testing.T) {
	m := load(t, newEngine(t, Config{Spares: 1}), Plugin{Name: "guest", Wasm: goGuest})
	dir := filepath.Join(t.TempDir(), "work")
	inv := Invocation{Export: "cat", Input: []byte("/w/f"), Grant: Grant{Mounts: []jail.Mount{{Guest: "/w", Host: dir}}}}
	for _, text := range []string{"first", "second", "third"} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := answer(t, m, inv); got != text {
				t.Fatalf("got %q, want %q", got, text)
			}
		}
	}
}
