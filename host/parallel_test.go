package host

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

func TestOneSlowToolLeavesRoomForOthers(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "slow", "wait", ""))
	place(t, dir, "q", manifest("q", "quick", "echo", ""))
	h := open(t, dir, func(c *Config) { c.Parallel = 3 })
	s := h.Session("me", "c1")
	call(t, s, "quick", `{}`)
	call(t, s, "slow", `{"Millis":0}`)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { _, _ = s.Call(ctx, tool.Call{Tool: "slow", Args: json.RawMessage(`{"Millis":20000}`)}) })
	}
	testtime.Until(t, "all calls run", func() bool {
		running, waiting := h.running.Load("slow")
		return running == 2 && waiting == 3
	})
	call(t, s, "quick", `{"x":1}`) // with three slow ones before it
	cancel()
	all.Wait()
	if n := h.running.Busy(); n != 0 {
		t.Errorf("%d slots are still used", n)
	}
}

func TestWhoSaysHowManyRunAtOnce(t *testing.T) {
	dir := t.TempDir()
	declared := string(manifest("p", "one", "echo", "")) + "rate = { parallel = 1 }\n"
	for i, name := range []string{"two", "greedy", "silent", "open"} {
		declared += fmt.Sprintf("[[tool]]\nname = %q\ndescription = \"a tool\"\nexport = \"echo\"\nrate = { parallel = %d, per_minute = %d }\n", name, []int{2, 1000, 0, 2}[i], i)
	}
	place(t, dir, "p", []byte(declared))
	h := open(t, dir, func(c *Config) {
		c.Parallel = 8
		c.Tools = map[string]ToolConfig{"two": {Parallel: 8}, "open": {Parallel: -1}}
	})
	want := map[string]string{"one": "1 tool", "two": "8 operator", "greedy": "2 tool", "silent": "2 default", "open": "2 default"}
	for _, info := range h.Tools() {
		if info.Plugin == "" {
			continue
		}
		if got := fmt.Sprint(info.Parallel, " ", info.ParallelBy); got != want[info.Spec.Name] {
			t.Errorf("%s: %s; want %s", info.Spec.Name, got, want[info.Spec.Name])
		}
	}
}

// Whoever asks what is just being asked waits for that answer.
func TestIdenticalCallsOfACachedToolRunOnce(t *testing.T) {
	dir := t.TempDir()
	more := "cache = { ttl = \"1h\" }\n[tool.params]\ntype = \"object\"\n"
	place(t, dir, "p", append(manifest("p", "once", "stamp", ""), more...))
	h := open(t, dir, nil)
	s := h.Session("me", "c1")
	const n = 8
	answers := make(chan tool.Result, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { answers <- try(t, s, "once", `{"q":"same"}`) })
	}
	all.Wait()
	close(answers)
	ran, texts := 0, map[string]bool{}
	for r := range answers {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if !r.Stats.Cached {
			ran++
		}
		texts[r.Whole()] = true
	}
	if ran != 1 || len(texts) != 1 {
		t.Errorf("%d ran and gave %d answers", ran, len(texts))
	}
	if r := call(t, s, "once", `{"q":"other"}`); r.Stats.Cached {
		t.Error("other arguments are another call")
	}
	if r := call(t, h.Session("you", "c1"), "once", `{"q":"same"}`); r.Stats.Cached {
		t.Error("another principal is another caller")
	}
	if r := call(t, s.In(tool.Zh), "once", `{"q":"same"}`); r.Stats.Cached {
		t.Error("another language is another answer")
	}
	if r := call(t, h.Session("me", "c2"), "once", `{"q": "same"}`); !r.Stats.Cached {
		t.Error("another conversation of the same principal, with the same arguments, is the same call")
	}
}

// Everything that an answer depends on is in the key of the cache.
func TestWhatTheCacheGoesBy(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	asks := "[permissions]\npaths = [{ guest = \"/work\", mode = \"rw\", reason = \"x\" }]\n[config.depth]\ntype = \"integer\"\ndefault = 1\n"
	base := func() (*Config, string, []byte) {
		return &Config{Settings: Settings{Grants: map[string]plugin.Grant{"p": {Paths: []plugin.PathGrant{{Guest: "/work", Host: work, Mode: "ro"}}}}}}, "", nil
	}
	identity := func(change func(c *Config), text, wasmTail string) string {
		cfg, _, _ := base()
		folder := filepath.Join(dir, "plugins")
		place(t, folder, "p", []byte(string(manifest("p", "job", "echo", asks))+"cache = { ttl = \"1h\" }\n"+text))
		if wasmTail != "" {
			path := filepath.Join(folder, "p", "p.wasm")
			write(t, path, append(slurp(t, path), wasmTail...))
		}
		h := open(t, folder, func(c *Config) {
			c.Grants = cfg.Grants
			if change != nil {
				change(c)
			}
		})
		b := h.current.Load().Tools["job"]
		if b == nil {
			t.Fatalf("%s", states(h))
		}
		return b.Subject().Identity
	}
	same := identity(nil, "", "")
	if same == "" || identity(nil, "", "") != same {
		t.Fatal("the same tool has two identities")
	}
	for what, other := range map[string]string{
		"the module":        identity(nil, "", "\x00\x03\x01x\x00"),
		"the manifest":      identity(nil, "empty_ok = true\n", ""),
		"the limits":        identity(func(c *Config) { c.Tools = map[string]ToolConfig{"job": {Limits: tool.Limits{MaxChars: 400}}} }, "", ""),
		"the lines":         identity(func(c *Config) { c.Tools = map[string]ToolConfig{"job": {Limits: tool.Limits{MaxLines: 9}}} }, "", ""),
		"a setting":         identity(func(c *Config) { c.Tools = map[string]ToolConfig{"job": {Config: map[string]any{"depth": 2}}} }, "", ""),
		"the granted mode":  identity(func(c *Config) { c.Grants["p"].Paths[0].Mode = "rw" }, "", ""),
		"the granted paths": identity(func(c *Config) { c.Grants["p"].Paths[0].Host = t.TempDir() }, "", ""),
	} {
		if other == same || other == "" {
			t.Errorf("%s is not in the key", what)
		}
	}
	if identity(func(c *Config) { c.Tools = map[string]ToolConfig{"job": {Parallel: 1}} }, "", "") != same {
		t.Error("how many run at once changes no answer")
	}
}

// A reload gives no new calls away, however often it comes.
func TestRateOutlivesReloads(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", append(manifest("p", "job", "echo", ""), "rate = { per_minute = 2 }\n"...))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := open(t, dir, func(c *Config) { c.Now = func() time.Time { return now } })
	s := h.Session("me", "c1")
	for i := range 4 {
		r := try(t, s, "job", fmt.Sprintf(`{"a":%d}`, i))
		if limited := r.Err != nil && r.Err.Code == tool.RateLimited; limited != (i >= 2) {
			t.Errorf("call %d: %v", i, r.Err)
		}
		place(t, dir, "p", append(manifest("p", "job", "echo", fmt.Sprintf("version = \"%d\"", i)), "rate = { per_minute = 2 }\n"...))
		if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
