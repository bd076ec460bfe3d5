package instrument

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/weirhost/weir/host/internal/wasmcheck"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// Rewriting takes a bounded share of memory for each byte of a module, whatever it consists
// of: 7 MB of empty loops took 440 MB of the daemon.
func TestRewritingIsLean(t *testing.T) {
	const size = 1_000_000
	for name, code := range map[string][]byte{
		"loops":         bytes.Repeat([]byte{w.Loop, w.Empty, w.End}, size/3),
		"turning loops": bytes.Repeat([]byte{w.Loop, w.Empty, w.Br, 0, w.End}, size/5),
		"labels":        w.Cat([]byte{w.Block, w.Empty, w.Loop, w.Empty, w.I32Const, 0, w.BrIf, 0}, bytes.Repeat([]byte{w.I32Const, 0, w.BrIf, 1}, size/4), []byte{w.End, w.End}),
		"growth":        bytes.Repeat([]byte{w.I32Const, 0, w.MemoryGrow, 0, w.Drop}, size/5),
	} {
		r, err := wasmcheck.Check(w.New().Types(w.Func(nil, nil)).Functions(0).Memories(w.Limits(1, 2)).Code(w.Body(code...)).Bytes(), wasmcheck.Limits{})
		if err != nil {
			t.Fatal(name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = Rewrite(r, Options{Stop: true, Renew: true})
		runtime.ReadMemStats(&after)
		if n := float64(after.TotalAlloc-before.TotalAlloc) / size; n > 50 {
			t.Errorf("%s: %.1f bytes for each, %v", name, n, err)
		}
	}
}
