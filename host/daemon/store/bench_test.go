package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

func benchStore(b *testing.B) *Store {
	a, err := archive.Open(b.Context(), archive.Config{Path: filepath.Join(b.TempDir(), "archive.db"), URL: pgtest.URL(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	s, err := Open(b.Context(), a)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkTurn measures what a turn with one call writes, in new conversations, for
// several turns at once.
func BenchmarkTurn(b *testing.B) {
	for _, many := range []int{1, 64} {
		b.Run(fmt.Sprintf("at_once=%d", many), func(b *testing.B) {
			s := benchStore(b)
			b.SetParallelism(many)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := benchTurn(b.Context(), s); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func benchTurn(ctx context.Context, s *Store) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	sc := Scope{Principal: "ann", Conversation: id.String()}
	body := []byte(strings.Repeat("x", 200))
	if err := s.Begin(ctx, Conversation{ID: sc.Conversation, Principal: sc.Principal, Title: "hello"}, []Message{{Turn: 1, Role: "user", Content: "hello", Body: body}}); err != nil {
		return err
	}
	return s.Finish(ctx, sc, Turn{
		Messages:     []Message{{Turn: 1, Role: "assistant", Body: body}, {Turn: 1, Role: "results", Content: "echo: hello", Body: body}, {Turn: 1, Role: "assistant", Content: "It said hello.", Body: body}},
		Calls:        []Call{{Scope: sc, Turn: 1, CallID: "call_1", Tool: "echo", Model: "m", Format: "native", Code: "ok"}},
		Usage:        &TurnUsage{Turn: 1, Model: "m", Reason: "answer"},
		Fingerprints: []string{fmt.Sprintf("%032x%032x", rand.Uint64(), rand.Uint64())}, Trace: &Trace{Turn: 1, Body: []byte(strings.Repeat("x", 900))},
	})
}

// BenchmarkLogCalls logs calls of a busy daemon, as many at once as the daemon does.
func BenchmarkLogCalls(b *testing.B) {
	s := benchStore(b)
	var uses []Call
	for i := range 4096 {
		uses = append(uses, Call{Scope: Scope{Principal: "local", Conversation: "mcp-local"}, CallID: uuid.NewString(), Tool: "echo", Format: "mcp", Code: "ok", Produced: 99, Shown: 99, Duration: time.Duration(300+i%128) * time.Microsecond})
	}
	began := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		for i := range uses { // as they come from many callers
			began = began.Add(40 * time.Microsecond)
			uses[i].Created = began.Add(-uses[i].Duration)
		}
		if err := s.LogCalls(b.Context(), uses); err != nil {
			b.Fatal(err)
		}
	}
}
