package store

import (
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// Where one daemon uses the tables, the end of a turn deletes its steps, the first step of a turn
// those of an earlier one, and the deletion of a conversation all of them. So it is with pieces.
func TestSteps(t *testing.T) {
	pgtest.SQLite(t)
	s, ctx := openTest(t), t.Context()
	c := Conversation{ID: mine.Conversation, Principal: mine.Principal}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := func(want ...string) (r Run) {
		t.Helper()
		list, err := s.Unended(ctx)
		var got []string
		for _, run := range list {
			r = run
			for _, body := range run.Steps {
				got = append(got, string(body))
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		return r
	}
	pieces := func(want ...string) (r Run) {
		t.Helper()
		list, err := s.Unended(ctx)
		var got []string
		for _, run := range list {
			r = run
			for _, body := range run.Pieces {
				got = append(got, string(body))
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		return r
	}
	check(s.Begin(ctx, c, []Message{{Turn: 1, Role: "user", Content: "one"}}))
	steps()
	r := Run{Turn: c.ID, Scope: mine}
	check(s.AddPiece(ctx, &r, 1, []byte(`"old"`)))
	check(s.AddPiece(ctx, &r, 1, []byte(`"a secret"`))) // the end of an earlier turn could not be stored
	check(s.AddPiece(ctx, &r, 2, []byte(`"two"`)))
	r = pieces(`"a secret"`, `"two"`)
	check(s.Finish(ctx, mine, Turn{Messages: []Message{{Turn: 1, Role: "assistant"}}, Run: &r}))
	pieces()
	check(s.AddPiece(ctx, &r, 1, []byte(`"one"`)))
	check(s.EndRun(ctx, c.ID))
	pieces()
	check(s.AddPiece(ctx, &r, 1, []byte(`"a secret"`)))
	check(s.Step(ctx, c.ID, 1, []byte(`"old"`)))
	check(s.Step(ctx, c.ID, 1, []byte(`"a secret"`)))
	check(s.Step(ctx, c.ID, 2, []byte(`"2"`)))
	check(s.Step(ctx, c.ID, 2, []byte(`"two"`))) // again: the first is kept
	r = steps(`"a secret"`, `"two"`)
	if r.Scope != mine {
		t.Fatalf("%+v", r)
	}
	check(s.Finish(s.Fenced(ctx, r.Turn, 0), mine, Turn{Messages: []Message{{Turn: 1, Role: "assistant"}}, Run: &r}))
	steps()
	check(s.Step(ctx, c.ID, 1, []byte(`"three"`)))
	check(s.EndRun(ctx, c.ID))
	steps()
	check(s.Step(ctx, c.ID, 1, []byte(`"a secret"`)))
	_, err := s.DeleteConversation(ctx, mine)
	check(err)
	steps()
	if in := onDisk(t, s, "a secret"); len(in) > 0 {
		t.Errorf("in %v", in)
	}
}
