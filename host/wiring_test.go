package host

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// What a plugin asks for, what it is granted and what it reaches, through a
// real guest and a real server.
func TestNetworkGrant(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "key %q", r.Header.Get("X-Key"))
	}))
	defer server.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "not for you") }))
	defer other.Close()
	manifest := fmt.Sprintf(`schema = 1
name = "notes"
[permissions]
hosts = [{ host = "http://127.0.0.1:*", reason = "asks it" }]
secrets = [{ name = "KEY", header = "X-Key", host = %q, reason = "pays" }]
[[tool]]
name = "note"
description = "d"
format = "mcp"
`, server.URL)
	dir := t.TempDir()
	place(t, dir, "notes", []byte(manifest))
	secret := func(name string) (string, bool) { return "sesame-sesame", name == "KEY" }
	fetch := func(url string) string { return fmt.Sprintf(`{"what":"fetch","file":%q}`, url) }

	h := open(t, dir, func(c *Config) { c.Secret = secret })
	if p := h.Plugins()[0]; p.State != plugin.Pending || !strings.Contains(p.Fix.String(), `hosts = ["http://127.0.0.1:*"] and secrets = ["KEY"]`) {
		t.Errorf("nothing granted: %s: %s → %s", p.State, p.Why, p.Fix)
	}
	h = open(t, dir, func(c *Config) {
		c.Secret = secret
		c.Grants = map[string]plugin.Grant{"notes": {Hosts: []plugin.HostGrant{{Host: server.URL}}, Secrets: []string{"KEY"}}}
	})
	s := h.Session("me", "c1").ByPerson()
	// The secret reaches the server, and what comes back of it is blotted out.
	if r := call(t, s, "note", fetch(server.URL)); !strings.HasPrefix(r.Whole(), "key ") || strings.Contains(r.Whole(), "sesame") || r.Whole() == `key ""` {
		t.Errorf("the granted host: %q", r.Whole())
	}
	r := try(t, s, "note", fetch(other.URL))
	if r.Err == nil || r.Err.Code != tool.Denied || strings.Contains(r.Whole(), "not for you") {
		t.Errorf("a host that is asked for and not granted: %q, %v", r.Whole(), r.Err)
	}
}

func TestPackedPlugin(t *testing.T) {
	name, text := "weir.manifest", string(manifest("packed", "packed", "echo", ""))
	body := append(binary.AppendUvarint(nil, uint64(len(name))), name+text...)
	wasm := slurp(t, filepath.Join(guests, "probe.wasm"))
	wasm = append(append(wasm, 0), append(binary.AppendUvarint(nil, uint64(len(body))), body...)...)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "anything.wasm"), wasm)
	h := open(t, dir, nil)
	if r := call(t, h.Session("me", "c1"), "packed", `{"a":1}`); r.Whole() != `{"a":1}` {
		t.Errorf("%q; %+v", r.Whole(), h.Plugins())
	}
}

func TestOneCompileForManyFirstCalls(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "job", "echo", ""))
	h := open(t, dir, nil)
	s := moduleOf(h, "job")
	var mu sync.Mutex
	seen := map[runner.Runner]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			m, err := s.Acquire(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			seen[m]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(seen) != 1 {
		t.Errorf("%d modules were loaded for 8 calls", len(seen))
	}
	for range 8 {
		s.Release()
	}
	s.Retire()
	if n := s.Uses(); n != 0 || s.Loaded() {
		t.Errorf("%d uses are left of a retired module", n)
	}
}
