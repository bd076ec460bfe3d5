package openai

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
)

// An answer that is not streamed has the text that a stream has: what was said before
// calls, too. Where JSON was asked for, it is the answer alone.
func TestContentHasWhatWasSaid(t *testing.T) {
	for _, c := range []struct {
		json   bool
		pieces []string
		want   string
	}{
		{false, []string{"I look it up.", "\n\nIt is 42."}, "I look it up.\n\nIt is 42."},
		{true, []string{"I look it up.", "\n\nIt is 42."}, "It is 42."},
		{false, nil, "It is 42."},
	} {
		w := httptest.NewRecorder()
		done := &completion{w: w, json: c.json}
		for _, p := range c.pieces {
			done.observe(api.EventText, &api.TextPiece{Text: p})
		}
		var out Completion
		if err := done.finish(api.ChatEnd{Answer: "It is 42."}, nil); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || *out.Choices[0].Message.Content != c.want {
			t.Errorf("%v: %s, %v", c, w.Body, err)
		}
	}
}
