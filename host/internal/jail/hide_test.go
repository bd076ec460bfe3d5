package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// TestASecondNameOfAFileElsewhere: a file of the folder that is also one of those that no
// tool may read or change, which lie elsewhere, is neither read nor changed.
func TestASecondNameOfAFileElsewhere(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	for from, to := range map[string]string{"token": "a", "tools.toml": "b", "free": "c"} {
		if err := os.WriteFile(filepath.Join(outside, from), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(outside, from), filepath.Join(inside, to)); err != nil {
			t.Fatal(err)
		}
	}
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true, Hide: []string{filepath.Join(outside, "token")}, Keep: []string{filepath.Join(outside, "tools.toml")}})
	if text, errno := slurp(v, "a", sys.O_RDONLY); errno != sys.EPERM {
		t.Errorf("a second name of a hidden file: %q, %v", text, errno)
	}
	if st, errno := v.Stat("a"); errno != 0 || st.Size != 0 || st.Mtim != 0 {
		t.Errorf("a second name of a hidden file is described: %+v, %v", st, errno)
	}
	for _, name := range []string{"a", "b"} {
		if _, errno := v.OpenFile(name, sys.O_RDWR, 0); errno == 0 {
			t.Errorf("%s can be changed", name)
		}
		if errno := v.Rename(name, "d"); errno == 0 {
			t.Errorf("%s can be moved", name)
		}
	}
	for _, name := range []string{"b", "c"} {
		if text, errno := slurp(v, name, sys.O_RDONLY); errno != 0 || text != "secret" {
			t.Errorf("%s: %q, %v", name, text, errno)
		}
	}
	if f, errno := v.OpenFile("c", sys.O_RDWR, 0); errno != 0 {
		t.Error("a file with a second name cannot be changed:", errno)
	} else {
		f.Close()
	}
}

// hiding opens the folder of tree with in/sub/b, a link to it and in/.env, which
// is not there, hidden.
func hiding(t *testing.T, write bool) (v sys.FS, inside string) {
	t.Helper()
	inside, _ = tree(t)
	for name, target := range map[string]string{"link": "sub/b", "dir": "sub"} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(inside, "sub/b"), filepath.Join(inside, "hard")); err != nil {
		t.Fatal(err)
	}
	// The mount is named by its real path, and the hidden file by a link.
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(inside, alias); err != nil {
		t.Fatal(err)
	}
	hide := []string{filepath.Join(alias, "sub/b"), filepath.Join(inside, ".env"), "/no/such/folder/x"}
	return open(t, Mount{Guest: "/w", Host: inside, Write: write, Hide: hide}), inside
}

func TestHiddenFilesAreNotRead(t *testing.T) {
	for _, write := range []bool{false, true} {
		v, _ := hiding(t, write)
		for _, name := range []string{"sub/b", "./sub/../sub/b", "link", "dir/b", "hard"} {
			if text, errno := slurp(v, name, sys.O_RDONLY); errno != sys.EPERM {
				t.Errorf("write %v: %s: %q, %v", write, name, text, errno)
			}
			if st, errno := v.Stat(name); errno != 0 || st.Size != 0 || st.Mtim != 0 || st.Atim != 0 || st.Ctim != 0 {
				t.Errorf("write %v: %s is described: %+v, %v", write, name, st, errno)
			}
		}
		if st, errno := v.Lstat("sub/b"); errno != 0 || st.Size != 0 || st.Mtim != 0 {
			t.Errorf("write %v: %+v, %v", write, st, errno)
		}
		if st, errno := v.Stat("a"); errno != 0 || st.Size != 5 || st.Mtim == 0 {
			t.Errorf("a file beside them: %+v, %v", st, errno)
		}
		if text, errno := slurp(v, "a", sys.O_RDONLY); errno != 0 || text != "alpha" {
			t.Errorf("a file beside them: %q, %v", text, errno)
		}
	}
}

func TestHiddenFilesAreNotChanged(t *testing.T) {
	v, inside := hiding(t, true)
	for what, errno := range map[string]sys.Errno{
		"truncating":            openErrno(v, "sub/b", sys.O_WRONLY|sys.O_TRUNC),
		"truncating by a link":  openErrno(v, "link", sys.O_WRONLY|sys.O_TRUNC),
		"removing":              v.Unlink("sub/b"),
		"moving away":           v.Rename("sub/b", "c"),
		"moving over":           v.Rename("a", "sub/b"),
		"making a missing one":  openErrno(v, ".env", sys.O_WRONLY|sys.O_CREAT),
		"moving to its place":   v.Rename("a", ".env"),
		"a folder in its place": v.Mkdir(".env", 0),
	} {
		if errno != sys.EPERM {
			t.Errorf("%s: %v", what, errno)
		}
	}
	// Nor is a folder above it moved: another could be put there.
	if errno := v.Rename("sub", "other"); errno != sys.EPERM {
		t.Errorf("moving the folder above: %v", errno)
	}
	if text, err := os.ReadFile(filepath.Join(inside, "sub/b")); err != nil || string(text) != "beta" {
		t.Errorf("the file itself: %q, %v", text, err)
	}
}

func openErrno(v sys.FS, name string, flag sys.Oflag) sys.Errno {
	f, errno := v.OpenFile(name, flag, 0)
	if errno == 0 {
		f.Close()
	}
	return errno
}

// veiled opens a folder with a hidden folder, a hidden place that is not there,
// and a file that may be read only; links lead to them by other ways.
func veiled(t *testing.T) (v sys.FS, inside string) {
	t.Helper()
	inside, _ = tree(t)
	for name, text := range map[string]string{"data/token": "TOKEN", "data/deep/er": "TOKEN", "conf/x": "x", "tools.toml": "grants", "own/.env": "mine", "data2/ok": "ok"} {
		path := filepath.Join(inside, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"l": "data", "ll": "l/deep", "conf/up": "..", "alias": "conf", "lt": "tools.toml"} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(inside, "tools.toml"), filepath.Join(inside, "hard.toml")); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(inside, name) }
	return open(t, Mount{Guest: "/w", Host: inside, Write: true, Hide: []string{in("data"), in("conf/.env"), in("gone/deep/key")}, Keep: []string{in("tools.toml"), "decides.toml"}}), inside
}

func TestHiddenFolders(t *testing.T) {
	v, _ := veiled(t)
	for _, name := range []string{"data", "data/token", "data/deep/er", "l", "l/token", "ll/er", "conf/up/data/token", "alias/up/l/deep/../token", "DATA/token", "./data/./token"} {
		for _, flag := range []sys.Oflag{0, sys.O_DIRECTORY, sys.O_RDWR, sys.O_WRONLY | sys.O_TRUNC} {
			if text, errno := slurp(v, name, flag); errno != sys.EPERM || text != "" {
				t.Errorf("%s by %b: %q, %v", name, flag, text, errno)
			}
		}
	}
	for _, name := range []string{"data2/ok", "alias/x", "conf/up/a", "lt", "tools.toml", "hard.toml", "own/.env"} {
		if text, errno := slurp(v, name, 0); errno != 0 || text == "" {
			t.Errorf("%s: %q, %v", name, text, errno)
		}
	}
}

func TestWhatIsKeptIsNotChanged(t *testing.T) {
	v, inside := veiled(t)
	const create = sys.O_CREAT | sys.O_RDWR
	for what, do := range map[string]func() sys.Errno{
		"into a hidden folder":            func() sys.Errno { return openErrno(v, "data/new", create) },
		"by a link":                       func() sys.Errno { return openErrno(v, "ll/new", create) },
		"a folder in it":                  func() sys.Errno { return v.Mkdir("l/new", 0) },
		"out of it":                       func() sys.Errno { return v.Rename("data/token", "t") },
		"into it by moving":               func() sys.Errno { return v.Rename("a", "l/a") },
		"moving it":                       func() sys.Errno { return v.Rename("data", "other") },
		"over it":                         func() sys.Errno { return v.Rename("own", "data") },
		"removing in it":                  func() sys.Errno { return v.Unlink("conf/up/data/token") },
		"setting its time":                func() sys.Errno { return v.Utimens("data/token", 0, 0) },
		"a missing place":                 func() sys.Errno { return openErrno(v, "conf/.env", create) },
		"a missing place by a link":       func() sys.Errno { return openErrno(v, "alias/.env", create) },
		"a missing place in capitals":     func() sys.Errno { return openErrno(v, "conf/.ENV", create) },
		"a missing place by moving":       func() sys.Errno { return v.Rename("own/.env", "alias/.env") },
		"a folder at a missing place":     func() sys.Errno { return v.Mkdir("alias/up/alias/.env", 0) },
		"a folder in place of its folder": func() sys.Errno { return v.Rename("own", "conf") },
		"its folder away":                 func() sys.Errno { return v.Rename("conf", "c") },
		"a folder where one is missing":   func() sys.Errno { return v.Rename("own", "gone") },
		"below a kept one":                func() sys.Errno { return openErrno(v, "tools.toml", sys.O_WRONLY) },
		"cutting":                         func() sys.Errno { return openErrno(v, "tools.toml", sys.O_TRUNC) },
		"cutting by a link":               func() sys.Errno { return openErrno(v, "lt", sys.O_RDWR|sys.O_TRUNC) },
		"by a hard link":                  func() sys.Errno { return openErrno(v, "hard.toml", sys.O_RDWR) },
		"removing":                        func() sys.Errno { return v.Unlink("tools.toml") },
		"moving away":                     func() sys.Errno { return v.Rename("tools.toml", "t") },
		"moving over":                     func() sys.Errno { return v.Rename("a", "tools.toml") },
		"a kept name anywhere":            func() sys.Errno { return openErrno(v, "own/Decides.toml", create) },
		"a kept name by moving":           func() sys.Errno { return v.Rename("a", "own/decides.toml") },
		"a folder of a kept name":         func() sys.Errno { return v.Mkdir("decides.toml", 0) },
		"the root":                        func() sys.Errno { return v.Rename(".", "x") },
		"onto the root":                   func() sys.Errno { return v.Rename("own", ".") },
		"removing the root":               func() sys.Errno { return v.Rmdir(".") },
	} {
		if errno := do(); errno != sys.EPERM {
			t.Errorf("%s: %v", what, errno)
		}
	}
	for name, want := range map[string]string{"data/token": "TOKEN", "tools.toml": "grants", "own/.env": "mine", "conf/x": "x"} {
		if text, err := os.ReadFile(filepath.Join(inside, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"conf/.env", "conf/.ENV", "gone"} {
		if _, err := os.Lstat(filepath.Join(inside, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	// A link goes without what it names, and the rest stays usable.
	if errno := v.Unlink("l") | v.Mkdir("gone", 0) | v.Rename("own", "mine") | openErrno(v, "conf/y", create); errno != 0 {
		t.Errorf("what is allowed: %v", errno)
	}
}

// TestAMountWithinWhatIsHidden shows nothing at all.
func TestAMountWithinWhatIsHidden(t *testing.T) {
	inside, _ := tree(t)
	for _, hide := range []string{inside, filepath.Dir(inside), "/"} {
		v := open(t, Mount{Guest: "/w", Host: inside, Write: true, Hide: []string{hide}})
		for _, name := range []string{".", "a", "sub/b"} {
			if errno := openErrno(v, name, 0); errno != sys.EPERM {
				t.Errorf("%s with %s hidden: %v", name, hide, errno)
			}
		}
		if errno := v.Mkdir("new", 0); errno != sys.EPERM {
			t.Errorf("with %s hidden: %v", hide, errno)
		}
	}
}

// TestAnExchangedFolder: a guest exchanges a folder for a link between the check of a
// path and the operation on it. Nothing hidden is moved, removed or put in place.
func TestAnExchangedFolder(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"data", "plain"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(dir, "data", "archive.db")
	for _, name := range []string{secret, filepath.Join(dir, "plain", "archive.db"), filepath.Join(dir, "a")} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v := open(t, Mount{Guest: "/w", Host: dir, Write: true, Hide: []string{filepath.Join(dir, "data")}}).(*volume)
	if v.locks("plain/archive.db", true) || v.locks("plain/new", false) {
		t.Fatal("the plain folder is barred")
	}
	if err := os.Rename(filepath.Join(dir, "plain"), filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", filepath.Join(dir, "plain")); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"moving out": v.move("plain/archive.db", "out"),
		"moving in":  v.move("a", "plain/weir.lock"),
		"removing":   v.in("plain/archive.db", true, func(p *parent) error { return p.root.Remove(p.base) }),
		"a time":     v.setTimes("plain/archive.db", 0, 0),
		"a folder":   v.in("plain/new", false, func(p *parent) error { return p.root.Mkdir(p.base, dirPerm) }),
	} {
		if errnoOf(err) != sys.EPERM {
			t.Errorf("%s: %v", what, err)
		}
	}
	if f, err := v.create("plain/made", os.O_CREATE|os.O_WRONLY); errnoOf(err) != sys.EPERM {
		t.Errorf("a file: %v, %v", f, err)
	}
	p, err := v.parentOf("slot", false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if err := os.Symlink("data/new", filepath.Join(dir, "slot")); err != nil {
		t.Fatal(err)
	}
	if f, err := p.create(os.O_CREATE | os.O_WRONLY); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file where a link leads: %v, %v", f, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "data"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "archive.db" {
		t.Errorf("%v, %v", entries, err)
	}
}

// The .env files of other projects hold secrets too: they are hidden wherever they lie,
// unless they are examples, or folders.
func TestFilesOfSecretsAreHidden(t *testing.T) {
	for _, write := range []bool{false, true} {
		inside, _ := tree(t)
		for _, name := range []string{".env", "sub/.env", "sub/.ENV.local", ".env.example", ".envrc", "venv/.env/lib"} {
			path := filepath.Join(inside, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("text"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("sub/.env", filepath.Join(inside, "plain")); err != nil {
			t.Fatal(err)
		}
		for hide, want := range map[string]sys.Errno{EnvFile: sys.EPERM, "": 0} {
			v := open(t, Mount{Guest: "/w", Host: inside, Write: write, Hide: []string{hide}})
			for _, name := range []string{".env", "sub/.env", "sub/.ENV.local", "plain"} {
				if text, errno := slurp(v, name, sys.O_RDONLY); errno != want {
					t.Errorf("write %v, hide %q: %s: %q, %v", write, hide, name, text, errno)
				}
				for _, stat := range []func(string) (wsys.Stat_t, sys.Errno){v.Stat, v.Lstat} {
					if st, errno := stat(name); errno != 0 || name != "plain" && (st.Size == 0 && st.Mtim == 0) != (want != 0) {
						t.Errorf("write %v, hide %q: %s is described: %+v, %v", write, hide, name, st, errno)
					}
				}
			}
			for _, name := range []string{".env.example", ".envrc", "venv/.env/lib"} {
				if text, errno := slurp(v, name, sys.O_RDONLY); errno != 0 || text != "text" {
					t.Errorf("write %v, hide %q: %s: %q, %v", write, hide, name, text, errno)
				}
			}
		}
	}
	set := map[string]string{"WEIR_SHOW_ENV_FILES": "1"}
	if got := EnvFiles(func(name string) (string, bool) { v, ok := set[name]; return v, ok }); len(got) > 0 {
		t.Errorf("%v is hidden though the environment says otherwise", got)
	}
}

// TestANameThatIsExchangedMeanwhile: what was described of a name is told only if the name
// leads to the same plain file when it is opened.
func TestANameThatIsExchangedMeanwhile(t *testing.T) {
	fsys, inside := hiding(t, true)
	v := fsys.(*volume)
	describe := func(name string) fs.FileInfo {
		info, err := os.Stat(filepath.Join(inside, name))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	for _, name := range []string{"plain", "other"} {
		if err := os.WriteFile(filepath.Join(inside, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, described, leads string
		want                   bool
	}{
		{"the same plain file", "plain", "plain", true},
		{"a hidden file when it was described", "sub/b", "plain", false},
		{"a hidden file when it is opened", "plain", "sub/b", false},
		{"another plain file when it was described", "other", "plain", false},
		{"a hidden file at both times", "sub/b", "sub/b", false},
	} {
		if got := v.certain(c.leads, describe(c.described)); got != c.want {
			t.Errorf("%s: certain %v, want %v", c.name, got, c.want)
		}
	}
}
