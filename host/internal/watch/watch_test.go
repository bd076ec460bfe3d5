package watch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/internal/testtime"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A reader reads all files of some folders at each report, as a scan would.
type reader struct {
	dirs []string

	mu   sync.Mutex
	told int
	text string
}

func (r *reader) settled(context.Context) time.Duration {
	var all []string
	for _, dir := range r.dirs {
		for _, depth := range []string{"*", "*/*", "*/*/*"} {
			paths, _ := filepath.Glob(filepath.Join(dir, depth))
			for _, p := range paths {
				if b, err := os.ReadFile(p); err == nil {
					rel, _ := filepath.Rel(dir, p)
					all = append(all, rel+"="+string(b))
				}
			}
		}
	}
	slices.Sort(all)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told++
	r.text = strings.Join(all, " ")
	return 0
}

func (r *reader) now() (int, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told, r.text
}

// becomes waits until the last thing told is text.
func (r *reader) becomes(t *testing.T, text string) {
	t.Helper()
	told, got := 0, ""
	if !testtime.Comes(func() bool { told, got = r.now(); return told > 0 && got == text }) {
		t.Fatalf("told %d times, the last time %q; %q is on the disk", told, got, text)
	}
}

// run watches folders until the test ends. Nothing of it may be left then.
func run(t *testing.T, cfg Config) (*Watcher, *reader) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	before := descriptors(t)
	if cfg.Quiet == 0 {
		cfg.Quiet = 30 * time.Millisecond
	}
	w, r := New(cfg), &reader{dirs: cfg.Folders}
	w.slow = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, r.settled) }()
	<-w.Ready()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("it ended with %v", err)
		}
		goleak.VerifyNone(t, ignore)
		if after := descriptors(t); after > before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
	return w, r
}

// descriptors counts the open ones of this process; 0 where that is not told.
func descriptors(t *testing.T) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

// Both ways to see changes must see the same.
func bothWays(t *testing.T, f func(t *testing.T, cfg Config)) {
	t.Run("events", func(t *testing.T) { f(t, Config{}) })
	t.Run("poll", func(t *testing.T) { f(t, Config{Poll: 20 * time.Millisecond}) })
}

func TestChangesAreSeen(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a", "plugin.toml"), "1")
		cfg.Folders = []string{dir}
		_, r := run(t, cfg)
		r.becomes(t, "a/plugin.toml=1")
		write(t, filepath.Join(dir, "a", "a.wasm"), "x")
		r.becomes(t, "a/a.wasm=x a/plugin.toml=1")
		write(t, filepath.Join(dir, "b", "plugin.toml"), "new folder")
		r.becomes(t, "a/a.wasm=x a/plugin.toml=1 b/plugin.toml=new folder")
		write(t, filepath.Join(dir, "b", "params", "p.json"), "below")
		r.becomes(t, "a/a.wasm=x a/plugin.toml=1 b/params/p.json=below b/plugin.toml=new folder")
		write(t, filepath.Join(dir, "tmp"), "renamed over")
		must(t, os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "a", "a.wasm")))
		r.becomes(t, "a/a.wasm=renamed over a/plugin.toml=1 b/params/p.json=below b/plugin.toml=new folder")
		must(t, os.RemoveAll(filepath.Join(dir, "b")))
		r.becomes(t, "a/a.wasm=renamed over a/plugin.toml=1")
		must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")))
		r.becomes(t, "c/a.wasm=renamed over c/plugin.toml=1")
		write(t, filepath.Join(dir, "c", "a.wasm"), "still watched")
		r.becomes(t, "c/a.wasm=still watched c/plugin.toml=1")
		must(t, os.RemoveAll(filepath.Join(dir, "c")))
		write(t, filepath.Join(dir, "c", "plugin.toml"), "made again")
		r.becomes(t, "c/plugin.toml=made again")
		write(t, filepath.Join(dir, "c", "plugin.toml"), "and watched again")
		r.becomes(t, "c/plugin.toml=and watched again")
	})
}

// An old time on a new file is no reason to miss it.
func TestRenameWithTheSameSizeAndTime(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		file, other := filepath.Join(dir, "a.wasm"), filepath.Join(dir, "other")
		write(t, file, "one")
		write(t, other, "two")
		then := time.Unix(1700000000, 0)
		must(t, os.Chtimes(file, then, then))
		must(t, os.Chtimes(other, then, then))
		cfg.Folders = []string{dir}
		_, r := run(t, cfg)
		r.becomes(t, "a.wasm=one other=two")
		must(t, os.Rename(other, file))
		r.becomes(t, "a.wasm=two")
	})
}

func TestLinksAreFollowed(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg Config) {
		dir, elsewhere := t.TempDir(), t.TempDir()
		for _, v := range []string{"v1", "v2"} {
			write(t, filepath.Join(elsewhere, v, "plugin.toml"), v)
			write(t, filepath.Join(elsewhere, v+".wasm"), v)
		}
		must(t, os.Symlink(filepath.Join(elsewhere, "v1"), filepath.Join(dir, "p")))
		must(t, os.Symlink(filepath.Join(elsewhere, "v1.wasm"), filepath.Join(dir, "q.wasm")))
		cfg.Folders = []string{dir}
		_, r := run(t, cfg)
		r.becomes(t, "p/plugin.toml=v1 q.wasm=v1")
		write(t, filepath.Join(elsewhere, "v1", "plugin.toml"), "in its place")
		r.becomes(t, "p/plugin.toml=in its place q.wasm=v1")
		write(t, filepath.Join(elsewhere, "v1.wasm"), "in its place")
		r.becomes(t, "p/plugin.toml=in its place q.wasm=in its place")
		for _, name := range []string{"p", "q.wasm"} {
			to := strings.Replace(name, "p", "v2", 1)
			to = strings.Replace(to, "q", "v2", 1)
			must(t, os.Symlink(filepath.Join(elsewhere, to), filepath.Join(dir, "next")))
			must(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, name)))
		}
		r.becomes(t, "p/plugin.toml=v2 q.wasm=v2")
		write(t, filepath.Join(elsewhere, "v2", "plugin.toml"), "the new one is watched")
		r.becomes(t, "p/plugin.toml=the new one is watched q.wasm=v2")
	})
}

func TestFolderComesAndGoes(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg Config) {
		dir := filepath.Join(t.TempDir(), "not", "there")
		cfg.Folders = []string{dir}
		_, r := run(t, cfg)
		r.becomes(t, "")
		write(t, filepath.Join(dir, "a.wasm"), "here")
		r.becomes(t, "a.wasm=here")
		must(t, os.RemoveAll(dir))
		r.becomes(t, "")
		write(t, filepath.Join(dir, "a.wasm"), "again")
		r.becomes(t, "a.wasm=again")
		must(t, os.Rename(dir, dir+".old"))
		write(t, filepath.Join(dir, "a.wasm"), "another")
		r.becomes(t, "a.wasm=another")
		write(t, filepath.Join(dir, "a.wasm"), "and watched")
		r.becomes(t, "a.wasm=and watched")
	})
}

func TestFilesElsewhereAreWatched(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		deep := filepath.Join(dir, "p", "target", "wasm32-wasip1", "release", "p.wasm")
		write(t, deep, "1")
		write(t, filepath.Join(dir, "p", "plugin.toml"), "x")
		cfg.Folders = []string{dir}
		cfg.More = func() []string { return []string{deep} }
		w, r := run(t, cfg)
		r.becomes(t, "p/plugin.toml=x")
		for i := range 3 {
			told, _ := r.now()
			write(t, deep, strings.Repeat("x", i+2))
			testtime.Until(t, "the change is told", func() bool { now, _ := r.now(); return now > told })
		}
		if still := w.Still(filepath.Join(dir, "p")); still > time.Minute {
			t.Errorf("still for %s", still)
		}
	})
}

func TestManyFilesAtOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		cfg.Folders = []string{dir}
		_, r := run(t, cfg)
		r.becomes(t, "")
		var want []string
		for i := range 200 {
			name := fmt.Sprintf("p%03d", i)
			write(t, filepath.Join(dir, name, "plugin.toml"), name)
			want = append(want, name+"/plugin.toml="+name)
		}
		r.becomes(t, strings.Join(want, " "))
		write(t, filepath.Join(dir, "p199", "plugin.toml"), "the last one is watched")
		want[199] = "p199/plugin.toml=the last one is watched"
		r.becomes(t, strings.Join(want, " "))
	})
}

// A file that is being written is reported when it is complete, and never before.
func TestSlowWriterIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{dirs: []string{dir}}
		w := New(Config{Folders: r.dirs, Poll: 2 * time.Second, Longest: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx, r.settled)
		synctest.Wait()
		f, err := os.Create(filepath.Join(dir, "a.wasm"))
		must(t, err)
		for i := range 100 {
			testtime.Sleep(250 * time.Millisecond)
			synctest.Wait()
			if told, text := r.now(); text != "" {
				t.Fatalf("told %d times, the last time %q, after %d writes", told, text, i)
			}
			_, err := f.WriteString("x")
			must(t, err)
		}
		must(t, f.Close())
		testtime.Sleep(900 * time.Millisecond)
		synctest.Wait()
		if _, text := r.now(); text != "a.wasm="+strings.Repeat("x", 100) {
			t.Errorf("two quiet looks after the last write: %q", text)
		}
		if still := w.Still(filepath.Join(dir, "a.wasm")); still < 300*time.Millisecond {
			t.Errorf("told, and still only for %s", still)
		}
	})
}

// Files that change without pause are reported anyway, but rarely.
func TestRestlessFiles(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{dirs: []string{dir}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go New(Config{Folders: r.dirs, Poll: 2 * time.Second}).Run(ctx, r.settled)
		for range 600 { // a minute
			write(t, filepath.Join(dir, "a.wasm"), strings.Repeat("x", int(time.Now().UnixMilli()/100%7)))
			testtime.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if told, _ := r.now(); told < 8 || told > 14 {
			t.Errorf("told %d times in a minute", told)
		}
	})
}

func TestStill(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "plugin.toml"), "x")
	write(t, filepath.Join(dir, "ab", "plugin.toml"), "x")
	w, r := run(t, Config{Folders: []string{dir}, Poll: time.Hour})
	r.becomes(t, "a/plugin.toml=x ab/plugin.toml=x")
	a, ab := filepath.Join(dir, "a"), filepath.Join(dir, "ab")
	if s := w.Still(a); s < time.Minute {
		t.Errorf("nothing has changed, and it is still for %s", s)
	}
	write(t, filepath.Join(a, "plugin.toml"), "changed, and nobody has looked")
	if s := w.Still(a); s != 0 {
		t.Errorf("it has just changed, and is still for %s", s)
	}
	if s := w.Still(ab); s < time.Minute {
		t.Errorf("its neighbour is still for %s", s)
	}
	if s := w.Still(filepath.Join(dir, "gone")); s < time.Minute {
		t.Errorf("what never was is still for %s", s)
	}
	must(t, os.RemoveAll(ab))
	if s := w.Still(ab); s != 0 {
		t.Errorf("it has just gone, and is still for %s", s)
	}
}

// What builders fill, and what the scan passes over, costs nothing.
func TestWhatIsNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{".git/x.toml", "_old/plugin.toml", "p/node_modules/x.json", "p/target/x.wasm", "p/main.go", "p/a/b/c.toml", "p/.hidden.toml"} {
		write(t, filepath.Join(dir, p), "x")
	}
	write(t, filepath.Join(dir, "p", "plugin.toml"), "x")
	l := look{}
	l.folder(dir, 2)
	var got []string
	for _, p := range slices.Sorted(maps.Keys(l)) {
		rel, _ := filepath.Rel(dir, p)
		got = append(got, filepath.ToSlash(rel))
	}
	if want := ". p p/a p/plugin.toml"; strings.Join(got, " ") != want {
		t.Errorf("seen: %s\nwant: %s", strings.Join(got, " "), want)
	}
}

// A folder with very many files hides neither its newest ones nor those of others, and
// a file that comes or goes beyond the bound is a change.
func TestLookIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxHere + 100 {
		write(t, filepath.Join(dir, fmt.Sprintf("a%d.wasm", i)), "")
		write(t, filepath.Join(dir, "heap", fmt.Sprintf("%d.toml", i)), "")
		must(t, os.Mkdir(filepath.Join(dir, "heap", fmt.Sprint(i)), 0o755))
	}
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(dir, "a7.wasm"), old, old))
	must(t, os.Chtimes(filepath.Join(dir, "heap"), time.Now(), time.Now()))
	good := filepath.Join(dir, "zz", "plugin.toml")
	write(t, good, "x")
	see := func() look {
		l := look{}
		l.folder(dir, 2)
		return l
	}
	before := see()
	if _, ok := before[good]; !ok || len(before) > 3*maxHere {
		t.Errorf("%d files and folders are seen, the good one: %t", len(before), ok)
	}
	if n := len(before.changes(see())); n != 0 {
		t.Errorf("%d changes without one", n)
	}
	must(t, os.Remove(filepath.Join(dir, "a7.wasm")))
	must(t, os.Chtimes(dir, old, old)) // whatever the clock of the file system counts
	if !before.changes(see())[dir] {
		t.Error("a file that went is not seen")
	}
	w := New(Config{Folders: []string{dir}})
	w.seen = see()
	for _, path := range []string{"a7.wasm", "a8.wasm", "heap", "heap/7"} {
		if w.Still(filepath.Join(dir, path)) == 0 {
			t.Errorf("%s changes now", path)
		}
	}
}
