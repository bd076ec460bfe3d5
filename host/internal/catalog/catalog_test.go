package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A rack is a plugin folder with a catalog over it. The plugins a and b are granted the
// folder /data.
type rack struct {
	*testing.T
	*Catalog
	dir, lock string
	trust     plugin.Trust
	now       time.Time
	log       strings.Builder
}

func newRack(t *testing.T) *rack {
	t.Helper()
	s := &rack{T: t, dir: t.TempDir(), lock: filepath.Join(t.TempDir(), "weir.lock"), trust: plugin.TrustAsk, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	a, err := archive.Open(t.Context(), archive.Config{Path: filepath.Join(t.TempDir(), "archive.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	log := hclog.New(&hclog.LoggerOptions{Output: &s.log})
	store, err := sharedlock.Open(t.Context(), a.DB(), s.lock, "", log)
	if err != nil {
		t.Fatal(err)
	}
	data := plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/data", Host: t.TempDir()}}}
	s.Catalog = New(Config{
		Store:    store,
		Resolver: func() grant.Resolver { return grant.Resolver{Grants: map[string]plugin.Grant{"a": data, "b": data}} },
		Options:  func() registry.Options { return registry.Options{} },
		Limits:   func(spec tool.Spec, _ *registry.Plugin) plugin.ToolInfo { return plugin.ToolInfo{Spec: spec} },
		Now:      func() time.Time { s.now = s.now.Add(time.Minute); return s.now },
		Log:      log,
	})
	return s
}

const (
	nothing = ""
	data    = "[permissions]\npaths = [{ guest = \"/data\", reason = \"reads it\" }]\n"
	evil    = data + "hosts = [{ host = \"evil.example\", reason = \"sends it\" }]\n"
)

// lay writes a plugin into a folder: its module is of a version, its manifest says another
// one and what it asks for.
func (s *rack) lay(folder, name, asks, version string, module byte) {
	s.Helper()
	s.write(filepath.Join(s.dir, folder, "plugin.toml"), fmt.Sprintf("schema = 1\nname = %q\nversion = %q\nwasm = \"a.wasm\"\n%s\n[[tool]]\nname = %q\ndescription = \"a tool\"\nexport = \"f\"\n", name, version, asks, name))
	s.write(filepath.Join(s.dir, folder, "a.wasm"), string(wasmtest.Exporting("f", wasmtest.I32Const, module)))
}

func (s *rack) write(path, text string) {
	s.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *rack) scan() *registry.Snapshot {
	snap := registry.Scan(s.Context(), []plugin.Folder{{Path: s.dir, Trust: s.trust}}, registry.Options{Known: s.KnownSources()})
	s.RenameInvalid(snap)
	return snap
}

// decide returns what runs and what waits: a line for each plugin, by name.
func (s *rack) decide() string {
	d := s.Decide(s.Context(), s.scan())
	var lines []string
	for _, e := range d.Entries {
		line := e.Name + ":"
		if e.Plugin != nil {
			line += " runs " + e.Plugin.Manifest.Version
		}
		if p := e.pendingVersion(); p != nil {
			line += strings.TrimRight(fmt.Sprintf(" waits %s %s", p.Cause, p.Version), " ")
		}
		if e.Blocked() && e.Plugin != nil {
			line += " blocked"
		}
		lines = append(lines, line)
	}
	for _, r := range d.Refused {
		lines = append(lines, r.Name+": refused")
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// entry returns the entry of a plugin.
func (s *rack) entry(name string) *Entry {
	s.Helper()
	for _, e := range s.Decide(s.Context(), s.scan()).Entries {
		if e.Name == name {
			return e
		}
	}
	s.Fatalf("there is no %s", name)
	return nil
}

func (s *rack) do(c Change) plugin.Code {
	err := s.Update(s.Context(), s.scan(), c)
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		if e.Msg.IsZero() || e.Hint.IsZero() {
			s.Errorf("an error without a sentence or a way out: %+v", e)
		}
		return e.Code
	}
	if err != nil {
		s.Error(err)
	}
	return ""
}

// agree approves what waits.
func (s *rack) agree(name string) (digest string) {
	s.Helper()
	e := s.entry(name)
	if e.Offered == nil {
		s.Fatalf("nothing of %s waits", name)
	}
	if code := s.do(s.Approve(name, e.Offered.Digest(), "cli")); code != "" {
		s.Fatal(code)
	}
	return e.Offered.Digest()
}

// damage approves a plugin, changes it, and changes a file of its copy.
func (s *rack) damage(name string) {
	s.Helper()
	s.lay("a", "a", data, "1", 1)
	s.agree("a")
	copies, err := filepath.Glob(filepath.Join(filepath.Dir(s.lock), "approved", "*", name))
	if err != nil || len(copies) != 1 {
		s.Fatal(copies, err)
	}
	b, err := os.ReadFile(copies[0])
	if err != nil {
		s.Fatal(err)
	}
	if name == "a.wasm" {
		b = wasmtest.Exporting("f", wasmtest.I32Const, 9)
	}
	s.write(copies[0], strings.Replace(string(b), "a tool", "a fool", 1))
	s.lay("a", "a", data, "2", 2)
}

// What runs and what waits, after what somebody did with the folder.
func TestWhatRunsAndWhatWaits(t *testing.T) {
	for _, tt := range []struct {
		does string
		do   func(s *rack)
		want string
	}{
		{"new, and asks", func(s *rack) { s.lay("a", "a", data, "1", 1) }, "a: waits new 1"},
		{"new, and asks for nothing", func(s *rack) { s.lay("a", "a", nothing, "1", 1) }, "a: runs 1"},
		{"a trusted folder", func(s *rack) { s.trust = plugin.TrustGranted; s.lay("a", "a", data, "1", 1) }, "a: runs 1"},
		{"a trusted folder, but not granted", func(s *rack) { s.trust = plugin.TrustGranted; s.lay("a", "a", evil, "1", 1) }, "a: waits wider 1"},
		{"approved", func(s *rack) { s.lay("a", "a", data, "1", 1); s.agree("a") }, "a: runs 1"},
		{"changed", func(s *rack) { s.lay("a", "a", data, "1", 1); s.agree("a"); s.lay("a", "a", data, "2", 2) }, "a: runs 1 waits changed 2"},
		{"changed, and asks for nothing", func(s *rack) { s.lay("a", "a", nothing, "1", 1); s.decide(); s.lay("a", "a", nothing, "2", 2) }, "a: runs 1 waits changed 2"},
		{"changed in a trusted folder", func(s *rack) {
			s.trust = plugin.TrustGranted
			s.lay("a", "a", data, "1", 1)
			s.decide()
			s.lay("a", "a", data, "2", 2)
		}, "a: runs 2"},
		{"a wider ask in a trusted folder", func(s *rack) {
			s.trust = plugin.TrustGranted
			s.lay("a", "a", data, "1", 1)
			s.decide()
			s.lay("a", "a", evil, "2", 2)
		}, "a: runs 1 waits wider 2"},
		{"changed and changed back", func(s *rack) {
			s.lay("a", "a", data, "1", 1)
			s.agree("a")
			s.lay("a", "a", data, "2", 2)
			s.decide()
			s.lay("a", "a", data, "1", 1)
		}, "a: runs 1"},
		{"moved", func(s *rack) {
			s.lay("a", "a", data, "1", 1)
			s.agree("a")
			os.RemoveAll(filepath.Join(s.dir, "a"))
			s.lay("elsewhere", "a", data, "1", 1)
		}, "a: runs 1 waits moved 1"},
		{"another name at its path", func(s *rack) {
			s.lay("a", "a", nothing, "1", 1)
			s.decide()
			s.lay("a", "other", nothing, "1", 1)
		}, "a: runs 1 waits replaced; other: waits replaced 1"},
		{"another name at its path, approved", func(s *rack) {
			s.lay("a", "a", nothing, "1", 1)
			s.decide()
			s.lay("a", "other", nothing, "1", 1)
			s.agree("other")
		}, "other: runs 1"},
		{"broken", func(s *rack) {
			s.lay("a", "a", data, "1", 1)
			s.agree("a")
			s.write(filepath.Join(s.dir, "a", "plugin.toml"), "schema = \n")
		}, "a: runs 1 waits broken"},
		{"gone", func(s *rack) {
			s.lay("a", "a", data, "1", 1)
			s.agree("a")
			os.RemoveAll(filepath.Join(s.dir, "a"))
		}, ""},
		{"disabled", func(s *rack) { s.lay("a", "a", nothing, "1", 1); s.decide(); s.do(s.Disable("a", "page")) }, "a: runs 1 blocked"},
		{"enabled", func(s *rack) {
			s.lay("a", "a", nothing, "1", 1)
			s.do(s.Disable("a", "page"))
			s.do(s.Enable("a"))
		}, "a: runs 1"},
		{"removed, and still in the folder", func(s *rack) {
			s.lay("a", "a", data, "1", 1)
			s.agree("a")
			s.do(s.Remove("a", nil))
		}, "a: waits new 1"},
		{"rolled back, in a trusted folder", func(s *rack) {
			s.trust = plugin.TrustGranted
			for n := range byte(3) {
				s.lay("a", "a", data, fmt.Sprint(n+1), n+1)
				s.decide()
			}
			s.do(s.Rollback("a", ""))
		}, "a: runs 2 waits held 3"},
		{"rolled back, then approved", func(s *rack) {
			s.trust = plugin.TrustGranted
			for n := range byte(3) {
				s.lay("a", "a", data, fmt.Sprint(n+1), n+1)
				s.decide()
			}
			s.do(s.Rollback("a", ""))
			s.agree("a")
		}, "a: runs 3"},
		{"changed, and the module of the copy is damaged", func(s *rack) { s.damage("a.wasm") }, "a: waits changed 2"},
		{"changed, and the manifest of the copy is damaged", func(s *rack) { s.damage("plugin.toml") }, "a: waits changed 2"},
		{"the lock cannot be read", func(s *rack) { s.lay("a", "a", nothing, "1", 1); s.write(s.lock, "{") }, "a: waits unpinned 1"},
		{"no lock", func(s *rack) { s.cfg.Store = nil; s.lay("a", "a", evil, "1", 1) }, "a: runs 1"},
		{"an invalid plugin that claims a name", func(s *rack) {
			s.lay("a", "a", nothing, "1", 1)
			s.lay("b", "a", nothing, "2", 2)
			s.write(filepath.Join(s.dir, "b", "a.wasm"), "no module")
		}, "a: runs 1; b: refused"},
	} {
		t.Run(tt.does, func(t *testing.T) {
			s := newRack(t)
			tt.do(s)
			for range 2 { // and again the same
				if got := s.decide(); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			}
		})
	}
}

// What of an approved plugin has changed is said.
func TestWhatHasChanged(t *testing.T) {
	for want, change := range map[string]func(s *rack){
		"its manifest has changed since it was approved":                        func(s *rack) { s.lay("a", "a", data, "2", 1) },
		"its module has changed since it was approved":                          func(s *rack) { s.lay("a", "a", data, "1", 2) },
		"its module and its manifest have changed since they were approved":     func(s *rack) { s.lay("a", "a", data, "2", 2) },
		"a person rolled back to version (unnamed), which stays until the next": nil,
	} {
		s := newRack(t)
		if change == nil {
			s.lay("a", "a", data, "", 1)
			s.agree("a")
			s.lay("a", "a", data, "2", 2)
			s.agree("a")
			s.do(s.Rollback("a", ""))
		} else {
			s.lay("a", "a", data, "1", 1)
			s.agree("a")
			change(s)
		}
		if e := s.entry("a"); !strings.Contains(e.why.String(), want) || !strings.Contains(e.fix.String(), "weir plugin approve a") {
			t.Errorf("got %s (%s), want %s", e.why, e.fix, want)
		}
	}
}

// Who has approved a version is kept.
func TestWhoApproved(t *testing.T) {
	s := newRack(t)
	s.lay("pure", "pure", nothing, "1", 1)
	s.lay("a", "a", data, "1", 1)
	s.agree("a")
	s.trust = plugin.TrustGranted
	s.lay("b", "b", data, "1", 1)
	for name, want := range map[string]string{"pure": byRule, "a": "cli", "b": byTrust} {
		var info plugin.Info
		if s.entry(name).FillInfo(&info); info.Approved == nil || info.Approved.By != want || info.Pending != nil || info.Digest == "" {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

// Each byte that changes, of the module and of the manifest, keeps the new bytes from
// running until somebody approves them.
func TestEveryByteCounts(t *testing.T) {
	s := newRack(t)
	s.lay("a", "a", data, "1", 1)
	digest := s.agree("a")
	for _, name := range []string{"a.wasm", "plugin.toml"} {
		path := filepath.Join(s.dir, "a", name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			changed := slices.Clone(whole)
			changed[i] ^= 1 << (i % 7)
			s.write(path, string(changed))
			for _, e := range s.Decide(t.Context(), s.scan()).Entries {
				if e.Plugin != nil && e.Plugin.Digest() != digest {
					t.Fatalf("byte %d of %s: unapproved bytes may run: %+v", i, name, e)
				}
				if e.Plugin != nil && e.pendingVersion() == nil {
					t.Fatalf("byte %d of %s: nobody is told of the change: %+v", i, name, e)
				}
			}
		}
		s.write(path, string(whole))
	}
	if got := s.decide(); got != "a: runs 1" {
		t.Error(got)
	}
}

// What a person asks for that cannot be is refused, and changes nothing.
func TestRefusedChanges(t *testing.T) {
	s := newRack(t)
	var digests []string
	for n := range byte(6) {
		s.lay("a", "a", data, fmt.Sprint(n+1), n+1)
		digests = append(digests, s.agree("a"))
	}
	s.lay("bad", "bad", nothing, "1", 1)
	s.write(filepath.Join(s.dir, "bad", "a.wasm"), "no module")
	before := s.decide()
	lock, err := os.ReadFile(s.lock)
	if err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		change Change
		code   plugin.Code
	}{
		"approve what was not shown":     {s.Approve("a", digests[0], "cli"), plugin.CodeChanged},
		"approve what is broken":         {s.Approve("bad", digests[0], "cli"), plugin.CodeInvalid},
		"approve nobody":                 {s.Approve("c", digests[0], "cli"), plugin.CodeUnknown},
		"roll back nobody":               {s.Rollback("c", ""), plugin.CodeUnknown},
		"roll back what was no plugin":   {s.Rollback("bad", ""), plugin.CodeInvalid},
		"roll back to too few digits":    {s.Rollback("a", digests[4][:5]), plugin.CodeNoVersion},
		"roll back to what is not there": {s.Rollback("a", "ffffffff"), plugin.CodeNoVersion},
		"roll back to a deleted copy":    {s.Rollback("a", digests[0]), plugin.CodeNoVersion},
		"disable nobody":                 {s.Disable("c", "page"), plugin.CodeUnknown},
		"enable nobody":                  {s.Enable("c"), plugin.CodeUnknown},
		"remove nobody":                  {s.Remove("c", nil), plugin.CodeUnknown},
	} {
		if code := s.do(tt.change); code != tt.code {
			t.Errorf("%s: %s, want %s", what, code, tt.code)
		}
	}
	if now, err := os.ReadFile(s.lock); err != nil || string(now) != string(lock) || s.decide() != before {
		t.Errorf("something has changed: %v", err)
	}
	if code := s.do(s.Rollback("a", digests[4][:6])); code != "" || s.decide() != "a: runs 5 waits held 6; bad: refused" {
		t.Errorf("%s %s", code, s.decide())
	}
	s.write(s.lock, "{")
	if code := s.do(s.Enable("a")); code != plugin.CodeLockUnusable {
		t.Errorf("a lock that cannot be read: %s", code)
	}
	s.cfg.Store = nil
	if code := s.do(s.Enable("a")); code != plugin.CodeLockUnusable {
		t.Errorf("no lock: %s", code)
	}
}

// The copies of the version in force and of some before it are kept.
func TestCopiesAreKept(t *testing.T) {
	s := newRack(t)
	for n := range byte(8) {
		s.lay("a", "a", data, fmt.Sprint(n+1), n+1)
		s.agree("a")
	}
	copies, err := os.ReadDir(filepath.Join(filepath.Dir(s.lock), "approved"))
	if err != nil || len(copies) != 4 {
		t.Errorf("%d copies are kept, want the one in force and three others (%v)", len(copies), err)
	}
	r := s.Review(plugin.Info{Name: "a"}, s.entry("a"))
	if len(r.History) != 8 || !r.History[0].Current || r.History[7].HasCopy || r.Serving == nil || r.Pending != nil {
		t.Errorf("%+v", r)
	}
}

// A name that nobody has gets those that are near.
func TestNearNames(t *testing.T) {
	s := newRack(t)
	s.lay("search", "search", nothing, "1", 1)
	s.decide()
	for name, want := range map[string]string{"serach": "did you mean search?", "zzz": "weir plugin list"} {
		e, ok := errors.AsType[*plugin.Error](s.Unknown(s.scan(), name))
		if !ok || e.Code != plugin.CodeUnknown || !strings.Contains(e.Hint.String(), want) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	os.RemoveAll(filepath.Join(s.dir, "search"))
	if e, ok := errors.AsType[*plugin.Error](s.Unknown(s.scan(), "search")); !ok || !strings.Contains(e.Hint.String(), "weir plugin remove search") {
		t.Errorf("%+v", e)
	}
}

// The files of a plugin are deleted, with its folder if nothing else is in it. Of a folder
// that is a link, the link is.
func TestRemoveFiles(t *testing.T) {
	s := newRack(t)
	for _, name := range []string{"alone", "beside", "theirs"} {
		s.lay(name, name, nothing, "1", 1)
	}
	s.write(filepath.Join(s.dir, "beside", "notes.txt"), "mine")
	theirs := filepath.Join(t.TempDir(), "work")
	if err := errors.Join(os.Rename(filepath.Join(s.dir, "theirs"), theirs), os.Symlink(theirs, filepath.Join(s.dir, "theirs"))); err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string][]string{"alone": nil, "beside": {filepath.Join(s.dir, "beside", "notes.txt")}, "theirs": {theirs}} {
		var paths []string
		if code := s.do(s.Remove(name, &paths)); code != "" {
			t.Fatal(code)
		}
		removed, err := RemoveFiles(paths)
		if err != nil || len(removed.Files) == 0 || removed.Link != (name == "theirs") {
			t.Errorf("%s: %+v %v", name, removed, err)
		}
		for _, path := range left {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Lstat(filepath.Join(s.dir, name)); (err == nil) != (name == "beside") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
