package instrument

import (
	"testing"

	"github.com/weirhost/weir/host/internal/wasmcheck"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// A loop has the calls of all loops in it, whatever blocks are between them, and no
// others.
func TestLoopsHaveTheirCalls(t *testing.T) {
	block, head, call, end := []byte{w.Block, w.Empty}, []byte{w.Loop, w.Empty}, []byte{w.Call, 0}, []byte{w.End}
	body := w.Cat(call, head, call, block, head, call, call, end, block, call, end, end, head, end, end, head, call, end, call)
	wasm := w.New().Types(w.Func(nil, nil)).Functions(0).Code(w.Body(body...)).Bytes()
	r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	l := loops{report: r}
	for b, err := range r.Bodies() {
		if err != nil {
			t.Fatal(err)
		}
		l.read(b)
	}
	want := []loop{{calls: 4, holds: true, outer: -1}, {calls: 2, outer: 0}, {outer: 0}, {calls: 1, outer: -1}}
	if len(l.all) != len(want) {
		t.Fatalf("%+v", l.all)
	}
	for i, x := range l.all {
		if x.bytes = 0; x != want[i] {
			t.Errorf("loop %d: %+v, want %+v", i, x, want[i])
		}
	}
}
