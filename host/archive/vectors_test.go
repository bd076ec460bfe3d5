package archive

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestVectorsGoWithTheirText: nothing is found of a result that was deleted, pruned or
// has expired, of another model, or of another principal.
func TestVectorsGoWithTheirText(t *testing.T) {
	s := openTest(t)
	sc := Scope{Principal: "ann", Conversation: "c1"}
	ids := make([]string, 3)
	for i := range ids {
		e, err := s.Put(t.Context(), Entry{Scope: sc, Tool: "t", Full: fmt.Sprint("text ", i)})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = e.UUID
		v := []Vector{{1, 1, []float32{1, float32(i), 0}}, {2, 2, []float32{0, 0, 0}}}
		if err := s.PutVectors(t.Context(), sc, e.UUID, "m", v); err != nil {
			t.Fatal(err)
		}
	}
	found := func(sc Scope, model string) (out []string) {
		near, err := s.Near(t.Context(), sc, model, []float32{3, 0, 0}, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range near {
			out = append(out, n.Entry.UUID)
		}
		return out
	}
	if got := found(sc, "m"); fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("found %v, want %v", got, ids)
	}
	for why, got := range map[string][]string{
		"another model": found(sc, "n"), "another conversation": found(Scope{Principal: "ann", Conversation: "c2"}, "m"),
		"another principal": found(Scope{Principal: "bob", Conversation: "c1"}, "m"),
	} {
		if len(got) != 0 {
			t.Errorf("%s: %v", why, got)
		}
	}
	if got := found(Scope{Principal: "ann", Conversation: "c2", Everywhere: true}, "m"); len(got) != 3 {
		t.Errorf("everywhere: %v", got)
	}
	if err := s.Delete(t.Context(), sc, ids[0]); err != nil {
		t.Fatal(err)
	}
	s.Configure(Config{MaxCount: 1})
	if _, err := s.Prune(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := found(sc, "m"); len(got) != 1 || got[0] != ids[2] {
		t.Errorf("after a deletion and a prune: %v", got)
	}
	var left int
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM result_vectors").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d vectors are left: %v", left, err)
	}
	if err := s.PutVectors(t.Context(), sc, ids[1], "m", []Vector{{1, 1, []float32{1, 0, 0}}}); err != nil || len(found(sc, "m")) != 1 {
		t.Errorf("a pruned result got vectors: %v", err)
	}
}

// BenchmarkNear compares a query with 100,000 stored vectors.
func BenchmarkNear(b *testing.B) {
	for _, dims := range []int{384, 1024} {
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			s := openTest(b)
			sc := Scope{Principal: "ann", Conversation: "c"}
			r := rand.New(rand.NewPCG(1, 2))
			random := func() []float32 {
				v := make([]float32, dims)
				for i := range v {
					v[i] = r.Float32() - 0.5
				}
				return v
			}
			for range 100_000 / 100 {
				e, err := s.Put(b.Context(), Entry{Scope: sc, Tool: "t", Full: fmt.Sprint(r.Uint64())})
				if err != nil {
					b.Fatal(err)
				}
				v := make([]Vector, 100)
				for i := range v {
					v[i] = Vector{i + 1, i + 1, random()}
				}
				if err := s.PutVectors(b.Context(), sc, e.UUID, "m", v); err != nil {
					b.Fatal(err)
				}
			}
			q := random()
			for b.Loop() {
				if got, err := s.Near(b.Context(), sc, "m", q, 8); err != nil || len(got) != 8 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
