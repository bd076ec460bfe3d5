package jail

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func TestEverywhere(t *testing.T) {
	ms := mountsOf(`20 1 8:1 / / rw,relatime - ext4 /dev/sda rw
21 20 8:1 /home/ann/data /var/lib/weir rw - ext4 /dev/sda rw
22 20 8:1 /home/ann /work\040space ro shared:1 - ext4 /dev/sda rw
23 20 8:2 /home/ann /other rw - ext4 /dev/sdb rw
24 20 8:1 /home/ann/data/approved /copies rw - ext4 /dev/sda rw
`)
	for path, want := range map[string][]string{
		"/var/lib/weir/token": {"/home/ann/data/token", "/work space/data/token"},
		"/var/lib/weir":       {"/home/ann/data", "/work space/data", "/copies"},
		"/etc/passwd":         nil,
		"/other/data/token":   nil,
		"tools.toml":          nil,
	} {
		if got := everywhere(ms, []string{path}); !slices.Equal(got, append([]string{path}, want...)) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestAFolderMountedTwice: what is hidden stays hidden where it is mounted a second time.
func TestAFolderMountedTwice(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with its mounts
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	dir := t.TempDir()
	data, work := filepath.Join(dir, "data"), filepath.Join(dir, "work", "deep", "er")
	for _, d := range []string{data, work} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	token := filepath.Join(data, "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skip(err)
	}
	if err := syscall.Mount(data, work, "", syscall.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	v := open(t, Mount{Guest: "/w", Host: filepath.Join(dir, "work"), Write: true, Hide: Everywhere([]string{data})}).(*volume)
	for _, name := range []string{"deep/er/token", "deep/er"} {
		if errno := openErrno(v, name, 0); errno != sys.EPERM {
			t.Errorf("%s: %v", name, errno)
		}
	}
	if errno := openErrno(v, "deep/er/new", sys.O_CREAT|sys.O_RDWR); errno != sys.EPERM {
		t.Errorf("a new file: %v", errno)
	}
	if err := syscall.Unmount(work, syscall.MNT_DETACH); err != nil {
		t.Error(err)
	}
}
