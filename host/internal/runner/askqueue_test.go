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
	"github.com/weirhost/weir/sdk/tool"
)

// TestOneThatHangsIsAskedLast: a new plugin waits for the calls that run, whatever else
// waits: it is of another folder, or the newest of its folder, or has not failed before.
func TestOneThatHangsIsAskedLast(t *testing.T) {
	for name, of := range map[string]func(i int) (hangs, good ask){
		"another folder":     func(i int) (ask, ask) { return ask{top: "bad"}, ask{top: "good"} },
		"many folders":       func(i int) (ask, ask) { return ask{top: fmt.Sprint(i)}, ask{top: "good"} },
		"its folder":         func(i int) (ask, ask) { return ask{top: "one"}, ask{top: "one"} },
		"those that failed":  func(i int) (ask, ask) { return ask{top: fmt.Sprint(i), failed: true}, ask{top: "good"} },
		"asked again, newer": func(i int) (ask, ask) { return ask{top: fmt.Sprint(i), failed: true}, ask{top: "0"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var q askQueue
				began := time.Now()
				call := func(a ask, takes time.Duration, done *atomic.Int64) {
					end, err := q.wait(t.Context(), &a)
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(takes)
					end()
					done.Store(int64(time.Since(began)))
				}
				var hung, good atomic.Int64
				for i := range 30 {
					hangs, _ := of(i)
					go call(hangs, 10*time.Second, &hung)
				}
				time.Sleep(time.Second)
				_, one := of(0)
				go call(one, time.Second, &good)
				time.Sleep(time.Second)
				if name == "asked again, newer" { // than the good one, which never failed
					hangs, _ := of(40)
					go call(hangs, 10*time.Second, &hung)
				}
				time.Sleep(10 * time.Minute)
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
