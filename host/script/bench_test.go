package script

import (
	"testing"

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

// TestHonestSnapshots: how much is stored of ten usual scripts.
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
}
