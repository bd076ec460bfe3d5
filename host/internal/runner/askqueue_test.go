package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// TestOneThatHangsIsAskedLast: a new plugin waits for the calls that run, whatever else
// waits: it is of another folder, or the newest of its folder, or has not failed before.
func TestOneThatHangsIsAskedLast(t *testing.T) {
	for name, tt := range map[string]struct {
		hangs func(i int) ask
		good  string // its folder
		newer int    // that hang
	}{
		"another folder":    {func(int) ask { return ask{top: "bad"} }, "good", 4},
		"many folders":      {func(i int) ask { return ask{top: fmt.Sprint(i)} }, "good", 0},
		"its folder":        {func(int) ask { return ask{top: "one"} }, "one", 0},
		"those that failed": {func(i int) ask { return ask{top: fmt.Sprint(i), failed: true} }, "0", 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var q askQueue
				var hung, good atomic.Int64
				began := time.Now()
				call := func(a ask, takes time.Duration, done *atomic.Int64) {
					end, err := q.wait(t.Context(), &a)
					if err != nil {
						t.Error(err)
						return
					}
					testtime.Sleep(takes)
					end()
					done.Store(int64(testtime.Since(began)))
				}
				hang := func(from, to int) {
					for i := from; i < to; i++ {
						go call(tt.hangs(i), 10*time.Second, &hung)
					}
					synctest.Wait()
				}
				hang(0, 30)
				go call(ask{top: tt.good}, time.Second, &good)
				synctest.Wait()
				hang(30, 30+tt.newer)
				testtime.Sleep(10 * time.Minute)
				if done, others := time.Duration(good.Load()), time.Duration(hung.Load()); done != 11*time.Second || others < 150*time.Second {
					t.Errorf("the good one is done after %s, the others after %s", done, others)
				}
				if q.running != 0 || len(q.waiting) != 0 || len(q.used) != 0 {
					t.Errorf("%+v remains", &q)
				}
			})
		})
	}
}

// TestAnAskIsCancelled: what waits leaves with its context, and takes no place.
func TestAnAskIsCancelled(t *testing.T) {
	var q askQueue
	var ends []func()
	for range listConcurrent {
		end, err := q.wait(t.Context(), &ask{})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.wait(ctx, &ask{}); !errors.Is(err, context.Canceled) || len(q.waiting) != 0 {
		t.Errorf("%v, %d wait", err, len(q.waiting))
	}
	for _, end := range slices.Backward(ends) {
		end()
	}
	if q.running != 0 {
		t.Errorf("%d run", q.running)
	}
}

func TestTopFolder(t *testing.T) {
	for source, want := range map[string]string{"/p/a/plugin.toml": "/p/a", "/p/a/b/plugin.toml": "/p/a", "/p/x.wasm": "/p/x.wasm"} {
		if got := topFolder(&registry.Plugin{Folder: plugin.Folder{Path: "/p"}, Source: source}); got != want {
			t.Errorf("%s: %s", source, got)
		}
	}
}

// TestScansWaitOnce: a scan does not wait for a plugin that an earlier one gave up on.
func TestScansWaitOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := NewToolLister(ListerConfig{
		Memory: func() tool.Bytes { return 0 }, Wait: time.Hour, Now: time.Now, Logger: hclog.NewNullLogger(),
		Admit: func() (context.Context, func(), error) { return ctx, func() {}, nil },
	})
	d.queue.running = listConcurrent // so that no call begins
	plugins := []*registry.Plugin{{WasmSHA256: "a"}}
	impatient, stop := context.WithCancel(t.Context())
	stop()
	for _, scan := range []context.Context{impatient, t.Context()} {
		if got := d.List(scan, plugins); !got[0].Pending {
			t.Errorf("%+v", got)
		}
	}
	l, _ := d.request(plugins[0])
	cancel()
	<-l.done
}
