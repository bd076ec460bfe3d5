package mcpclient

import (
	"encoding/json"
	"slices"
	"testing"
)

// An answer that comes together with the reports before it does not overtake them.
func TestProgressComesBeforeTheAnswer(t *testing.T) {
	s := program(t, "progress", nil)
	ready(t, s)
	for range 100 {
		var seen []int
		_, err := s.Call(t.Context(), "t", json.RawMessage(`{}`), 1<<20, func(done, total int, _ string) { seen = append(seen, done) })
		if err != nil || !slices.Equal(seen, []int{1, 2, 3, 4, 5}) {
			t.Fatal(seen, err)
		}
	}
}
