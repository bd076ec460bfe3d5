package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// Guests with a mailbox keep its rules or break them.
func TestMailbox(t *testing.T) {
	echo := answers(field(boxInPtrAt), field(boxInLenAt))
	// A guest that puts its room at 4096 when it is asked for more.
	moves := do(leave(boxInPtrAt, num(4096)), leave(boxInCapAt, get(0)), num(1))
	for _, row := range []struct {
		name  string
		shape guestShape
		body  part
		inv   Invocation
		want  string
		text  bool
		code  tool.Code // empty: it answers want
		says  string
	}{
		{name: "echo", shape: guestShape{box: inBox(64)}, body: echo, inv: Invocation{Input: []byte("hello")}, want: "hello"},
		{name: "nothing", shape: guestShape{box: inBox(64)}, body: echo, want: ""},
		{name: "room that is made", shape: guestShape{box: inBox(4), reserve: moves}, body: echo, inv: Invocation{Input: []byte("hello")}, want: "hello"},
		{name: "room in memory that grows", shape: guestShape{box: inBox(4), reserve: do(num(20), op(w.MemoryGrow, 0, w.Drop), moves)}, body: echo,
			inv: Invocation{Input: bytes.Repeat([]byte("x"), 1<<20)}, want: strings.Repeat("x", 1<<20)},
		{name: "limits", shape: guestShape{box: inBox(64)}, body: answers(num(boxPlace+boxMaxCharsAt), num(8)), inv: Invocation{Limits: tool.Limits{MaxChars: 1, MaxLines: -1}}, want: "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{name: "the largest output", shape: guestShape{box: inBox(64)}, body: answers(num(0), num(100)), inv: Invocation{MaxOutput: 100}, want: string(make([]byte, 16)) + "from the data segment" + string(make([]byte, 63))},
		{name: "a text itself", shape: guestShape{box: append([]uint32{boxMagic, 2}, inBox(64)[2:]...)}, body: do(echo, leave(boxStateAt, num(boxText))), inv: Invocation{Input: []byte("hello")}, want: "hello", text: true},
		{name: "a text beyond memory", shape: guestShape{box: inBox(64)}, body: do(leave(boxOutPtrAt, num(65530)), leave(boxOutLenAt, num(7)), leave(boxStateAt, num(boxText))), code: tool.Trapped, says: "it returned an output that does not exist"},
		{name: "a later version is asked by Extism's functions", shape: guestShape{box: append([]uint32{boxMagic, 3}, inBox(64)[2:]...)}, body: says("by the kernel"), want: "by the kernel"},

		{name: "an error in words", shape: guestShape{box: inBox(64)}, body: do(leave(boxErrPtrAt, num(16)), leave(boxErrLenAt, num(9)), leave(boxStateAt, num(boxFailed))), code: tool.Failed, says: "from the"},
		{name: "an error without words", shape: guestShape{box: inBox(64)}, body: leave(boxStateAt, num(boxFailed)), code: tool.Failed, says: "run reported an error without a message"},
		{name: "an error of a gigabyte", shape: guestShape{box: inBox(64)}, body: do(leave(boxErrPtrAt, num(16)), leave(boxErrLenAt, num(1<<30)), leave(boxStateAt, num(boxFailed))), code: tool.Failed, says: "from the data segment"},
		{name: "no memory", shape: guestShape{box: inBox(64)}, body: leave(boxStateAt, num(boxNoMemory)), code: tool.OutOfMemory, says: "run needs more than its memory limit of 32MiB"},
		{name: "no memory for the input", shape: guestShape{box: inBox(4)}, body: echo, inv: Invocation{Input: []byte("hello")}, code: tool.OutOfMemory, says: "run needs more than its memory limit of 32MiB"},
		{name: "an output over the limit", shape: guestShape{box: inBox(64)}, body: answers(num(0), num(101)), inv: Invocation{MaxOutput: 100}, want: string(make([]byte, 16)) + "from the data segment" + string(make([]byte, 63))},
		{name: "an absurd length", shape: guestShape{box: inBox(64)}, body: answers(num(0), num(-1)), code: tool.Trapped, says: "it returned an output that does not exist"},
		{name: "an output beyond memory", shape: guestShape{box: inBox(64)}, body: answers(num(65530), num(7)), code: tool.Trapped, says: "run does not work: it returned an output that does not exist"},
		{name: "an output where numbers turn over", shape: guestShape{box: inBox(64)}, body: answers(num(-4), num(8)), code: tool.Trapped, says: "it returned an output that does not exist"},
		{name: "words beyond memory", shape: guestShape{box: inBox(64)}, body: do(leave(boxErrPtrAt, num(65530)), leave(boxErrLenAt, num(7)), leave(boxStateAt, num(boxFailed))), code: tool.Trapped, says: "it returned an error text that does not exist"},
		{name: "no answer", shape: guestShape{box: inBox(64)}, body: nil, code: tool.Trapped, says: "it returned without an answer"},
		{name: "an answer by the other way", shape: guestShape{box: inBox(64)}, body: says("by the kernel"), code: tool.Trapped, says: "it returned without an answer"},
		{name: "a state of none", shape: guestShape{box: inBox(64)}, body: leave(boxStateAt, num(77)), code: tool.Trapped, says: "its mailbox has an unknown state"},
		{name: "room that there is not", shape: guestShape{box: append(append([]uint32{}, inBox(64)[:3]...), 65535, 64, 0, 0, 0, 0, 0, 0, 0)}, body: echo, inv: Invocation{Input: []byte("hello")}, code: tool.Trapped, says: "less room for the input than it says"},
		{name: "room that is promised and not made", shape: guestShape{box: inBox(4), reserve: num(1)}, body: echo, inv: Invocation{Input: []byte("hello")}, code: tool.Trapped, says: "less room for the input than it says"},
		{name: "reserving that spins", shape: guestShape{box: inBox(4), reserve: forever()}, body: echo, inv: Invocation{Input: []byte("hello"), Timeout: 100 * time.Millisecond}, code: tool.TimedOut, says: "run did not finish"},
		{name: "a mailbox beyond memory", shape: guestShape{box: inBox(64), place: num(65536 - 47)}, body: echo, code: tool.Trapped, says: "its mailbox is not where it says"},
		{name: "a mailbox at the end of numbers", shape: guestShape{box: inBox(64), place: num(-1)}, body: echo, code: tool.Trapped, says: "its mailbox is not where it says"},
		{name: "no mailbox there", shape: guestShape{box: inBox(64), place: num(boxPlace + 4)}, body: echo, code: tool.Trapped, says: "its mailbox is not where it says"},
		{name: "a mailbox that traps", shape: guestShape{box: inBox(64), place: op(w.Unreachable)}, body: echo, code: tool.Trapped, says: "it reached code that it marked as unreachable"},
		{name: "a number for a reason", shape: guestShape{box: inBox(64)}, body: do(echo, num(3), op(w.Return)), code: tool.Failed, says: "run failed with code 3"},
		{name: "a number without an answer", shape: guestShape{box: inBox(64)}, body: do(num(3), op(w.Return)), code: tool.Failed, says: "run failed with code 3"},
		{name: "an input over the room's own fields", shape: guestShape{box: append(append([]uint32{}, inBox(64)[:3]...), boxPlace, 64, 0, 0, 0, 0, 0, 0, 0)}, body: nil, inv: Invocation{Input: make([]byte, 48)}, code: tool.Trapped, says: "it returned without an answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.shape.exports = map[string]part{"run": row.body}
			m := load(t, newEngine(t, Config{Engine: EngineWazero}), Plugin{Name: "boxed", Wasm: row.shape.bytes()})
			row.inv.Export = "run"
			for range 2 {
				out, fail := m.Call(t.Context(), row.inv)
				switch {
				case row.code == "" && (fail != nil || string(out.Bytes) != row.want || out.Text != row.text):
					t.Errorf("got %.60q, %v", out.Bytes, fail)
				case row.code != "" && (fail == nil || fail.Code != row.code || !strings.Contains(fail.Msg, row.says) || out.Bytes != nil):
					t.Errorf("got %.60q, %v", out.Bytes, fail)
				}
			}
		})
	}
}

// A guest with a mailbox uses the kernel: what it leaves there is removed after each
// call, and calls that did not use the kernel skip the search.
func TestKernelBesideAMailbox(t *testing.T) {
	mark := the("store_u64", long(57), long(0x4d41524b)) // the kernel lets everybody write there
	look := do(num(3000), the("load_u64", long(57)), op(0x37, 3, 0), answers(num(3000), num(8)))
	m := load(t, newEngine(t, Config{Engine: EngineWazero}), Plugin{Name: "boxed", Wasm: guestShape{box: inBox(64), exports: map[string]part{
		"echo": answers(field(boxInPtrAt), field(boxInLenAt)), "look": look, "mark": do(mark, look), "trap": do(mark, op(w.Unreachable)),
	}}.bytes()})
	want := answer(t, m, Invocation{Export: "look", Fresh: true})
	if marked := answer(t, m, Invocation{Export: "mark"}); marked == want {
		t.Fatal("the mark is not seen")
	}
	for _, export := range []string{"mark", "echo", "trap", "echo"} {
		if _, fail := m.Call(t.Context(), Invocation{Export: export, Input: []byte("hello")}); (fail != nil) != (export == "trap") {
			t.Fatalf("%s: %v", export, fail)
		}
		if got := answer(t, m, Invocation{Export: "look"}); got != want {
			t.Errorf("behind %s the kernel holds %x, want %x", export, got, want)
		}
	}
	i, ok := waiting(m).(*wazeroInstance)
	if !ok {
		t.Fatal("no instance waits")
	}
	kernel, _ := i.env.memory.of(0)
	for export, kept := range map[string]bool{"echo": true, "look": false} {
		last := &kernel.Reallocate(kernel.Size())[kernel.Size()-1]
		*last = 7
		answer(t, m, Invocation{Export: export})
		if (*last == 7) != kept || waiting(m) != instance(i) {
			t.Errorf("behind %s the last byte of the kernel is %d", export, *last)
		}
	}
}

// FuzzMailbox reads mailboxes from arbitrary memory.
func FuzzMailbox(f *testing.F) {
	good := make([]byte, 200)
	for i, v := range []uint32{boxMagic, 1, boxAnswered, 100, 20, 5, 110, 30, 120, 10, 0, 0} {
		binary.LittleEndian.PutUint32(good[8+4*i:], v)
	}
	f.Add(good, uint32(8), uint32(0), []byte("input"), 64)
	f.Add(good[:40], uint32(8), uint32(0), []byte(nil), 0)
	f.Add(good, uint32(1<<32-1), uint32(7), []byte("input"), 1<<20)
	f.Fuzz(func(t *testing.T, memory []byte, at, code uint32, input []byte, most int) {
		if _, err := openBox(memory, at); err != nil && err != errBoxPlace {
			t.Fatalf("opening: %v", err)
		}
		b, err := boxAt(memory, at)
		if err != nil {
			return
		}
		out, words, err := b.take(memory, code, most)
		if len(out) > max(most, 0) || len(words) > maxError {
			t.Errorf("%d bytes of output and %d of words", len(out), len(words))
		}
		if _, broken := errors.AsType[boxError](err); err != nil && (out != nil || words != nil || !broken && err != errNoMemory) {
			t.Errorf("an answer beside the error %v, or another error", err)
		}
		if code == 0 && err == nil && out == nil && words == nil {
			t.Error("an empty success")
		}
		if err := b.put(memory, input, tool.Limits{MaxChars: most}); err == nil && (b.get(boxStateAt) != boxAsked || int(b.get(boxInLenAt)) != len(input)) {
			t.Error("what was put there is not there")
		}
	})
}
