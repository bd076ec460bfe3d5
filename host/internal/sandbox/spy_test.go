package sandbox

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// upTo runs parts for local 2 from 0 up to n, which is computed once, in steps.
func upTo(n part, step int64, parts ...part) part {
	return do(n, set(1), long(0), set(2), op(w.Block, w.Empty, w.Loop, w.Empty), get(2), get(1), op(0x5a, w.BrIf, 1),
		do(parts...), get(2), long(step), op(0x7c), set(2), op(w.Br, 0, w.End, w.End))
}

// mix adds a number to the checksum of everything seen, in local 3.
func mix(v part) part { return do(get(3), long(0x100000001b3), op(0x7e), v, op(0x85), set(3)) }

// spyShape is a guest that looks for the state of earlier calls everywhere, and leaves
// marks there, in calls that end in every way. kinds adds globals that only their own
// instance can restore.
func spyShape(kinds bool) guestShape {
	const memorySize, load64, wrap = 0x3f, 0x29, 0xa7
	pages := do(op(memorySize, 0), op(0xad), long(16), op(0x86)) // bytes of memory
	look := do(
		mix(do(op(memorySize, 0), op(0xad))),
		upTo(pages, 8, mix(do(get(2), op(wrap, load64, 0, 0)))),
		mix(the("output_offset")), mix(the("output_length")), mix(the("error_get")), mix(the("input_offset")), mix(the("input_length")),
		mix(the("memory_bytes")), mix(extend(the("http_status_code"))), mix(extend(the("get_log_level"))),
		upTo(the("memory_bytes"), 8, mix(the("load_u64", get(2)))), // the kernel's own fields and all blocks
		mix(op(0x23, 0)), mix(extend(op(0x23, 1))), mix(extend(do(op(0x23, 2), op(0xbc)))), mix(do(op(0x23, 3), op(0xbd))),
		text("left"), mix(the("var_get", get(0))), text("secret"), mix(the("config_get", get(0))), text("weir.max_chars"), mix(the("config_get", get(0))),
		mix(the("length", the("http_headers"))), mix(the("alloc", long(100))), mix(the("alloc", long(200_000))),
		// Descriptors can be written to, whatever was closed.
		num(2048), num(0), op(0x36, 2, 0), num(2052), num(0), op(0x36, 2, 0),
		mix(extend(the("fd_write", num(1), num(2048), num(1), num(2056)))), mix(extend(the("fd_write", num(2), num(2048), num(1), num(2056)))),
		mix(extend(the("fd_write", num(5), num(2048), num(1), num(2056)))),
	)
	if kinds {
		look = do(look, mix(do(op(0x23, 4, 0xfd, 0x1d, 0))), mix(do(op(0x23, 4, 0xfd, 0x1d, 1))), mix(extend(op(0x23, 5, 0xd1))))
	}
	marks := do(
		long(0x4c454b414e414353), op(0x24, 0), num(77), op(0x24, 1), op(0x43, 1, 2, 3, 4, 0x24, 2), op(0x44, 1, 2, 3, 4, 5, 6, 7, 8, 0x24, 3),
		upTo(pages, 4096, get(2), op(wrap), long(-1), op(0x37, 0, 0)),
		num(3), op(w.MemoryGrow, 0, w.Drop), upTo(pages, 4096, get(2), op(wrap), long(0x1122334455667788), op(0x37, 0, 0)),
		text("left"), get(0), set(2), text("a variable"), the("var_set", get(2), get(0)),
		text("taken and freed, but what is in it?"), the("free", get(0)),
		the("alloc", long(3<<20)), set(0), upTo(long(3<<20), 512, the("store_u64", do(get(0), get(2), op(0x7c)), long(-3))),
		text("an error of before"), the("error_set", get(0)), says("an answer of before"),
		text(`{"done":1,"total":2,"message":"x"}`), the("weir_progress", get(0)), text("logged"), the("log_info", get(0)),
		text(`{"method":"GET","url":"https://example.com/"}`), the("http_request", get(0), long(0)), op(w.Drop),
		// The kernel's own fields, after the sizes that it checks: 57 is the last that can be written.
		the("store_u64", long(57), long(0x0101010101010101)),
		the("fd_close", num(0)), op(w.Drop), the("fd_close", num(1)), op(w.Drop), the("fd_renumber", num(2), num(5)), op(w.Drop), the("fd_fdstat_set_flags", num(2), num(1)), op(w.Drop),
		num(64), num(1<<16-64), op(0x36, 2, 0),
	)
	if kinds {
		marks = do(marks, long(5), op(0xfd, 0x12, 0x24, 4), op(0xd2), w.U32(uint32(len(importable))), op(0x24, 5))
	}
	ring := do(text("in a ring"), the("store_u64", do(get(0), long(-8), op(0x7c)), long(0xfffffff4)), the("free", do(get(0), long(64), op(0x7c))))
	g := guestShape{
		exports: map[string]part{
			"look": number(do(look, get(3))), "leave": marks, "leave_and_look": number(do(marks, look, get(3))),
			"spin": do(marks, forever()), "ring": do(marks, ring), "sleep": do(marks, nap(time.Hour)), "trap": do(marks, op(w.Unreachable)),
			"exit": do(marks, the("proc_exit", num(0))), "wrong": do(marks, num(9), op(w.Return)),
			"huge": do(marks, the("output_set", long(64), long(20<<20))),
			"deep": do(op(0x23, 0), long(1), op(0x7d, 0x24, 0), op(0x23, 0), long(-20_000), op(0x55, w.If, w.Empty), op(w.Call), w.U32(uint32(len(importable))), op(w.Drop, w.End)),
		},
		globals: [][]byte{w.Global(w.I64, true, long(7)...), w.Global(w.I32, true, num(8)...), w.Global(w.F32, true, 0x43, 0, 0, 0x80, 0x3f), w.Global(w.F64, true, 0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)},
	}
	if kinds {
		g.globals = append(g.globals, w.Global(w.V128, true, append([]byte{0xfd, 12}, make([]byte, 16)...)...), w.Global(w.FuncRef, true, 0xd0, w.FuncRef))
	}
	return g
}

// spied are the exports of a spyShape that leave marks, with their outcomes.
var spied = map[string]tool.Code{
	"leave": tool.Failed, "leave_and_look": tool.Failed, "spin": tool.TimedOut, "ring": tool.TimedOut, "sleep": tool.TimedOut, "trap": tool.Trapped,
	"exit": tool.Failed, "wrong": tool.Failed, "huge": tool.Failed, "deep": "",
}

// Calls leave marks in random order, and looks in between see what a new instance
// sees.
func TestARecycledInstanceHasNoOldState(t *testing.T) {
	for name, kinds := range map[string]bool{"numbers": false, "every kind of global": true} {
		t.Run(name, func(t *testing.T) {
			m := load(t, newEngine(t, Config{Engine: EngineWazero}), Plugin{Name: "spy", Wasm: spyShape(kinds).bytes()})
			look := Invocation{Export: "look", Input: []byte("the input of each call")}
			fresh := look
			fresh.Fresh = true
			want := answer(t, m, fresh)
			seen := map[instance]bool{}
			check := func(after string) {
				t.Helper()
				if got := answer(t, m, look); got != want {
					t.Fatalf("after %s the spy finds something: %x, in a new instance %x", after, got, want)
				}
				if i := waiting(m); i != nil {
					seen[i] = true
				}
			}
			check("nothing")
			names := make([]string, 0, len(spied))
			for name := range spied {
				names = append(names, name)
			}
			rapid.Check(t, func(rt *rapid.T) {
				name := rapid.SampledFrom(names).Draw(rt, "export")
				inv := Invocation{
					Export: name, Input: []byte(strings.Repeat("an input that is longer ", 100)), Limits: tool.Limits{MaxChars: 5},
					Grant: Grant{HTTP: echoSender{}, Config: map[string]string{"secret": "of one call"}}, Progress: func(int, int, string) {},
				}
				if spied[name] == tool.TimedOut {
					inv.Timeout = 20 * time.Millisecond
				}
				_, fail := m.Call(context.Background(), inv)
				if code := codeOf(fail); code != spied[name] {
					rt.Fatalf("%s came to %v", name, fail)
				}
				check(name)
			})
			if kept := len(seen); kept > 40 { // trap and exit cost an instance each
				t.Errorf("%d instances were made: they are not kept", kept)
			}
		})
	}
}

func codeOf(fail *tool.Error) tool.Code {
	if fail == nil {
		return ""
	}
	return fail.Code
}

// waiting returns the instance for the next call; nil: a new one.
func waiting(m *Module) instance {
	s, ok := m.supply.(*recycledSupply)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		return nil
	}
	return s.ready[len(s.ready)-1]
}

// A guest that was stopped, in any way, serves the next call with the same instance,
// and can be stopped again.
func TestAStoppedInstanceIsRecycled(t *testing.T) {
	m := load(t, newEngine(t, Config{Engine: EngineWazero}), Plugin{Name: "spy", Wasm: spyShape(false).bytes()})
	answer(t, m, Invocation{Export: "look"})
	first := waiting(m)
	if first == nil {
		t.Fatal("no instance is kept")
	}
	for _, export := range []string{"spin", "ring", "sleep"} {
		for how, ctx := range stops(t) {
			inv := Invocation{Export: export, Timeout: time.Minute}
			code := tool.Cancelled
			if how == "deadline" {
				inv.Timeout, code = 20*time.Millisecond, tool.TimedOut
			}
			if how == "the caller's deadline" {
				code = tool.TimedOut
			}
			if _, fail := m.Call(ctx(), inv); codeOf(fail) != code {
				t.Errorf("%s, %s: %v", export, how, fail)
			}
			if waiting(m) != first {
				t.Fatalf("%s, %s: the instance is gone", export, how)
			}
			// Nothing of the stop is left for a call with time enough.
			for range 20 {
				answer(t, m, Invocation{Export: "look"})
			}
		}
	}
}

// stops are contexts that end soon, by their cause.
func stops(t *testing.T) map[string]func() context.Context {
	return map[string]func() context.Context{
		"deadline": func() context.Context { return t.Context() },
		"the caller's wish": func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx
		},
		"the caller's deadline": func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		},
		"a wish of before": func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		},
	}
}

// Several instances of a module share one image of its memory, and one of the
// kernel's.
func TestInstancesShareOneImage(t *testing.T) {
	e := newEngine(t, Config{Engine: EngineWazero, Renewed: 3})
	m := load(t, e, Plugin{Name: "guest", Wasm: goGuest})
	running, end := make(chan struct{}, 3), make(chan struct{})
	done := make(chan *tool.Error, 3)
	for range 3 {
		go func() {
			_, fail := m.Call(t.Context(), Invocation{Export: "talk", Progress: func(done, _ int, _ string) {
				if done == 1 {
					running <- struct{}{}
					<-end
				}
			}})
			done <- fail
		}()
	}
	for range 3 {
		<-running
	}
	close(end)
	for range 3 {
		if fail := <-done; fail != nil {
			t.Error(fail)
		}
	}
	if got := e.space().Stats(); got.Memories != 6 || got.Images > 4 { // two may be first at once
		t.Errorf("in use: %+v", got)
	}
	for range 5 {
		if got := answer(t, m, Invocation{Export: "spy"}); got != `call 1, var ""` {
			t.Errorf("got %s", got)
		}
	}
	s := m.supply.(*recycledSupply)
	if len(s.ready) != 3 {
		t.Errorf("%d instances wait", len(s.ready))
	}
	s.used = false
	s.rest()
	if len(s.ready) != 0 || e.space().Stats().Memories != 0 {
		t.Errorf("after a rest %d wait, and %+v is in use", len(s.ready), e.space().Stats())
	}
	if got := answer(t, m, Invocation{Export: "echo", Input: []byte("again")}); got != "again" {
		t.Errorf("got %s", got)
	}
}

// An env that has served a call equals a new one.
func TestAClearedEnvHasNoState(t *testing.T) {
	m := load(t, newEngine(t, Config{Engine: EngineWazero}), Plugin{Name: "spy", Wasm: spyShape(false).bytes()})
	answer(t, m, Invocation{Export: "look"})
	state := func() string {
		e := waiting(m).environment()
		return fmt.Sprintf("%+v %+v %v %v %d %d %q %q", e.callState, e.setup, e.bound, e.span, e.lines.lines, e.lines.dropped, e.stdout.head, e.stderr.line)
	}
	before := state()
	for name := range spied {
		if spied[name] != tool.Trapped && name != "exit" {
			inv := Invocation{Export: name, Grant: Grant{HTTP: echoSender{}, Config: map[string]string{"a": "b"}}}
			if spied[name] == tool.TimedOut {
				inv.Timeout = 20 * time.Millisecond
			}
			if _, fail := m.Call(t.Context(), inv); codeOf(fail) != spied[name] {
				t.Errorf("%s: %v", name, fail)
			}
			if after := state(); after != before {
				t.Errorf("%s leaves %s, before %s", name, after, before)
			}
		}
	}
}
