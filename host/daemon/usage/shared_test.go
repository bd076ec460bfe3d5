package usage

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// twoMeters returns the meters of two daemons with one database.
func twoMeters(t *testing.T) (out [2]*Meter) {
	t.Helper()
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	for i := range out {
		a, err := archive.Open(t.Context(), archive.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		db, err := store.Open(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = NewMeter(db, time.Now, hclog.NewNullLogger())
		t.Cleanup(out[i].Flush)
	}
	return out
}

// eight runs f in eight goroutines, half of them on each daemon.
func eight(meters [2]*Meter, f func(*Meter)) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { f(meters[i%2]) })
	}
	all.Wait()
}

// refused reports whether an error is that of a quota; any other fails the test.
func refused(t *testing.T, err error) bool {
	t.Helper()
	p, ok := errors.AsType[*api.Problem](err)
	if err != nil && !(ok && p.Code == api.CodeQuota) {
		t.Error(err)
	}
	return err != nil
}

// Two daemons together admit exactly what a quota allows.
func TestSharedQuotas(t *testing.T) {
	meters := twoMeters(t)
	t.Run("per minute", func(t *testing.T) {
		var n atomic.Int64
		eight(meters, func(m *Meter) {
			for range 6 {
				if r, err := m.Begin(t.Context(), Account{Principal: "ann", Quota: Quota{PerMinute: 20}}); !refused(t, err) {
					n.Add(1)
					r.End()
				}
			}
		})
		if n.Load() != 20 {
			t.Errorf("%d requests were admitted, want 20", n.Load())
		}
	})
	t.Run("running", func(t *testing.T) {
		bob := Account{Principal: "bob", Quota: Quota{Concurrent: 3}}
		var running, most, admitted atomic.Int64
		eight(meters, func(m *Meter) {
			for range 25 {
				r, err := m.Begin(t.Context(), bob)
				if refused(t, err) {
					continue
				}
				admitted.Add(1)
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				if _, err := m.Report(t.Context(), bob, 1); err != nil { // work, while which others ask
					t.Error(err)
				}
				running.Add(-1)
				r.End()
			}
		})
		if most.Load() > 3 || admitted.Load() < 25 {
			t.Errorf("%d ran at once, %d were admitted", most.Load(), admitted.Load())
		}
		for range 3 {
			if _, err := meters[0].Begin(t.Context(), bob); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := meters[1].Report(t.Context(), bob, 1); err != nil || got.Running != 3 || got.Quotas[0].Used != 3 {
			t.Errorf("the other daemon reports %+v, %v", got, err)
		}
	})
	t.Run("tokens", func(t *testing.T) {
		cid := Account{Principal: "cid", Quota: Quota{TokensPerDay: 5000}}
		eight(meters, func(m *Meter) { // each is a turn
			for !refused(t, m.checkTokens(t.Context(), cid)) {
				m.addReply(cid, agent.Usage{Prompt: 60, Completion: 40}, nil)
			}
		})
		used, err := meters[0].today(t.Context(), "cid", time.Now())
		if err != nil || used.Prompt+used.Completion < 5000 || used.Prompt+used.Completion > 5000+8*100 {
			t.Errorf("%+v, %v", used, err)
		}
		if _, err := meters[1].Begin(t.Context(), cid); !refused(t, err) {
			t.Error("a request began without tokens")
		}
	})
}

// A turn that another daemon takes over still counts as running, and not as a request.
func TestSharedQuotasGoOn(t *testing.T) {
	meters := twoMeters(t)
	a := Account{Principal: "ann", Quota: Quota{Concurrent: 1, PerMinute: 2}}
	begun, err := meters[0].Begin(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	begun.End() // its daemon is gone
	for range 3 {
		r, err := meters[1].GoOn(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := meters[0].Begin(t.Context(), a); !refused(t, err) {
			t.Error("another one runs beside it")
			other.End()
		}
		r.End()
	}
	if r, err := meters[0].Begin(t.Context(), a); refused(t, err) {
		t.Error("it counts as a request")
	} else {
		r.End()
	}
}
