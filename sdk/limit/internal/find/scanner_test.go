package find

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The scanner finds each place of each literal, as a search for one after the other does.
func TestOthers(t *testing.T) {
	literals := []string{"error", "rror: ", "panicked at", "aaaaa", "失败了", "exit code", "undefined reference to"}
	var s Scanner
	for i, l := range literals {
		if !s.Add("x?"+l, i) {
			t.Fatalf("%q is not looked for", l)
		}
	}
	s.Ready()
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(literals), rapid.StringMatching(`[a-e \n]{0,5}`))).Draw(rt, "parts"), "")
		type place struct{ at, owner int }
		var got, want []place
		from := rapid.IntRange(0, len(text)).Draw(rt, "from")
		s.Others(text, func(at, owner int) int {
			got = append(got, place{at, owner})
			return 0
		})
		for owner, l := range literals {
			for at := range text {
				if strings.HasPrefix(text[at:], l) {
					want = append(want, place{at, owner})
				}
			}
		}
		order := func(a, b place) int { return (a.at-b.at)*len(literals) + a.owner - b.owner }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) {
			rt.Fatalf("%q: found %v, want %v", text, got, want)
		}
		// After the offset that found returns it finds all again.
		late, n := 0, 0
		s.Others(text, func(at, owner int) int {
			if at >= from {
				late++
			}
			return from
		})
		for _, p := range want {
			if p.at >= from {
				n++
			}
		}
		if len(want) > 0 && late < n {
			rt.Fatalf("%q: %d places from %d on, want %d", text, late, from, n)
		}
	})
}

// Literals at the beginning of a line are found after blanks, and signs after skipped
// bytes as well.
func TestFirst(t *testing.T) {
	var s Scanner
	s.AddFirst("FAILED", 0)
	s.AddFirst("FAILED (", -1)
	text := "FAILED a\n \tFAILED b\n12-3 FAILED c\n==== FAILED (d\nx FAILED"
	var got []int
	s.First(text, "=-0123456789 ", func(start, owner int) { got = append(got, start, owner) })
	if want := []int{0, 0, 9, 0, strings.Index(text, "===="), -1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkOthers(b *testing.B) {
	var s Scanner
	for i, l := range []string{"error", "panicked at", "fatal", "exit code", "undefined reference to", "warning", "Traceback", "exception", "assertion"} {
		s.Add(l, i)
	}
	s.Ready()
	text := strings.Repeat("2026-01-02 03:04:05 INFO request handled by the worker in 12 ms for the terms of the errand\n", 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Others(text, func(int, int) int { return 0 })
	}
}
