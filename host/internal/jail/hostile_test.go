package jail

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// TestBounds holds what one jail may use at once and together.
func TestBounds(t *testing.T) {
	inside, _ := tree(t)
	j, err := Open([]Mount{{Guest: "/w", Host: inside, Write: true}, {Guest: "/r", Host: inside}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	volumes := j.Volumes()
	w, r := volumes[0].FS, volumes[1].FS
	var opened []sys.File
	for i := range maxOpen {
		f, errno := volumes[i%2].FS.OpenFile("a", 0, 0)
		if errno != 0 {
			t.Fatalf("file %d: %v", i, errno)
		}
		opened = append(opened, f)
	}
	for _, v := range []sys.FS{w, r} {
		if errno := openErrno(v, "a", 0); errno != sys.EAGAIN {
			t.Errorf("one too many: %v", errno)
		}
	}
	for _, f := range opened {
		f.Close()
		f.Close() // gives one place back, not two
	}
	for range 3 * maxOpen { // neither what is closed nor what fails keeps a place
		if errno := openErrno(w, "none", 0); errno != sys.ENOENT {
			t.Fatal(errno)
		}
		if errno := openErrno(w, "sub", sys.O_RDWR); errno != sys.EISDIR {
			t.Fatal(errno)
		}
		if errno := openErrno(w, "a", 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	b := w.(*volume).bounds
	if n := b.open.Load(); n != 0 {
		t.Errorf("%d files count as open", n)
	}
	f, errno := w.OpenFile("big", sys.O_CREAT|sys.O_RDWR, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer f.Close()
	one := []byte("x")
	for what, errno := range map[string]sys.Errno{
		"a hole":         second(f.Pwrite(one, maxWrite)),
		"a far hole":     second(f.Pwrite(one, 1<<62)),
		"beyond the end": second(f.Pwrite(one, 1<<63-1)),
		"a length":       f.Truncate(maxWrite + 1),
		"a long length":  f.Truncate(1 << 62),
	} {
		if errno != sys.EIO {
			t.Errorf("%s: %v", what, errno)
		}
	}
	if _, errno := f.Seek(maxWrite, io.SeekStart); errno != 0 {
		t.Fatal(errno)
	}
	if _, errno := f.Write(one); errno != sys.EIO {
		t.Errorf("writing where it was moved to: %v", errno)
	}
	if _, errno := f.Seek(0, io.SeekStart); errno != 0 {
		t.Fatal(errno)
	}
	b.written.Store(maxWrite - 2)
	for i, want := range []sys.Errno{0, 0, sys.EIO, sys.EIO} {
		if _, errno := f.Write(one); errno != want {
			t.Errorf("byte %d: %v", i, errno)
		}
	}
	if st, errno := f.Stat(); errno != 0 || st.Size != 2 {
		t.Errorf("the file has %d bytes, %v", st.Size, errno)
	}
}

// TestOddNames gives each operation names that are too long, too deep, or
// spelled so that file systems disagree about them.
func TestOddNames(t *testing.T) {
	inside, outside := tree(t)
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	deep := strings.Repeat("d/", maxDepth)
	for name, want := range map[string]sys.Errno{
		strings.Repeat("n", 255):                 0,
		strings.Repeat("n", 256):                 sys.ENAMETOOLONG,
		strings.Repeat("n", maxPath+1):           sys.ENAMETOOLONG,
		strings.Repeat("../", 2000) + "etc/x":    sys.ENAMETOOLONG,
		strings.Repeat("a/../", 200) + "x":       sys.ENAMETOOLONG,
		strings.Repeat("d/", 1000) + "x":         sys.ENAMETOOLONG,
		strings.Repeat("/", 100000) + "x":        sys.ENAMETOOLONG,
		"caf\u00e9":                              0,
		"cafe\u0301":                             0,
		"A\u202egpj.exe":                         0,
		"line\nbreak":                            0,
		"-rf":                                    0,
		"~":                                      0,
		"%2e%2e":                                 0,
		"..%2f..":                                0,
		"...":                                    0,
		"\uff0e\uff0e":                           0,
		strings.Repeat("\U0001f600", 63) + "end": 0,
	} {
		f, errno := v.OpenFile(name, sys.O_CREAT|sys.O_RDWR, 0)
		if errno == 0 {
			f.Close()
		}
		if runtime.GOOS == "linux" && errno != want {
			t.Errorf("%.40q: %v, want %v", name, errno, want)
		}
		for what, errno := range map[string]sys.Errno{
			"stat": second(v.Stat(name)), "lstat": second(v.Lstat(name)), "readlink": second(v.Readlink(name)), "times": v.Utimens(name, 0, 0),
			"to": v.Rename("none", name), "rmdir": v.Rmdir(name), "mkdir": v.Mkdir(name+"/x/y", 0),
		} {
			if want == sys.ENAMETOOLONG && errno == 0 {
				t.Errorf("%s of %.40q", what, name)
			}
		}
	}
	// As deep as it may be, folder by folder, and no deeper.
	path := ""
	for range maxDepth {
		path += "d/"
		if errno := v.Mkdir(path[:len(path)-1], 0); errno != 0 {
			t.Fatalf("%d deep: %v", len(path)/2, errno)
		}
	}
	if text, errno := slurp(v, deep, sys.O_DIRECTORY); errno != sys.EISDIR {
		t.Errorf("%q %v", text, errno)
	}
	if errno := v.Mkdir(deep+"d/d", 0); errno != sys.ENAMETOOLONG {
		t.Errorf("too deep: %v", errno)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

// TestSpecialFiles opens what is neither a file nor a folder, and the doors
// that the system itself has in /proc.
func TestSpecialFiles(t *testing.T) {
	inside, _ := tree(t)
	l, err := net.Listen("unix", filepath.Join(inside, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	for _, flag := range []sys.Oflag{0, sys.O_RDWR, sys.O_WRONLY | sys.O_TRUNC} {
		if errno := openErrno(v, "s", flag); errno == 0 {
			t.Errorf("a socket opens with %b", flag)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	proc := open(t, Mount{Guest: "/p", Host: fmt.Sprintf("/proc/%d", os.Getpid()), Write: true})
	for _, name := range []string{"root/etc/passwd", "cwd/jail.go", "exe", "fd/0", "task/../root/etc/passwd", "map_files", "fd/../root"} {
		if text, errno := slurp(proc, name, 0); text != "" || errno == 0 {
			t.Errorf("%s: %.20q, %v", name, text, errno)
		}
	}
	if target, errno := proc.Readlink("root"); errno != sys.EPERM {
		t.Errorf("readlink: %q, %v", target, errno)
	}
}

// TestAHugeFolder is read in parts and in one, whatever a guest has room for.
func TestAHugeFolder(t *testing.T) {
	inside, _ := tree(t)
	const many = 2500
	for i := range many {
		if err := os.WriteFile(filepath.Join(inside, "sub", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := open(t, Mount{Guest: "/w", Host: inside})
	for _, n := range []int{1, 7, maxBatch, maxBatch + 1, 1 << 30, 0, -1} {
		d, errno := v.OpenFile("sub", sys.O_DIRECTORY, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		seen := map[string]bool{}
		for {
			entries, errno := d.Readdir(n)
			if errno != 0 || n > 0 && len(entries) > n {
				t.Fatalf("by %d: %d entries, %v", n, len(entries), errno)
			}
			for _, e := range entries {
				seen[e.Name] = true
			}
			if n > 0 && len(entries) < n || n <= 0 { // the engine reads this as the end
				break
			}
		}
		if len(seen) != many+1 {
			t.Errorf("by %d: %d names", n, len(seen))
		}
		d.Close()
	}
}

// TestEveryOperationRaces swaps a folder for a link that leads out while every
// operation goes through it. Nothing outside may be read, made, moved or lost.
func TestEveryOperationRaces(t *testing.T) {
	inside, outside := tree(t)
	in := func(name string) string { return filepath.Join(inside, name) }
	if err := os.Mkdir(in("real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../out", in("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(outside, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			os.Rename(in("real"), in("door"))
			os.Rename(in("door"), in("real"))
			os.Rename(in("link"), in("door"))
			os.Rename(in("door"), in("link"))
		}
	})
	for i := range 1000 {
		if text, _ := slurp(v, "door/secret", 0); text == "SECRET" {
			t.Fatal("read the file outside")
		}
		if st, errno := v.Stat("door/secret"); errno == 0 && st.Size == int64(len("SECRET")) {
			t.Fatal("saw the file outside")
		}
		name := fmt.Sprint("door/x", i%5)
		if f, errno := v.OpenFile(name, sys.O_CREAT|sys.O_RDWR|sys.O_TRUNC, 0); errno == 0 {
			f.Write([]byte("mine"))
			f.Close()
		}
		v.Mkdir(name+"d", 0)
		v.Rename(name, name+"r")
		v.Rename("door/secret", "stolen")
		v.Rename("a", "door/secret")
		v.Unlink("door/secret")
		v.Rmdir("door/dir")
		v.Utimens("door/secret", 0, 0)
		os.WriteFile(in("a"), []byte("alpha"), 0o644)
		if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
			t.Fatalf("the file outside: %v", err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 2 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	info, err := os.Stat(filepath.Join(outside, "secret"))
	if text, _ := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(text) != "SECRET" || info.ModTime().Unix() == 0 {
		t.Errorf("the file outside: %q, %v, %v", text, info.ModTime(), err)
	}
}

// TestHiddenFilesRace has two calls of one guest: one swaps a folder of its own
// for a link that the operator made, the other cuts and writes through it.
func TestHiddenFilesRace(t *testing.T) {
	inside, _ := tree(t)
	in := func(name string) string { return filepath.Join(inside, name) }
	for _, dir := range []string{"conf", "mine"} {
		if err := os.Mkdir(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in(dir), "key"), []byte(dir), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("conf", in("link")); err != nil {
		t.Fatal(err)
	}
	m := Mount{Guest: "/w", Host: inside, Write: true, Hide: []string{in("conf")}}
	v, other := open(t, m), open(t, m)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			other.Rename("mine", "door")
			other.Rename("door", "mine")
			other.Rename("link", "door")
			other.Rename("door", "link")
		}
	})
	for range 2000 {
		if text, _ := slurp(v, "door/key", 0); text == "conf" {
			t.Fatal("read what is hidden")
		}
		if f, errno := v.OpenFile("door/key", sys.O_RDWR|sys.O_TRUNC, 0); errno == 0 {
			f.Write([]byte("mine"))
			f.Close()
		}
	}
	stop.Store(true)
	wg.Wait()
	if text, err := os.ReadFile(in("conf/key")); err != nil || string(text) != "conf" {
		t.Errorf("what is hidden is now %q, %v", text, err)
	}
}
