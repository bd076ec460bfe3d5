package mcpclient

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// Parts of one step are told in hundredths, so that each report tells more than the last.
func TestProgressInFractions(t *testing.T) {
	var r reports
	var got []string
	token, end := r.add(func(done, total int, _ string) { got = append(got, fmt.Sprintf("%d/%d", done, total)) })
	for _, done := range []float64{0, 0.25, 0.5, 1} {
		r.put(&mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 1})
	}
	end()
	if want := []string{"0/1", "25/100", "50/100", "100/100"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
