//go:build linux

package worker

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// The size of a module is that of its bytes and its idle workers.
func TestWeight(t *testing.T) {
	p := newPool(t, nil)
	wasm := wasmtest.Echo("run")
	bytes := tool.Bytes(len(wasm))
	m, other := load(t, p, sandbox.Plugin{Name: "p", Wasm: wasm}), load(t, p, sandbox.Plugin{Name: "other", Wasm: wasm})
	if w := m.Weight(); w != bytes {
		t.Errorf("before any call it weighs %s", w)
	}
	if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil {
		t.Fatal(fail)
	}
	// A process of Go takes more than a mebibyte, whatever it does.
	if w := m.Weight(); w < bytes+1<<20 || w > 1<<30 {
		t.Errorf("with a worker that waits it weighs %s", w)
	}
	if w := other.Weight(); w != bytes {
		t.Errorf("another module weighs %s", w)
	}
	p.discardIdle(func(*idleWorker) bool { return true })
	if w := m.Weight(); w != bytes {
		t.Errorf("when its worker has gone it weighs %s", w)
	}
}

// A worker's memory is measured from time to time, not at every call.
func TestMemoryIsMeasuredFromTimeToTime(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	w := &process{cmd: &exec.Cmd{Process: self}}
	w.measureMemory()
	first := w.weight
	if first < 1<<20 {
		t.Fatalf("this process weighs %s", first)
	}
	w.weight = 1
	w.measureMemory()
	if w.weight != 1 {
		t.Error("it was measured again at once")
	}
	w.measured = time.Now().Add(-measureEvery)
	w.measureMemory()
	if w.weight < 1<<20 {
		t.Errorf("it was not measured again: %s", w.weight)
	}
}
