package archive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// blocked keeps the writer busy with a job of its own until release is called.
func blocked(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.commit(context.Background(), 0, func(*batch) error {
			close(begun)
			<-end
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-begun
	return func() {
		close(end)
		wg.Wait()
	}
}

// waiting returns when so many jobs wait.
func waiting(s *Store, n int) {
	for {
		s.line.mu.Lock()
		got := len(s.line.waiting)
		s.line.mu.Unlock()
		if got >= n {
			return
		}
		runtime.Gosched()
	}
}

// What comes while the disk syncs is committed in one transaction behind it.
func TestWritesAreCommittedTogether(t *testing.T) {
	s := openTest(t)
	if _, err := s.EnsureConversation(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}); err != nil {
		t.Fatal(err)
	}
	const n = 40
	release := blocked(t, s)
	var mu sync.Mutex
	batches := map[*batch]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := s.commit(t.Context(), 0, func(b *batch) error {
				mu.Lock()
				batches[b]++
				mu.Unlock()
				return b.log([]ToolUse{{Scope: mine, Tool: fmt.Sprint("t", i)}}, s.now())
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	waiting(s, n)
	release()
	wg.Wait()
	if uses, err := s.Uses(t.Context(), mine, s.now().AddDate(-1, 0, 0)); err != nil || len(uses) != n || len(batches) != 1 {
		t.Errorf("%d writes in %d transactions, error %v", len(uses), len(batches), err)
	}
}

// A job that fails takes nobody with it, whatever it did before.
func TestAWriteThatFailsIsAlone(t *testing.T) {
	boom := errors.New("boom")
	for _, row := range []struct {
		why string
		do  func(b *batch) error
		err error
	}{
		{"it finds nothing", func(b *batch) error { return b.drop(mine, "nobody") }, ErrNotFound},
		{"it fails after it wrote", func(b *batch) error {
			return errors.Join(b.log([]ToolUse{{Scope: mine, Tool: "bad"}}, b.s.now()), boom)
		}, boom},
		{"its statement fails", func(b *batch) error {
			return b.exec(insertMessage, "no such conversation", 1, 1, "user", "", 0, "", "", "")
		}, nil},
	} {
		s := openTest(t)
		release := blocked(t, s)
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if err := s.LogUse(t.Context(), []ToolUse{{Scope: mine, Tool: fmt.Sprint("good", i)}}); err != nil {
					t.Error(err)
				}
			})
			waiting(s, i+1)
			if i == 2 {
				wg.Go(func() {
					if err := s.commit(t.Context(), 0, row.do); err == nil || row.err != nil && !errors.Is(err, row.err) {
						t.Errorf("%s: %v", row.why, err)
					}
				})
				waiting(s, i+2)
			}
		}
		release()
		wg.Wait()
		if uses, err := s.Uses(t.Context(), mine, s.now().AddDate(-1, 0, 0)); err != nil || len(uses) != 5 {
			t.Errorf("%s: %d of 5 writes are there, error %v", row.why, len(uses), err)
		}
	}
}

// One write for which there is no room does not keep out those for which there is.
func TestAFullDiskKeepsOutWhatDoesNotFit(t *testing.T) {
	s, err := open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "archive.db")}, hooks{maxPages: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "run", Full: strings.Repeat("x", 1<<20)}); !errors.Is(err, ErrFull) {
			t.Errorf("a text that is too large: %v", err)
		}
	})
	waiting(s, 1)
	wg.Go(func() {
		if err := s.LogUse(t.Context(), []ToolUse{{Scope: mine, Tool: "small"}}); err != nil {
			t.Errorf("a line that fits: %v", err)
		}
	})
	waiting(s, 2)
	release()
	wg.Wait()
}

// Who gives up while others are written is not written; the leader goes on.
func TestAWriteThatIsGivenUp(t *testing.T) {
	s := openTest(t)
	release := blocked(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- s.LogUse(ctx, []ToolUse{{Scope: mine, Tool: "gone"}}) }()
	waiting(s, 1)
	kept := make(chan error, 1)
	go func() { kept <- s.LogUse(t.Context(), []ToolUse{{Scope: mine, Tool: "kept"}}) }()
	waiting(s, 2)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	release()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	if uses, err := s.Uses(t.Context(), mine, s.now().AddDate(-1, 0, 0)); err != nil || len(uses) != 1 || uses[0].Tool != "kept" {
		t.Errorf("%+v, error %v", uses, err)
	}
}

// A panic reaches its caller and leaves the writer to the others.
func TestAWriteThatPanics(t *testing.T) {
	s := openTest(t)
	release := blocked(t, s)
	died, other := make(chan any, 1), make(chan error, 1)
	go func() {
		defer func() { died <- recover() }()
		_ = s.commit(t.Context(), 0, func(*batch) error { panic("boom") })
	}()
	waiting(s, 1)
	go func() { other <- s.LogUse(t.Context(), []ToolUse{{Scope: mine, Tool: "x"}}) }()
	waiting(s, 2)
	release()
	if got := <-died; got != "boom" {
		t.Errorf("the caller saw %v", got)
	}
	if err := <-other; err == nil {
		t.Error("a write of the transaction that panicked is called made")
	}
	if err := s.LogUse(t.Context(), []ToolUse{{Scope: mine, Tool: "after"}}); err != nil {
		t.Errorf("the writer is stuck: %v", err)
	}
}

// However many write at once, each finds what it was told is there, and numbers
// of messages are without holes.
func TestConcurrentTurns(t *testing.T) {
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
					change := Change{Messages: []Message{{Role: "assistant", Content: fmt.Sprint("answer ", i)}}, Uses: []ToolUse{{Scope: sc, Tool: "t"}}, Marks: []string{fmt.Sprint("mark ", c, i)}}
					if i%2 == 1 { // the question is written anew
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
			if found, err := s.Marked(t.Context(), "ann", fmt.Sprint("mark ", c, n-1)); err != nil || len(found) != 1 || found[0].ID != sc.Conversation {
				rt.Fatalf("marked %+v, error %v", found, err)
			}
		}
	})
}

// A turn begins and ends only in a conversation of one's own.
func TestTurnsOfStrangers(t *testing.T) {
	s := openTest(t)
	if err := s.Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}, []Message{{Role: "user"}}); err != nil {
		t.Fatal(err)
	}
	for _, sc := range []Scope{{Principal: "bob", Conversation: "c1"}, {Principal: "bob", Conversation: "nobody"}} {
		if err := s.Finish(t.Context(), sc, Change{Messages: []Message{{Role: "user"}}, Marks: []string{"m"}, Uses: []ToolUse{{Scope: sc}}}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v: %v", sc, err)
		}
	}
	if err := s.Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: "bob"}, []Message{{Role: "user"}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another's conversation begins: %v", err)
	}
	if err := s.Begin(t.Context(), Conversation{ID: "x"}, nil); err == nil {
		t.Error("a turn of nobody begins")
	}
	if err := s.Finish(t.Context(), mine, Change{From: 9, Messages: []Message{{Role: "user"}}}); err == nil || !strings.Contains(err.Error(), "message 9 does not exist") {
		t.Errorf("%v", err)
	}
	if msgs, err := s.Messages(t.Context(), mine); err != nil || len(msgs) != 1 {
		t.Errorf("%d messages, error %v", len(msgs), err)
	}
}
