package chat

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weirhost/weir/internal/testtime"
)

// Lines that were typed before a question stay; the answer is the first line after
// them.
func TestLinesTypedAheadStay(t *testing.T) {
	r, w := io.Pipe()
	k := NewLines(r)
	typed := func(s string) {
		t.Helper()
		if _, err := io.WriteString(w, s); err != nil {
			t.Fatal(err)
		}
	}
	until := func(n int) {
		t.Helper()
		if !testtime.Comes(func() bool { return k.TypedAhead() == n }) {
			t.Fatalf("%d lines, want %d", k.TypedAhead(), n)
		}
	}
	typed("y\nthe next question\n")
	until(2)
	ahead := k.TypedAhead()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if line, ok := k.Next(ctx, ahead); ok {
		t.Errorf("typed ahead and taken: %q", line)
	}
	typed("n\n")
	if line, ok := k.Next(t.Context(), ahead); !ok || line != "n" {
		t.Errorf("%q, %v", line, ok)
	}
	for _, want := range []string{"y", "the next question"} {
		if line, ok := k.Next(t.Context(), 0); !ok || line != want {
			t.Errorf("%q, want %q", line, want)
		}
	}
	typed("the last, without an end")
	w.CloseWithError(io.EOF)
	if line, ok := k.Next(t.Context(), 0); !ok || line != "the last, without an end" {
		t.Errorf("%q", line)
	}
	if _, ok := k.Next(t.Context(), 0); ok || k.Err() != nil {
		t.Errorf("after the end: %v", k.Err())
	}
}

func TestLinesReadAheadIsBounded(t *testing.T) {
	k := NewLines(strings.NewReader(strings.Repeat("line\n", 3*maxTypedAhead)))
	for i := range 3 * maxTypedAhead {
		if line, ok := k.Next(t.Context(), 0); !ok || line != "line" {
			t.Fatalf("line %d: %q, %v", i, line, ok)
		}
		if n := k.TypedAhead(); n > maxTypedAhead {
			t.Fatalf("%d lines are held", n)
		}
	}
	if _, ok := k.Next(t.Context(), 0); ok {
		t.Error("more than was typed")
	}
	r, w := io.Pipe()
	w.CloseWithError(errors.New("gone"))
	if k = NewLines(r); func() bool { _, ok := k.Next(t.Context(), 0); return ok }() || k.Err() == nil {
		t.Error("a broken input has no error")
	}
}
