package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/guesttest"
	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

var (
	// thorough is the long form: more seeds, and figures on standard output.
	thorough = os.Getenv("WEIR_HOSTILE") != ""
	// bounded says that nothing else runs on the machine, so that time has bounds.
	bounded = os.Getenv("WEIR_HOSTILE") == "quiet"

	worker []string // starts a worker
	cache  string   // compiled modules of this run
)

// past is how long after its deadline a call may come back.
const past = 250 * time.Millisecond

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "weir-hostile-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if worker, err = guesttest.Worker("../../.."); err != nil {
			panic(err)
		}
		cache = filepath.Join(dir, "cache")
		return m.Run()
	}())
}

// A dropped plugin is what somebody drops into the folder.
type dropped struct {
	name    string
	wasm    []byte
	tools   []string      // its exports; nil: run
	timeout time.Duration // 0: a second
	memory  string        // empty: 16MiB
	asks    string        // lines of [permissions]
	more    string        // lines for every tool
	writes  bool          // it says that it changes things
}

// drop puts plugins into a folder, each in the readable form. A tool is named
// after its plugin, or after its plugin and its export.
func dropIn(t testing.TB, dir string, plugins ...dropped) {
	t.Helper()
	for _, p := range plugins {
		if p.timeout == 0 {
			p.timeout = time.Second
		}
		if p.memory == "" {
			p.memory = "16MiB"
		}
		var m strings.Builder
		fmt.Fprintf(&m, "schema = 1\nname = %q\nversion = \"1.0.0\"\ndescription = \"made by a test\"\n[permissions]\n%s\n[limits]\ntimeout = %q\nmemory = %q\n", p.name, p.asks, p.timeout, p.memory)
		exports := p.tools
		if exports == nil {
			exports = []string{"run"}
		}
		for _, e := range exports {
			fmt.Fprintf(&m, "[[tool]]\nname = %q\ndescription = \"made by a test\"\nexport = %q\nempty_ok = true\nhints = { read_only = %t }\n%s\n[tool.params]\ntype = \"object\"\n", toolName(p, e), e, !p.writes, p.more)
		}
		at := filepath.Join(dir, p.name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{"plugin.toml": []byte(m.String()), p.name + ".wasm": p.wasm} {
			if err := os.WriteFile(filepath.Join(at, file), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func toolName(p dropped, export string) string {
	if p.tools == nil {
		return p.name
	}
	return p.name + "_" + export
}

// honest answers with its own input.
var honest = dropped{name: "honest", wasm: w.Echo("run"), timeout: time.Minute}

// open opens a host on a folder.
func open(t testing.TB, dir string, isolation host.Isolation, change func(*host.Config)) *host.Host {
	t.Helper()
	cfg := host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}},
			Sandbox: host.Sandbox{Workers: host.Workers{Isolation: isolation}},
		},
		CacheDir:      cache,
		Version:       "1.0.0",
		WorkerCommand: worker,
	}
	cfg.Archive.Path = filepath.Join(t.TempDir(), "archive.db")
	if change != nil {
		change(&cfg)
	}
	h, err := host.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if n := eventually(func() int { return len(children()) }, 0); n != 0 {
			t.Errorf("%d processes are left: %v", n, children())
		}
	})
	return h
}

// eventually waits for a count to come down to what is wanted.
func eventually(count func() int, want int) int {
	n := 0
	testtime.Comes(func() bool { n = count(); return n <= want })
	return n
}

// children lists the processes that this one started and that still run.
func children() []string {
	var found []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(after); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			if worker != nil && strings.HasPrefix(string(line), worker[0]) {
				found = append(found, e.Name()+" "+f[0])
			}
		}
	}
	return found
}

// resident is this process's memory, in bytes, after what can go has gone;
// where the system does not tell it, the heap.
func resident() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			return pages * int64(os.Getpagesize())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// mostMemory is what this process may keep of what was done to it, in bytes.
func mostMemory() int64 {
	if raced {
		return 2 << 30
	}
	return 256 << 20
}

// within holds the long form, and it alone, to a bound on time that docs/security.md names.
func within(t *testing.T, what string, took, bound time.Duration) {
	t.Helper()
	if bounded && took > bound {
		t.Errorf("%s took %s; at most %s", what, took, bound)
	}
}

// ask makes one call and says how long it took.
func ask(t testing.TB, h *host.Host, locale tool.Locale, name, args string) (tool.Result, time.Duration) {
	t.Helper()
	began := time.Now()
	r, err := h.Session("somebody", "talk").In(locale).Call(context.Background(), tool.Call{ID: "1", Tool: name, Args: []byte(args)})
	if err != nil {
		t.Errorf("%s stopped the loop: %v", name, err)
	}
	return r, time.Since(began)
}

var codes = map[tool.Code]bool{
	tool.UnknownTool: true, tool.BadArgs: true, tool.Failed: true, tool.TimedOut: true, tool.OutOfMemory: true, tool.Trapped: true,
	tool.TooLarge: true, tool.Denied: true, tool.RateLimited: true,
}

// readable holds an error to what a model and a person can use: a known code, a
// short sentence, nothing of how the host is made.
func readable(t testing.TB, what string, e *tool.Error) {
	t.Helper()
	if !codes[e.Code] {
		t.Errorf("%s: unknown code in %v", what, e)
	}
	sentence(t, what, e.Error())
}

func sentence(t testing.TB, what, s string) {
	t.Helper()
	if len([]rune(s)) < 10 || len([]rune(s)) > 1200 {
		t.Errorf("%s: %d characters: %.200q", what, len([]rune(s)), s)
	}
	for _, bad := range []string{
		"goroutine", "wazero", "go-sdk", "runtime error", ".go:", "panic", "stack trace", "*sandbox.", "*tool.", "*host.", "%!", "<nil>",
		"sys.Errno", "invalid memory address", "signal:", "wasm error", os.TempDir() + "/weir-hostile", "/proc/",
	} {
		if strings.Contains(s, bad) {
			t.Errorf("%s: %q stands in %.300q", what, bad, s)
		}
	}
	if address.MatchString(s) {
		t.Errorf("%s: an address of the host's stands in %.300q", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) {
			t.Errorf("%s: %U stands in %.300q", what, r, s)
			break
		}
	}
}

var address = regexp.MustCompile(`0x[0-9a-f]{5,}`)

// logTo collects a host's log.
func logTo(out *counting) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: out})
}

// counting counts bytes and keeps none. It is written to under the logger's lock.
type counting struct{ n int64 }

func (c *counting) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}
