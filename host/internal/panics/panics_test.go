package panics

import (
	"errors"
	"fmt"
	"testing"
)

func TestSays(t *testing.T) {
	outside := func() (v any) {
		defer func() { v = recover() }()
		var none []int
		return none[len(t.Name())-5]
	}()
	for want, value := range map[string]any{
		"a string": "the key is sk-1", "a int": 7, "a *errors.errorString": errors.New("sk-1"),
		"a *fmt.wrapError": fmt.Errorf("key=sk-1: %w", errors.ErrUnsupported),
		"runtime error: index out of range [3] with length 0": outside,
		"a <nil>": nil,
	} {
		if got := Says(value); got != want {
			t.Errorf("%v: %q, want %q", value, got, want)
		}
	}
	// What an error of the runtime's is wrapped in is left out, too.
	if got := Says(fmt.Errorf("key=sk-1: %w", outside.(error))); got != "runtime error: index out of range [3] with length 0" {
		t.Errorf("wrapped: %q", got)
	}
}
