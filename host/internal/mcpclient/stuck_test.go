//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// A program that reads nothing more keeps neither a call beyond its time nor us from an end.
func TestProgramThatReadsNothing(t *testing.T) {
	s := program(t, "on", shell(answering("exec sleep 600")))
	ready(t, s)
	long := json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`) // more than a pipe holds
	for _, args := range []json.RawMessage{json.RawMessage("{}"), long} { // the program reads only the first
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := s.Call(ctx, "t", args, 1<<20, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	s.Close()
}
