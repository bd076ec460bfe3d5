package sandbox

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/sdk/tool"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// A lookingSender calls look while a guest waits for its response.
type lookingSender struct{ look func() }

func (s lookingSender) Do(context.Context, egress.Request) (egress.Response, *tool.Error) {
	s.look()
	return egress.Response{Status: 200}, nil
}

// Some calls wait and come back on another thread, while others compute: the next call
// sees no writes from before or after.
func TestWritesOnSeveralThreadsAreReset(t *testing.T) {
	sum := do(upTo(long(1<<16), 8, mix(do(get(2), op(0xa7, 0x29, 0, 0)))), get(3))
	write := func(at int32) part { return do(num(at), long(0x4d41524b), op(0x37, 3, 0)) }
	answer8 := do(num(3000), sum, op(0x37, 3, 0), answers(num(3000), num(8)))
	request := do(text(`{"method":"GET","url":"https://example.com/"}`), the("http_request", get(0), long(0)), op(w.Drop))
	report := do(text(`{"done":1,"total":2,"message":"x"}`), the("weir_progress", get(0)))
	m := load(t, newEngine(t, Config{Engine: EngineWazero}), Plugin{Name: "moving", Wasm: guestShape{box: inBox(64), exports: map[string]part{
		"look": answer8, "write": do(write(40_000), answer8), "ask": do(write(20_000), request, write(50_000), answer8),
		"tell": do(write(24_000), report, write(54_000), answer8), "sleep": do(write(28_000), nap(time.Microsecond), write(58_000), answer8),
		"trap": do(write(32_000), op(w.Unreachable)),
	}}.bytes()})
	want := answer(t, m, Invocation{Export: "look", Fresh: true})
	look := func(after string) {
		t.Helper()
		if got := answer(t, m, Invocation{Export: "look"}); got != want {
			t.Fatalf("after %s the guest finds %x, want %x", after, got, want)
		}
	}
	look("nothing")
	stop := make(chan struct{})
	defer close(stop)
	for range 2 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	for _, export := range []string{"write", "ask", "write", "tell", "sleep", "trap", "write", "ask", "ask", "write"} {
		waited := false
		see := func() {
			waited = true
			for range 20 {
				runtime.Gosched()
			}
		}
		_, fail := m.Call(t.Context(), Invocation{Export: export, Grant: Grant{HTTP: lookingSender{see}}, Progress: func(int, int, string) { see() }})
		if (fail != nil) != (export == "trap") {
			t.Fatalf("%s: %v", export, fail)
		}
		if waits := export == "ask" || export == "tell"; waited != waits {
			t.Errorf("%s has waited: %t", export, waited)
		}
		look(export)
	}
}
