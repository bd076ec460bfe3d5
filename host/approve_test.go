package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
)

// wanting is a manifest of a plugin that asks for a folder, in a version.
func wanting(name, version, more string) []byte {
	return fmt.Appendf(nil, "schema = 1\nname = %q\nversion = %q\n[permissions]\npaths = [{ guest = \"/data\", reason = \"reads it\" }]\n%s\n"+
		"[[tool]]\nname = %q\ndescription = \"a tool\"\nexport = %q\n", name, version, more, name, name)
}

// lay writes a plugin whose tool answers with text.
func lay(t testing.TB, dir, name string, manifest []byte, text string) {
	t.Helper()
	write(t, filepath.Join(dir, name, "plugin.toml"), manifest)
	write(t, filepath.Join(dir, name, name+".wasm"), answering(name, text))
}

// pinned opens a host with a lock over a folder that is not trusted. The
// plugins a and b are granted what wanting asks for.
func pinned(t testing.TB, dir string, change func(*Config)) *Host {
	t.Helper()
	return open(t, dir, pin(t.TempDir(), change))
}

// pin returns the change of a configuration to that of a host that pins, with a lock in data.
func pin(data string, change func(*Config)) func(*Config) {
	return func(c *Config) {
		c.Folders[0].Trust = plugin.TrustAsk
		c.Lock = filepath.Join(data, "weir.lock")
		c.Approvals.Default = approval.Allow // no call is asked about here
		g := plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/data", Host: data}}}
		c.Grants = map[string]plugin.Grant{"a": g, "b": g}
		if change != nil {
			change(c)
		}
	}
}

func reload(t testing.TB, h *Host) {
	t.Helper()
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
}

func info(t testing.TB, h *Host, name string) plugin.Info {
	t.Helper()
	for _, p := range h.Plugins() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no plugin %s among %s", name, states(h))
	return plugin.Info{}
}

// agree looks at a plugin and approves what it sees.
func agree(t testing.TB, h *Host, name string) string {
	t.Helper()
	r, err := h.Review(t.Context(), name)
	if err != nil || r.Pending == nil {
		t.Fatalf("nothing of %s waits: %+v, %v", name, r.Plugin, err)
	}
	if err := h.Approve(t.Context(), name, r.Pending.Digest, "cli"); err != nil {
		t.Fatal(err)
	}
	return r.Pending.Digest
}

func code(err error) plugin.Code {
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		return e.Code
	}
	return plugin.Code(fmt.Sprint(err))
}

func says(t testing.TB, h *Host, name, want string) {
	t.Helper()
	if r := try(t, h.Session("me", "c1"), name, ""); r.Whole() != want {
		t.Errorf("%s answers %q (%v), want %q", name, r.Whole(), r.Err, want)
	}
}

func TestWhatAsksWaitsForAPerson(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	lay(t, dir, "pure", manifest("pure", "pure", "pure", ""), generation(7))
	h := pinned(t, dir, nil)
	says(t, h, "pure", generation(7))
	if p := info(t, h, "pure"); p.Approved == nil || p.Approved.By != "asks for nothing" || p.Pending != nil {
		t.Errorf("what asks for nothing is pinned: %+v", p)
	}
	p := info(t, h, "a")
	if p.State != plugin.Pending || p.Pending == nil || !strings.Contains(p.Why.String(), `the folder /data (ro) ("reads it")`) || p.Fix.String() != "look at it and approve it: weir plugin approve a" {
		t.Errorf("%+v", p)
	}
	says(t, h, "a", "")
	if err := h.Approve(t.Context(), "a", info(t, h, "pure").Digest, "cli"); code(err) != plugin.CodeChanged {
		t.Errorf("another digest: %v", err)
	}
	agree(t, h, "a")
	says(t, h, "a", generation(1))
	if p := info(t, h, "a"); p.State != plugin.Ready || p.Pending != nil || p.Approved.By != "cli" || !p.Why.IsZero() {
		t.Errorf("%+v", p)
	}
}

// A change of any plugin waits, also of one that asks for nothing, and what was
// approved serves.
func TestApprovedCopyServesWhileAChangeWaits(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	lay(t, dir, "pure", manifest("pure", "pure", "pure", ""), generation(7))
	h := pinned(t, dir, nil)
	agree(t, h, "a")
	lay(t, dir, "a", append(wanting("a", "2", "hosts = [{ host = \"evil.example\", reason = \"sends it\" }]"),
		"\n[config.units]\ntype = \"string\"\ndefault = \"metric\"\ndescription = \"of lengths\"\n[config.depth]\ntype = \"integer\"\n"...), generation(2))
	lay(t, dir, "pure", manifest("pure", "pure", "pure", ""), generation(8))
	reload(t, h)
	says(t, h, "a", generation(1))
	says(t, h, "pure", generation(7))
	p := info(t, h, "a")
	if p.State != plugin.Ready || p.Version != "1" || p.Pending == nil || p.Pending.Version != "2" || !strings.Contains(p.Source, dir) {
		t.Errorf("%+v", p)
	}
	r, err := h.Review(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, d := range r.Changes {
		rows = append(rows, fmt.Sprintf("%s %s %q→%q %s %t", d.Kind, d.Name, d.Was, d.Is, d.Reason, d.Exceeds))
	}
	text := strings.Join(rows, "\n")
	for _, want := range []string{`power host evil.example ""→"send and receive" sends it true`, `version  "1"→"2"`, "module  ", "manifest  "} {
		if !strings.Contains(text, want) {
			t.Errorf("the difference lacks %s:\n%s", want, text)
		}
	}
	if s := fmt.Sprint(r.Serving.Settings, r.Pending.Settings); s != "[] [{setting units  string, default metric: of lengths  false  0} {setting depth  integer, to be set in tools.toml:   false  0}]" {
		t.Errorf("settings: %s", s)
	}
	agree(t, h, "pure")
	says(t, h, "pure", generation(8))
	// Back to what was approved, nothing waits.
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	reload(t, h)
	if p := info(t, h, "a"); p.Pending != nil || p.State != plugin.Ready {
		t.Errorf("%+v", p)
	}
	os.RemoveAll(filepath.Join(dir, "a"))
	reload(t, h)
	gone := ""
	if pgtest.InPostgres() { // which has its files
		gone = generation(1)
	}
	says(t, h, "a", gone)
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	reload(t, h)
	says(t, h, "a", generation(1)) // and back is back
}

// While somebody swaps the files as fast as they can, no answer ever comes from
// bytes without an approval.
func TestSwapRaces(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	h := pinned(t, dir, nil)
	digest := agree(t, h, "a")
	path := filepath.Join(dir, "a", "a.wasm")
	good, evil := slurp(t, path), answering("a", "evil!!!!")
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := good
			if i%2 == 0 {
				text = evil
			}
			if i%3 == 0 { // torn while it is written
				_ = os.WriteFile(path, text, 0o644)
				continue
			}
			_ = os.WriteFile(path+".new", text, 0o644)
			_ = os.Rename(path+".new", path)
		}
	})
	s := h.Session("me", "c1")
	approved := 0
	for range 500 {
		if err := h.Approve(t.Context(), "a", digest, "cli"); err == nil {
			approved++
		} else if c := code(err); c != plugin.CodeChanged && c != plugin.CodeInvalid && c != plugin.CodeLockUnusable {
			t.Fatal(err)
		}
		if r := try(t, s, "a", ""); r.Whole() != generation(1) && r.Err == nil {
			t.Fatalf("unapproved code ran: %q", r.Whole())
		}
		if p := info(t, h, "a"); p.State == plugin.Ready && p.Digest != digest {
			t.Fatalf("unapproved bytes may run: %+v", p)
		}
	}
	close(stop)
	swapping.Wait()
	if approved == 0 || approved == 500 {
		t.Logf("no race was won: %d of 500 approvals", approved)
	}
	write(t, path, evil)
	reload(t, h)
	says(t, h, "a", generation(1))
}

// What an approved plugin offers is not taken by a newcomer, whether a copy
// serves or the folder.
func TestNewcomerTakesNoToolOfAnApprovedCopy(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "m", manifest("m", "mine", "m", ""), generation(1))
	h := pinned(t, dir, nil)
	lay(t, dir, "m", manifest("m", "mine2", "m", ""), generation(2)) // waits; its copy still has the tool mine
	lay(t, dir, "a", manifest("a", "mine", "a", ""), generation(3))
	reload(t, h)
	if p := info(t, h, "a"); p.State != plugin.Invalid || !strings.Contains(p.Why.String(), `belongs to the plugin m already`) {
		t.Errorf("%+v", p)
	}
	says(t, h, "mine", generation(1))
}

func TestRollbackHoldsUntilTheNextApproval(t *testing.T) {
	dir := t.TempDir()
	h := pinned(t, dir, func(c *Config) { c.Folders[0].Trust = plugin.TrustGranted })
	var digests []string
	for n := 1; n <= 6; n++ {
		lay(t, dir, "a", wanting("a", fmt.Sprint(n), ""), generation(n))
		reload(t, h) // a trusted folder needs no approval
		says(t, h, "a", generation(n))
		digests = append(digests, info(t, h, "a").Digest)
	}
	if err := h.Rollback(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	says(t, h, "a", generation(5))
	lay(t, dir, "a", wanting("a", "7", ""), generation(7))
	reload(t, h)
	says(t, h, "a", generation(5)) // trust does not overrule a person
	if p := info(t, h, "a"); !p.Approved.RolledBack || p.Pending == nil || p.Pending.Version != "7" {
		t.Errorf("%+v", p)
	}
	if err := h.Rollback(t.Context(), "a", digests[2][:8]); err != nil {
		t.Fatal(err)
	}
	says(t, h, "a", generation(3))
	if err := h.Rollback(t.Context(), "a", digests[0]); code(err) != plugin.CodeNoVersion {
		t.Errorf("a version whose copy is gone: %v", err)
	}
	agree(t, h, "a")
	says(t, h, "a", generation(7))
	copies, err := os.ReadDir(filepath.Join(filepath.Dir(h.cfg.Lock), "approved"))
	if err != nil || len(copies) != 4 {
		t.Errorf("%d copies are kept, want the one in force and three others (%v)", len(copies), err)
	}
	lay(t, dir, "a", wanting("a", "8", ""), generation(8))
	reload(t, h)
	says(t, h, "a", generation(8)) // approved again, trust holds again
	if r, err := h.Review(t.Context(), "a"); err != nil || len(r.History) != 8 || !r.History[0].Current || r.History[7].HasCopy {
		t.Errorf("%+v, %v", r.History, err)
	}
}
