package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// Turns that are written at the same time are stored whole, and the numbers of messages
// have no holes.
func TestConcurrentTurns(t *testing.T) {
	pgtest.Long(t)
	quickly(t, 10)
	rapid.Check(t, func(rt *rapid.T) {
		s := openTest(t)
		turns := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 12).Draw(rt, "turns of each conversation")
		var wg sync.WaitGroup
		for c, n := range turns {
			sc := Scope{Principal: "ann", Conversation: fmt.Sprint("c", c)}
			wg.Go(func() {
				for i := range n {
					ask := []Message{{Role: "user", Content: fmt.Sprint("question ", i)}}
					if err := s.Begin(t.Context(), Conversation{ID: sc.Conversation, Principal: sc.Principal}, ask); err != nil {
						t.Error(err)
					}
					change := Turn{Messages: []Message{{Role: "assistant", Content: fmt.Sprint("answer ", i)}}, Calls: []Call{{Scope: sc, Tool: "t"}}, Fingerprints: []string{fmt.Sprint("mark ", c, i)}}
					if i%2 == 1 { // the question is written again
						change.From, change.Messages = ask[0].Seq, append([]Message{{Role: "user", Content: ask[0].Content}}, change.Messages...)
					}
					if err := s.Finish(t.Context(), sc, change); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for c, n := range turns {
			sc := Scope{Principal: "ann", Conversation: fmt.Sprint("c", c)}
			msgs, err := s.Messages(t.Context(), sc)
			if err != nil || len(msgs) != 2*n {
				rt.Fatalf("%d messages of %d, error %v", len(msgs), 2*n, err)
			}
			for i, m := range msgs {
				if m.Seq != i+1 || m.Content != fmt.Sprint([]string{"question ", "answer "}[i%2], i/2) {
					rt.Fatalf("message %d is %d, %q", i+1, m.Seq, m.Content)
				}
			}
			if found, err := s.FindByFingerprint(t.Context(), "ann", fmt.Sprint("mark ", c, n-1)); err != nil || len(found) != 1 || found[0].ID != sc.Conversation {
				rt.Fatalf("marked %+v, error %v", found, err)
			}
		}
	})
}

// A turn begins and ends only in a conversation of its own principal.
func TestTurnsOfStrangers(t *testing.T) {
	s := openTest(t)
	if err := s.Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}, []Message{{Role: "user"}}); err != nil {
		t.Fatal(err)
	}
	for _, sc := range []Scope{{Principal: "bob", Conversation: "c1"}, {Principal: "bob", Conversation: "nobody"}} {
		for last := range 2 {
			if err := s.Finish(t.Context(), sc, Turn{Last: last, Messages: []Message{{Role: "user"}}, Fingerprints: []string{"m"}, Calls: []Call{{Scope: sc}}}); !errors.Is(err, ErrNotFound) {
				t.Errorf("%v: %v", sc, err)
			}
		}
	}
	if err := s.Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: "bob"}, []Message{{Role: "user"}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another's conversation begins: %v", err)
	}
	if err := s.Begin(t.Context(), Conversation{ID: "x"}, nil); err == nil {
		t.Error("a turn of nobody begins")
	}
	if err := s.Finish(t.Context(), mine, Turn{From: 9, Messages: []Message{{Role: "user"}}}); err == nil || !strings.Contains(err.Error(), "message 9 does not exist") {
		t.Errorf("%v", err)
	}
	if msgs, err := s.Messages(t.Context(), mine); err != nil || len(msgs) != 1 {
		t.Errorf("%d messages, error %v", len(msgs), err)
	}
}
