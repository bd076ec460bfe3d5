package store

import (
	"errors"
	"fmt"
	"testing"
)

// Traces belong to their conversation's principal, go with the conversation,
// and make room for newer ones.
func TestTraces(t *testing.T) {
	s := openTest(t)
	ensure(t, s, mine)
	theirs := Scope{Principal: "bob", Conversation: "c3"}
	ensure(t, s, theirs)
	for i := range MaxTraces + 5 {
		sc := mine
		if i%2 == 1 {
			sc = theirs
		}
		if err := s.Finish(t.Context(), sc, Turn{Trace: &Trace{Turn: i, Body: fmt.Appendf(nil, `{"n":%d}`, i)}}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Traces(t.Context(), Scope{Principal: "ann"}, -1)
	if err != nil || len(all) != MaxTraces/2 {
		t.Fatalf("%d traces, %v", len(all), err)
	}
	if last := all[0]; last.Turn != MaxTraces+4 || string(last.Body) != fmt.Sprintf(`{"n":%d}`, last.Turn) || last.Scope != mine {
		t.Errorf("the newest is %+v", last)
	}
	if some, err := s.Traces(t.Context(), mine, 0); err != nil || len(some) != DefaultTraces {
		t.Errorf("%d, %v", len(some), err)
	}
	if got, err := s.Trace(t.Context(), "ann", all[3].ID); err != nil || got.Turn != all[3].Turn {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Trace(t.Context(), "bob", all[3].ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("another's trace: %v", err)
	}
	if _, err := s.DeleteConversation(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Traces(t.Context(), Scope{Principal: "ann"}, -1); err != nil || len(left) != 0 {
		t.Errorf("%d stay, %v", len(left), err)
	}
}
