package script

import (
	"testing"
	"time"

	"github.com/weirhost/weir/host/script/journal"
)

// BenchmarkCalls measures one call of a script, without the tool: one that only reads, and
// one with effects, before which the state is stored.
func BenchmarkCalls(b *testing.B) {
	for _, name := range []string{"read", "write"} {
		b.Run(name, func(b *testing.B) {
			p := boot(b, b.TempDir(), 0, Options{Patience: -1})
			defer p.close(b)
			const calls = 100
			for b.Loop() {
				s, err := p.goOnce(b, "for (let i = 0; i < 100; i++) await tools."+name+"({i})")
				if err != nil || s.State != journal.Done {
					b.Fatal(err, s.State)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/calls, "µs/call")
		})
	}
}

// goOnce starts a script and waits for its end.
func (p *process) goOnce(t testing.TB, source string) (Status, error) {
	id, err := p.Start(t.Context(), Script{Source: source, Scope: mine, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return p.Wait(t.Context(), "me", id, 0)
}

// TestHonestSnapshots: what is stored of ten usual scripts, and how long a pause and a
// resume take.
func TestHonestSnapshots(t *testing.T) {
	p := boot(t, t.TempDir(), 0, Options{Patience: -1})
	defer p.close(t)
	var sizes []int
	for _, source := range honest {
		id, err := p.Start(t.Context(), Script{Source: source, Scope: mine, CallID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Wait(t.Context(), "me", id, 0)
		if err != nil || s.State != journal.Waiting || s.Bytes == 0 {
			t.Fatalf("%s: %v, %s, %+v", source, err, s.State, s.Outcome)
		}
		sizes = append(sizes, s.Bytes)
		if err := p.Cancel(t.Context(), "me", id); err != nil {
			t.Fatal(err)
		}
	}
	median := sorted(sizes)[len(sizes)/2]
	t.Logf("bytes of a snapshot: %v, median %d", sizes, median)
	if median > 256<<10 {
		t.Errorf("the median of %v is over 256 KiB", sizes)
	}
	engine, err := crashEngine()
	if err != nil {
		t.Fatal(err)
	}
	vm, _, err := engine.Start(t.Context(), honest[3], setting)
	if err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for range 50 {
		began := time.Now()
		snapshot, err := vm.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		vm.Close(t.Context())
		if vm, err = engine.Resume(t.Context(), snapshot); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	vm.Close(t.Context())
	t.Logf("pause and resume: p50 %s, fastest %s", sorted(took)[25], sorted(took)[0])
}
