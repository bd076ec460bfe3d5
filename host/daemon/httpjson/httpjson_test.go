package httpjson

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
)

// TestBodiesOfManyValues: a body of many small values, which would take a hundred times
// its size, is refused before it is decoded. Braces in texts do not count.
func TestBodiesOfManyValues(t *testing.T) {
	text := strings.Repeat("{[", maxValues)
	for name, tt := range map[string]struct {
		body  string
		found int // messages
	}{
		"many":          {`{"messages":[` + strings.Repeat("{},", maxValues) + `{}]}`, 0},
		"many, nested":  {`{"other":[` + strings.Repeat("[[]],", maxValues/2) + `[]],"messages":[{}]}`, 0},
		"as many as go": {`{"messages":[` + strings.Repeat("{},", maxValues-3) + `{}]}`, maxValues - 2},
		"text":          {`{"messages":[{"a":"` + text + `"}]}`, 1},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/json")
		var into struct {
			Messages []struct{} `json:"messages"`
		}
		err := ReadLoose(httptest.NewRecorder(), r, &into)
		if len(into.Messages) != tt.found {
			t.Errorf("%s: %d messages, %v", name, len(into.Messages), err)
		}
		if p, ok := errors.AsType[*api.Problem](err); tt.found == 0 && (!ok || p.Status != http.StatusRequestEntityTooLarge || p.Hint.IsZero()) || tt.found > 0 && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
