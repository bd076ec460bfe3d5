package mcpserver

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirhost/weir/internal/testtime"
)

// writes keeps what each write brought.
type writes []string

func (w *writes) Write(b []byte) (int, error) {
	*w = append(*w, string(b))
	return len(b), nil
}

// Answers that become ready while one waits are written with it, in their order; an
// answer that no other follows does not wait.
func TestAnswersGoTogether(t *testing.T) {
	var got writes
	w := newLineWriter(&got, func() { t.Error("the writer failed") })
	yields := 0
	w.yield = func() {
		yields++
		w.answer([]byte("second"), true)
		fmt.Fprint(w, "progress\n")
		w.answer([]byte("third"), false)
	}
	w.answer([]byte("first"), true)
	if want := "first\nsecond\nprogress\nthird\n"; len(got) != 1 || got[0] != want || yields != 1 {
		t.Errorf("%d writes %q after %d yields, want one of %q after one", len(got), []string(got), yields, want)
	}
	w.answer([]byte("alone"), false)
	if len(got) != 2 || got[1] != "alone\n" || yields != 1 {
		t.Errorf("an answer that is alone: %q, %d yields", []string(got), yields)
	}
}

// After a long wait many answers are written without waiting; then one tries again.
func TestAnswersDoNotWaitForLongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		w := newLineWriter(&got, func() { t.Error("the writer failed") })
		yields, takes := 0, 2*shortYield
		w.yield = func() { yields++; testtime.Sleep(takes) }
		for range 1 + hasteAfter {
			w.answer([]byte("x"), true)
		}
		if yields != 1 {
			t.Errorf("%d answers waited, want 1", yields)
		}
		takes = shortYield / 2
		for range 10 {
			w.answer([]byte("x"), true)
		}
		if yields != 11 {
			t.Errorf("%d answers waited by now, want 11", yields)
		}
		if want := strings.Repeat("x\n", 11+hasteAfter); got.String() != want {
			t.Errorf("%d bytes came out, want %d", got.Len(), len(want))
		}
	})
}

// slowWriter takes a line when it is let.
type slowWriter struct {
	writes
	let chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.let
	return w.writes.Write(b)
}

// An answer may be written by who was writing already. It is on its way then, and
// a stream that has no more to read waits for it.
func TestDrainWaitsForTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &slowWriter{let: make(chan struct{})}
		st := &stream{out: newLineWriter(to, func() { t.Error("the writer failed") }), none: make(chan struct{}, 1), lastAnswers: lastAnswers}
		go st.out.line([]byte("progress"))
		synctest.Wait()
		st.asked()
		st.out.answer([]byte("answer"), true) // leaves it to the other
		st.answered()
		drained := false
		go func() { st.drain(t.Context()); drained = true }()
		for range 2 {
			synctest.Wait()
			if drained {
				t.Fatalf("the stream ends behind %q", []string(to.writes))
			}
			to.let <- struct{}{}
		}
		synctest.Wait()
		if !drained || len(to.writes) != 2 || to.writes[1] != "answer\n" {
			t.Errorf("drained: %t, behind %q", drained, []string(to.writes))
		}
	})
}
