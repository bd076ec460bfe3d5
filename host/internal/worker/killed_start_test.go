//go:build linux

package worker

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
)

// A lastWord is the pipe of a worker. When the first bytes come, because the worker is
// ready, its caller's context ends and the worker with it.
type lastWord struct {
	from io.Reader
	w    *process
	end  context.CancelFunc
	came bool
}

func (l *lastWord) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.came = true
	l.end()
	<-l.w.gone
	return n, err
}

// The caller of a start ends at the moment when the worker is ready: the worker is
// killed and gets no call.
func TestAKilledWorkerIsNotReady(t *testing.T) {
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	p := newPool(t, nil)
	m := load(t, p, pl)
	for came := false; !came; { // on a busy machine it may be ready before the wait begins
		w, err := p.spawn("p", nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		last := &lastWord{from: w.link.Out, w: w, end: cancel}
		w.read = frames.NewReader(last)
		err = m.load(ctx, w, nil)
		if came = last.came; came && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		cancel()
		w.discard()
	}
}
