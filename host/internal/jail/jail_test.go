package jail

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	"pgregory.net/rapid"
)

// tree makes a folder with files inside and a secret beside it.
func tree(t testing.TB) (inside, outside string) {
	t.Helper()
	root := t.TempDir()
	inside, outside = filepath.Join(root, "in"), filepath.Join(root, "out")
	for path, text := range map[string]string{"in/a": "alpha", "in/sub/b": "beta", "out/secret": "SECRET"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return inside, outside
}

func open(t testing.TB, m Mount) sys.FS {
	t.Helper()
	j, err := Open([]Mount{m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j.Volumes()[0].FS
}

// slurp reads a whole file through the jail.
func slurp(v sys.FS, name string, flag sys.Oflag) (string, sys.Errno) {
	f, errno := v.OpenFile(name, flag, 0)
	if errno != 0 {
		return "", errno
	}
	defer f.Close()
	var out []byte
	buf := make([]byte, 3)
	for {
		n, errno := f.Read(buf)
		if out = append(out, buf[:n]...); n == 0 || errno != 0 {
			return string(out), errno
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	inside, _ := tree(t)
	for _, row := range []struct {
		name   string
		mounts []Mount
		says   string
	}{
		{"a relative guest path", []Mount{{Guest: "workspace", Host: inside}}, "must be absolute and clean"},
		{"a guest path with dots", []Mount{{Guest: "/w/../etc", Host: inside}}, "must be absolute and clean"},
		{"a guest path with a trailing slash", []Mount{{Guest: "/w/", Host: inside}}, "must be absolute and clean"},
		{"no guest path", []Mount{{Host: inside}}, "must be absolute and clean"},
		{"no host folder", []Mount{{Guest: "/w"}}, "mount /w: the host folder is not stated"},
		{"a missing folder", []Mount{{Guest: "/w", Host: inside + "/none"}}, "mount /w: cannot open the folder"},
		{"a file", []Mount{{Guest: "/w", Host: inside + "/a"}}, "not a directory"},
		{"one guest path for two", []Mount{{Guest: "/w", Host: inside}, {Guest: "/w", Host: inside}}, "mount /w: the guest path is used twice"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Open(row.mounts); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	j, err := Open(nil)
	if err != nil || len(j.Volumes()) != 0 || !j.Current() {
		t.Errorf("no mounts: %v", err)
	}
}

func TestReading(t *testing.T) {
	inside, outside := tree(t)
	for link, to := range map[string]string{
		"in-link": "sub/b", "round": "sub/../a", "up": "../out/secret", "abs": filepath.Join(outside, "secret"),
		"updir": "../out", "self": "self", "sub/back": "../a", "rootdir": "/",
	} {
		if err := os.Symlink(to, filepath.Join(inside, link)); err != nil {
			t.Fatal(err)
		}
	}
	v := open(t, Mount{Guest: "/w", Host: inside})
	for _, row := range []struct {
		path  string
		flag  sys.Oflag
		want  string
		errno sys.Errno
	}{
		{"a", 0, "alpha", 0},
		{"/a", 0, "alpha", 0}, // the engine strips the mount's name and may leave the slash
		{"./sub/./b", 0, "beta", 0},
		{"sub/../a", 0, "alpha", 0},
		{"in-link", 0, "beta", 0},
		{"round", 0, "alpha", 0},
		{"sub/back", 0, "alpha", 0},
		{"in-link", sys.O_NOFOLLOW, "", sys.ELOOP},
		{"up", 0, "", sys.EPERM},
		{"abs", 0, "", sys.EPERM},
		{"updir/secret", 0, "", sys.EPERM},
		{"rootdir/etc/passwd", 0, "", sys.EPERM},
		{"self", 0, "", sys.ELOOP},
		{"..", 0, "", sys.EPERM},
		{"../out/secret", 0, "", sys.EPERM},
		{"sub/../../out/secret", 0, "", sys.EPERM},
		{"a\x00b", 0, "", sys.EINVAL},
		{"none", 0, "", sys.ENOENT},
		{"a/b", 0, "", sys.ENOTDIR},
		{"a/", 0, "", sys.ENOTDIR},
		{"a", sys.O_DIRECTORY, "", sys.ENOTDIR},
		{"sub", 0, "", sys.EISDIR},
		{"a", sys.O_RDWR, "", sys.EROFS},
		{"a", sys.O_WRONLY, "", sys.EROFS},
		{"a", sys.O_TRUNC, "", sys.EROFS},
		{"n", sys.O_CREAT, "", sys.EROFS},
		{"sub", sys.O_RDWR, "", sys.EISDIR},
	} {
		if got, errno := slurp(v, row.path, row.flag); got != row.want || errno != row.errno {
			t.Errorf("%q with %b: %q, %v; want %q, %v", row.path, row.flag, got, errno, row.want, row.errno)
		}
	}
	for link, want := range map[string]string{"in-link": "sub/b", "sub/back": "../a", "up": "", "abs": "", "a": ""} {
		if got, errno := v.Readlink(link); got != want || (errno == 0) != (want != "") {
			t.Errorf("Readlink(%s): %q, %v", link, got, errno)
		}
	}
}

func TestStat(t *testing.T) {
	inside, _ := tree(t)
	if err := os.Symlink("../out/secret", filepath.Join(inside, "up")); err != nil {
		t.Fatal(err)
	}
	v := open(t, Mount{Guest: "/w", Host: inside})
	st, errno := v.Stat("a")
	if errno != 0 || st.Size != 5 || !st.Mode.IsRegular() || st.Mtim == 0 {
		t.Errorf("a: %+v, %v", st, errno)
	}
	if st, errno = v.Stat("."); errno != 0 || !st.Mode.IsDir() {
		t.Errorf(".: %+v, %v", st, errno)
	}
	if _, errno = v.Stat("up"); errno != sys.EPERM {
		t.Errorf("stat of a link out: %v", errno)
	}
	if st, errno = v.Lstat("up"); errno != 0 || st.Mode&fs.ModeSymlink == 0 {
		t.Errorf("lstat of a link out: %+v, %v", st, errno)
	}
	if _, errno = v.Stat("../out"); errno != sys.EPERM {
		t.Errorf("stat by dots: %v", errno)
	}
}

func TestFolders(t *testing.T) {
	inside, _ := tree(t)
	v := open(t, Mount{Guest: "/w", Host: inside})
	d, errno := v.OpenFile(".", sys.O_DIRECTORY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	names := func(n int) (out []string) {
		t.Helper()
		for {
			entries, errno := d.Readdir(n)
			if errno != 0 {
				t.Fatal(errno)
			}
			for _, e := range entries {
				out = append(out, e.Name)
				if (e.Type == fs.ModeDir) != (e.Name == "sub") {
					t.Errorf("%s has type %v", e.Name, e.Type)
				}
			}
			if len(entries) == 0 || n <= 0 {
				slices.Sort(out)
				return out
			}
		}
	}
	for _, n := range []int{1, 100, -1} {
		if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
			t.Fatal(errno)
		}
		if got := names(n); !slices.Equal(got, []string{"a", "sub"}) {
			t.Errorf("by %d: %v", n, got)
		}
	}
	if _, errno := d.Read(make([]byte, 1)); errno != sys.EISDIR {
		t.Errorf("reading a folder: %v", errno)
	}
	if _, errno := d.Seek(1, io.SeekStart); errno != sys.EISDIR {
		t.Errorf("seeking in a folder: %v", errno)
	}
	if errno := d.Close() | d.Close(); errno != 0 {
		t.Errorf("closing twice: %v", errno)
	}
	if _, errno := d.Readdir(1); errno != sys.EBADF {
		t.Errorf("reading a closed folder: %v", errno)
	}
}

func TestWriting(t *testing.T) {
	inside, outside := tree(t)
	for link, to := range map[string]string{"up": "../out/secret", "updir": "../out", "new-up": "../out/new"} {
		if err := os.Symlink(to, filepath.Join(inside, link)); err != nil {
			t.Fatal(err)
		}
	}
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	put := func(name, text string, flag sys.Oflag) sys.Errno {
		f, errno := v.OpenFile(name, flag, 0)
		if errno != 0 {
			return errno
		}
		_, errno = f.Write([]byte(text))
		return max(errno, f.Close())
	}
	const create = sys.O_CREAT | sys.O_RDWR
	for _, row := range []struct {
		what  string
		do    func() sys.Errno
		errno sys.Errno
	}{
		{"create", func() sys.Errno { return put("n", "new", create) }, 0},
		{"create what must be new", func() sys.Errno { return put("n", "", create|sys.O_EXCL) }, sys.EEXIST},
		{"append", func() sys.Errno { return put("n", "+", sys.O_WRONLY|sys.O_APPEND) }, 0},
		{"write to what is open for reading", func() sys.Errno { return put("n", "x", 0) }, sys.EBADF},
		{"make a folder", func() sys.Errno { return v.Mkdir("d", 0) }, 0},
		{"make it with a slash", func() sys.Errno { return v.Mkdir("d2/", 0) }, 0},
		{"make it twice", func() sys.Errno { return v.Mkdir("d", 0) }, sys.EEXIST},
		{"rename", func() sys.Errno { return v.Rename("n", "d/n") }, 0},
		{"remove a folder as a file", func() sys.Errno { return v.Unlink("d") }, sys.EISDIR},
		{"remove a file as a folder", func() sys.Errno { return v.Rmdir("d/n") }, sys.ENOTDIR},
		{"remove a folder with something in it", func() sys.Errno { return v.Rmdir("d") }, sys.ENOTEMPTY},
		{"set the folder's time", func() sys.Errno { return v.Utimens(".", 0, 0) }, 0},
		{"set a time", func() sys.Errno { return v.Utimens("d/n", sys.UTIME_OMIT, int64(time.Hour)) }, 0},
		{"remove a file", func() sys.Errno { return v.Unlink("d/n") }, 0},
		{"remove a folder", func() sys.Errno { return v.Rmdir("d") }, 0},
		{"remove a link, not what it names", func() sys.Errno { return v.Unlink("up") }, 0},
		{"write through a link out", func() sys.Errno { return put("new-up", "x", create) }, sys.EPERM},
		{"create through a linked folder", func() sys.Errno { return put("updir/x", "x", create) }, sys.EPERM},
		{"make a folder there", func() sys.Errno { return v.Mkdir("updir/x", 0) }, sys.EPERM},
		{"rename to there", func() sys.Errno { return v.Rename("a", "updir/a") }, sys.EPERM},
		{"rename by dots", func() sys.Errno { return v.Rename("a", "../out/a") }, sys.EPERM},
		{"rename from there", func() sys.Errno { return v.Rename("updir/secret", "s") }, sys.EPERM},
		{"remove there", func() sys.Errno { return v.Unlink("updir/secret") }, sys.EPERM},
		{"set a time there", func() sys.Errno { return v.Utimens("updir/secret", 0, 0) }, sys.EPERM},
		{"link", func() sys.Errno { return v.Link("a", "l") }, sys.EPERM},
		{"symlink", func() sys.Errno { return v.Symlink("a", "l") }, sys.EPERM},
	} {
		if got := row.do(); got != row.errno {
			t.Errorf("%s: %v, want %v", row.what, got, row.errno)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "SECRET" {
		t.Errorf("the secret: %q, %v", b, err)
	}
}

func TestPositions(t *testing.T) {
	inside, _ := tree(t)
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	f, errno := v.OpenFile("a", sys.O_RDWR, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer f.Close()
	buf := make([]byte, 10)
	if n, errno := f.Pread(buf, 2); errno != 0 || string(buf[:n]) != "pha" {
		t.Errorf("Pread: %q, %v", buf[:n], errno)
	}
	if n, errno := f.Pwrite([]byte("X"), 1); errno != 0 || n != 1 {
		t.Errorf("Pwrite: %d, %v", n, errno)
	}
	if at, errno := f.Seek(-1, io.SeekEnd); errno != 0 || at != 4 {
		t.Errorf("Seek: %d, %v", at, errno)
	}
	if errno := f.Truncate(2) | f.Sync() | f.Datasync(); errno != 0 {
		t.Errorf("Truncate, Sync: %v", errno)
	}
	if st, errno := f.Stat(); errno != 0 || st.Size != 2 {
		t.Errorf("Stat: %+v, %v", st, errno)
	}
	for what, errno := range map[string]sys.Errno{
		"a negative Pread": second(f.Pread(buf, -1)), "a negative Pwrite": second(f.Pwrite(buf, -1)),
		"an unknown whence": second(f.Seek(0, 7)), "a negative size": f.Truncate(-1),
	} {
		if errno != sys.EINVAL {
			t.Errorf("%s: %v", what, errno)
		}
	}
	if got, errno := slurp(v, "a", 0); got != "aX" || errno != 0 {
		t.Errorf("the file is now %q, %v", got, errno)
	}
}

func second[A any](_ A, errno sys.Errno) sys.Errno { return errno }

func TestCurrent(t *testing.T) {
	inside, _ := tree(t)
	j, err := Open([]Mount{{Guest: "/w", Host: inside}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if !j.Current() {
		t.Error("not current at once")
	}
	if err := os.Rename(inside, inside+".old"); err != nil {
		t.Fatal(err)
	}
	if j.Current() {
		t.Error("current without its folder")
	}
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if j.Current() {
		t.Error("current with another folder in its place")
	}
}

// TestSwapRace swaps a folder for a link that leads out, over and over, while
// others read through it. A check that is followed by a use would lose.
func TestSwapRace(t *testing.T) {
	inside, outside := tree(t)
	real, link, name := filepath.Join(inside, "real"), filepath.Join(inside, "link"), filepath.Join(inside, "door")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "secret"), []byte("harmless"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			os.Rename(real, name)
			os.Rename(name, real)
			os.Rename(link, name)
			os.Rename(name, link)
		}
	})
	for range 3000 {
		if got, _ := slurp(v, "door/secret", 0); got == "SECRET" {
			t.Fatal("read the file outside")
		}
		if f, errno := v.OpenFile("door/planted", sys.O_CREAT|sys.O_RDWR, 0); errno == 0 {
			f.Close()
		}
	}
	stop.Store(true)
	wg.Wait()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

// TestNoPathLeadsOut makes up paths from the parts that escapes are made of.
func TestNoPathLeadsOut(t *testing.T) {
	inside, outside := tree(t)
	links := map[string]string{"l": "..", "m": "../out", "sub/l": "../..", "abs": outside, "loop": "sub/../l"}
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	part := rapid.SampledFrom([]string{"..", ".", "", "a", "sub", "l", "m", "abs", "loop", "out", "secret", "in", "x\\..\\out", "\u2024\u2024", "%2e%2e"})
	rapid.Check(t, func(rt *rapid.T) {
		for link, to := range links { // an earlier round may have removed some
			name := filepath.Join(inside, link)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				rt.Fatal(err)
			}
			if err := os.Symlink(to, name); err != nil && !errors.Is(err, fs.ErrExist) {
				rt.Fatal(err)
			}
		}
		p := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(rt, "path"), "/")
		if got, _ := slurp(v, p, 0); got == "SECRET" {
			rt.Fatalf("%q leads out", p)
		}
		if st, errno := v.Stat(p); errno == 0 && st.Size == int64(len("SECRET")) {
			rt.Fatalf("%q shows the file outside", p)
		}
		v.Unlink(p)
		v.Rename(p, "sub/moved")
		if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
			rt.Fatalf("%q reached the file outside: %v", p, err)
		}
	})
}
