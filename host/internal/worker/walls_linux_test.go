package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/host/internal/sandbox"
)

// Root's grants are as wide with the walls as without: a tool reads files of root and of
// others, and what it writes has the owner that it had.
func TestRootsFilesThroughAGrant(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may read files of others")
	}
	m := load(t, newPool(t, nil), sandbox.Plugin{Name: "guest", Wasm: goGuest})
	for _, owner := range []int{0, 65531} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.txt")
		put(t, file, "alpha")
		if err := os.Chown(file, owner, owner); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, owner, owner); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, write := range []bool{false, true} {
			grant := sandbox.Grant{Mounts: []jail.Mount{{Guest: "/w", Host: dir, Write: write}}}
			out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "cat", Input: []byte("/w/a.txt"), Grant: grant})
			if fail != nil || string(out.Bytes) != "alpha" {
				t.Errorf("a file of user %d, write %t: %q, %v", owner, write, out.Bytes, fail)
			}
		}
		grant := sandbox.Grant{Mounts: []jail.Mount{{Guest: "/w", Host: dir, Write: true}}}
		for _, op := range []string{
			"append /w/a.txt beta", "truncate /w/a.txt", "write /w/b.txt new", "mkdir /w/d", "rename /w/b.txt /w/c.txt", "rename /w/c.txt /w/d/c.txt",
		} {
			if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "files", Input: []byte(op), Grant: grant}); fail != nil {
				t.Errorf("%s in a folder of user %d: %v", op, owner, fail)
			}
		}
		for name, want := range map[string]int{"a.txt": owner, "d/c.txt": 0} {
			var st syscall.Stat_t
			if err := syscall.Stat(filepath.Join(dir, name), &st); err != nil || int(st.Uid) != want {
				t.Errorf("%s in a folder of user %d belongs to %d, want %d: %v", name, owner, st.Uid, want, err)
			}
		}
	}
}

// A process without access to its own files below /proc, as it is after Hide, renews
// memories by the best way nevertheless, if it opened the table before.
func TestAHiddenProcessRenewsMemories(t *testing.T) {
	c := exec.Command("/proc/self/exe", "role=hidden")
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	out, err := c.CombinedOutput()
	before, after, _ := strings.Cut(string(out), "; ")
	if err != nil || before != "renewed <nil>" || after != before {
		t.Errorf("before and after it is hidden: %q, %v", out, err)
	}
}

// hide prints how memories are renewed before and after the process hides itself.
func hide() {
	method := func(s *memsnap.Space, err error) string {
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint("renewed ", s.Close())
	}
	open := memsnap.Opener()
	fmt.Print(method(memsnap.Open()), "; ")
	if err := confine.Hide(); err != nil {
		fmt.Print(err)
	}
	if _, err := os.ReadFile("/proc/self/environ"); err == nil && os.Geteuid() != 0 {
		fmt.Print("it is not hidden: ")
	}
	fmt.Print(method(open()))
}
