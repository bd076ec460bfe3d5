package hostile

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

// A field is a host with all bombs and one honest tool, and what they leave.
type field struct {
	*host.Host
	bombs  []bomb
	log    *counting
	inline bool
	files  string
}

func newField(t *testing.T, isolation host.Isolation) *field {
	t.Helper()
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-gone:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(gone) }) // before the server waits
	addr := srv.Listener.Addr().String()
	f := &field{bombs: bombs(addr[strings.LastIndex(addr, ":")+1:]), log: &counting{}, inline: isolation == host.Inline, files: t.TempDir()}
	dir := t.TempDir()
	dropIn(t, dir, honest)
	grants := map[string]plugin.Grant{}
	for _, b := range f.bombs {
		dropIn(t, dir, b.dropped)
		grants[b.name] = plugin.Grant{Hosts: []plugin.HostGrant{{Host: "http://" + addr, Private: true}}, Paths: []plugin.PathGrant{{Guest: "/files", Host: f.files, Mode: "rw"}}}
	}
	if err := os.WriteFile(filepath.Join(f.files, "a"), []byte("alpha"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.Host = open(t, dir, isolation, func(c *host.Config) { c.Grants, c.Logger = grants, logTo(f.log) })
	for _, p := range f.Plugins() {
		if p.State != plugin.Ready {
			t.Errorf("%s is %s: %s %v", p.Name, p.State, p.Why, p.Problems)
		}
	}
	return f
}

// set calls a bomb and compares the outcome with its row.
func (f *field) set(t *testing.T, b bomb, locale tool.Locale) time.Duration {
	args := b.args
	if args == "" {
		args = "{}"
	}
	r, took := ask(t, f.Host, locale, b.name, args)
	got := "ok"
	if r.Err != nil {
		got = string(r.Err.Code)
		readable(t, b.name, r.Err)
		if chinese := strings.ContainsFunc(r.Err.Error(), func(r rune) bool { return unicode.Is(unicode.Han, r) }); chinese != (locale == tool.Zh) && !strings.HasPrefix(b.name, "error_") { // which say it in their own words
			t.Errorf("%s in %s: %v", b.name, locale, r.Err)
		}
	}
	if !slices.Contains(strings.Fields(b.codes), got) {
		t.Errorf("%s came to %s (%v), not %s", b.name, got, r.Err, b.codes)
	}
	deadline := b.timeout
	if deadline == 0 {
		deadline = time.Second
	}
	if !f.inline {
		within(t, b.name, took, deadline+past)
	}
	return took
}

// company keeps an honest tool busy until stop is called, which returns the durations
// of its calls.
func (f *field) company(t *testing.T, callers int) (stop func() []time.Duration) {
	var end atomic.Bool
	var wg sync.WaitGroup
	took := make([][]time.Duration, callers)
	for i := range callers {
		wg.Go(func() {
			for n := 0; !end.Load(); n++ {
				took[i] = append(took[i], f.honest(t, n))
			}
		})
	}
	return func() []time.Duration {
		end.Store(true)
		wg.Wait()
		return slices.Concat(took...)
	}
}

// honest makes a call of the honest tool, and returns how long it took.
func (f *field) honest(t *testing.T, n int) time.Duration {
	args := fmt.Sprintf(`{"n":%d}`, n)
	r, took := ask(t, f.Host, tool.En, "honest", args)
	if r.Err != nil || r.Shown.Text != args {
		t.Errorf("the honest tool: %q, %v", r.Shown.Text, r.Err)
	}
	time.Sleep(5 * time.Millisecond) // a model thinks between two calls: the figures are about such callers
	return took
}

func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[int(q*float64(len(list)-1))]
}

// Every bomb is called, one after the other and then together, beside honest calls, in
// worker processes and in this one.
func TestBombs(t *testing.T) {
	for _, isolation := range []host.Isolation{host.OwnProcess, host.Inline} {
		if isolation == host.OwnProcess && !host.CanIsolate() {
			continue
		}
		t.Run(string(isolation), func(t *testing.T) {
			inlineToo(t, isolation)
			f := newField(t, isolation)
			f.Warm(t.Context(), func(name string, _ time.Duration, err error) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			quiet := f.quiet(t)
			before := resident()
			stop := f.company(t, 1)
			rounds := 1
			if thorough {
				rounds = 3
			}
			over := map[string]time.Duration{}
			var mu sync.Mutex
			for round := range rounds {
				together(f.bombs, 8, func(b bomb) {
					took := f.set(t, b, []tool.Locale{tool.En, tool.Zh}[(round+len(b.name))%2])
					mu.Lock()
					defer mu.Unlock()
					over[b.name] = max(over[b.name], took)
				})
			}
			busy := stop()
			after := resident()
			quiet = append(quiet, f.quiet(t)...) // a machine is not the same before and after
			if grown := after - before; grown > mostMemory() {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
			if len(busy) == 0 {
				t.Fatal("no honest call came back")
			}
			within(t, "the slowest honest call", quantile(busy, 1), 3*time.Second)
			if isolation == host.OwnProcess {
				within(t, "the p99 of honest calls", quantile(busy, 0.99), 20*time.Millisecond)
			}
			if f.log.n > int64(len(f.bombs)*rounds)<<20 {
				t.Errorf("the log took %d bytes", f.log.n)
			}
			figures(t, string(isolation), f, rounds, over, quiet, busy, after-before)
		})
	}
}

// quiet makes the same honest calls without bombs. In the long form there are so many
// that a hundredth of them is still ten.
func (f *field) quiet(t *testing.T) (took []time.Duration) {
	calls := 30
	if thorough {
		calls = 1000
	}
	for n := range calls {
		took = append(took, f.honest(t, n))
	}
	return took
}

// together runs f for all of a list, some at a time.
func together[T any](list []T, at int, f func(T)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, min(at, 4*runtime.NumCPU()))
	for _, x := range list {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			f(x)
		})
	}
	wg.Wait()
}

// inlineToo skips a test of guests in this process, except in the long form: weir runs them
// in others, unless the system has no way to.
func inlineToo(t *testing.T, isolation host.Isolation) {
	t.Helper()
	if isolation == host.Inline && host.CanIsolate() && !thorough {
		testsize.Only(t)
	}
}

// figures prints what docs/security.md quotes.
func figures(t *testing.T, isolation string, f *field, rounds int, took map[string]time.Duration, quiet, busy []time.Duration, grown int64) {
	if !thorough {
		return
	}
	t.Logf("| %s | |", isolation)
	t.Logf("| bombs, each set off %d times, 8 at once | %d |", rounds, len(f.bombs))
	var latest time.Duration
	for _, b := range f.bombs {
		if b.codes == endless {
			latest = max(latest, took[b.name]-time.Second)
		}
	}
	t.Logf("| latest return after a deadline of 1 s | %s |", latest.Round(time.Millisecond))
	t.Logf("| honest calls, quiet: p50, p99 | %s, %s (%d) |", quantile(quiet, 0.5), quantile(quiet, 0.99), len(quiet))
	t.Logf("| honest calls beside them: p50, p99, slowest | %s, %s, %s (%d) |", quantile(busy, 0.5), quantile(busy, 0.99), quantile(busy, 1), len(busy))
	t.Logf("| memory of the host, grown by | %d KiB |", grown>>10)
	t.Logf("| log | %d KiB |", f.log.n>>10)
}
