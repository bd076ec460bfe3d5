package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/term"
)

// Lines typed before a question stay for whoever wants them; the answer is the
// first behind them.
func TestKeyboardKeepsWhatWasTypedAhead(t *testing.T) {
	r, w := io.Pipe()
	k := newKeyboard(r)
	typed := func(s string) {
		t.Helper()
		if _, err := io.WriteString(w, s); err != nil {
			t.Fatal(err)
		}
	}
	until := func(n int) {
		t.Helper()
		for began := time.Now(); k.ahead() != n; time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%d lines, want %d", k.ahead(), n)
			}
		}
	}
	typed("y\nthe next question\n")
	until(2)
	ahead := k.ahead()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if line, ok := k.take(ctx, ahead); ok {
		t.Errorf("typed ahead and taken: %q", line)
	}
	typed("n\n")
	if line, ok := k.take(t.Context(), ahead); !ok || line != "n" {
		t.Errorf("%q, %v", line, ok)
	}
	for _, want := range []string{"y", "the next question"} {
		if line, ok := k.take(t.Context(), 0); !ok || line != want {
			t.Errorf("%q, want %q", line, want)
		}
	}
	typed("the last, without an end")
	w.CloseWithError(io.EOF)
	if line, ok := k.take(t.Context(), 0); !ok || line != "the last, without an end" {
		t.Errorf("%q", line)
	}
	if _, ok := k.take(t.Context(), 0); ok || k.failure() != nil {
		t.Errorf("behind the end: %v", k.failure())
	}
}

func TestKeyboardReadsNoFurtherThanItsRoom(t *testing.T) {
	k := newKeyboard(strings.NewReader(strings.Repeat("line\n", 3*typedAhead)))
	for i := range 3 * typedAhead {
		if line, ok := k.take(t.Context(), 0); !ok || line != "line" {
			t.Fatalf("line %d: %q, %v", i, line, ok)
		}
		if n := k.ahead(); n > typedAhead {
			t.Fatalf("%d lines are held", n)
		}
	}
	if _, ok := k.take(t.Context(), 0); ok {
		t.Error("more than was typed")
	}
	r, w := io.Pipe()
	w.CloseWithError(errors.New("gone"))
	if k = newKeyboard(r); func() bool { _, ok := k.take(t.Context(), 0); return ok }() || k.failure() == nil {
		t.Error("a broken input is not told")
	}
}

func TestCalm(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext 中文 é":     "plain\n\ttext 中文 é",
		"\x1b[8mhidden\x1b[2J":   "[8mhidden[2J",
		"a\u202eb\u2066c\u200fd": "abcd",
		"\u009b31m\r\x07":        "31m",
	} {
		if got := term.Calm(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
