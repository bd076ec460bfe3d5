package turns

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/lease"
	"github.com/weirhost/weir/host/daemon/store"
)

// A turn that is complete when the daemon stops is stored, and not left.
func TestACompleteTurnIsNotLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	l := &lasting{Run: &store.Run{Resumed: true}, keep: new(lease.Keeper)}
	if l.left(ctx, nil) {
		t.Error("it is left")
	}
}

// A panic while a turn's end is stored gives its events free, which wait for that.
func TestAPanicAtTheEnd(t *testing.T) {
	told := make(chan bool, 1)
	tn := &turn{s: &Service{}, run: &lasting{Run: &store.Run{Resumed: true}}} // without a store
	tn.trace, tn.stream, tn.calls = &Trace{}, &Stream{}, &Calls{}
	tn.run.t = tn
	tn.ask.Closing = func(func(), api.ChatEnd, error) (store.Events, func(bool)) {
		return store.Events{}, func(stored bool) { told <- stored }
	}
	func() {
		defer func() { _ = recover() }()
		_ = tn.store(t.Context(), agent.Turn{}, 0, errors.New("it failed"))
		t.Error("nothing panics")
	}()
	select {
	case stored := <-told:
		if stored {
			t.Error("it counts as stored")
		}
	default:
		t.Error("the events wait for ever")
	}
}

// logged receives what is logged.
type logged chan string

func (l logged) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A panic while a step is stored later does not end the daemon.
func TestAPanicLater(t *testing.T) {
	said := make(logged, 10)
	l := &lasting{Run: &store.Run{}, t: &turn{s: &Service{Config: Config{Logger: hclog.New(&hclog.LoggerOptions{Output: said})}}}} // without a store
	l.waits = &step{}
	l.later(t.Context(), l.waits)
	if line := <-said; !strings.Contains(line, "a turn panicked") {
		t.Error(line)
	}
	l.storing.Lock() // it is free again
	l.storing.Unlock()
}
