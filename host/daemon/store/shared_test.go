package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// shared opens stores that share a database, as daemons do; they begin at the same time.
func shared(t *testing.T, n int) []*fixture {
	t.Helper()
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	url, stores := pgtest.URL(t), make([]*fixture, n)
	var opening sync.WaitGroup
	for i := range stores {
		opening.Go(func() {
			a, err := archive.Open(context.Background(), archive.Config{URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { a.Close() })
			s, err := Open(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			stores[i] = &fixture{s, a, ""}
		})
	}
	if opening.Wait(); t.Failed() {
		t.FailNow()
	}
	return stores
}

// What a write has read stays true until it is committed, whichever daemon writes.
func TestDaemonsWriteOneAfterTheOther(t *testing.T) {
	t.Parallel()
	stores := shared(t, 3)
	if err := stores[0].Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}, nil); err != nil {
		t.Fatal(err)
	}
	const each = 30
	var writing sync.WaitGroup
	for i, s := range stores {
		writing.Go(func() {
			for n := range each { // Append reads the last number
				if err := s.Append(t.Context(), mine, []Message{{Role: "user", Content: strconv.Itoa(i*each + n)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	ms, err := stores[1].Messages(t.Context(), mine)
	if err != nil || len(ms) != 3*each || ms[len(ms)-1].Seq != 3*each {
		t.Errorf("%d messages: %v", len(ms), err)
	}
}

// A daemon that is frozen in a transaction keeps the others for two seconds, and then has
// written nothing.
func TestAFrozenTransactionEnds(t *testing.T) {
	t.Parallel()
	stores := shared(t, 2)
	idle := ""
	err := stores[0].db.Transact(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO conversations (id, principal, title, profile, created_at, updated_at) VALUES ('frozen', 'ann', '', '', 0, 0)"); err != nil {
			return err
		}
		if err := tx.QueryRow("SHOW idle_in_transaction_session_timeout").Scan(&idle); err != nil {
			return err
		}
		return stores[1].Begin(t.Context(), Conversation{ID: "other", Principal: "ann"}, nil)
	})
	if err = sqlite.Wrap(t.Context(), "writing", err); !errors.Is(err, archive.ErrUnreachable) || idle != "2s" {
		t.Errorf("%v; it may be idle for %s", err, idle)
	}
	if list, err := stores[0].Conversations(t.Context(), "ann", 0); err != nil || len(list) != 1 || list[0].ID != "other" {
		t.Errorf("%v %v", list, err)
	}
	if err := stores[0].Begin(t.Context(), Conversation{ID: "again", Principal: "ann"}, nil); err != nil {
		t.Error(err)
	}
}

// A daemon is woken by what another one has committed, and not by what it has not.
func TestDaemonsWakeEachOther(t *testing.T) {
	t.Parallel()
	stores := shared(t, 2)
	woken := make(chan string, 256)
	defer stores[0].db.Wake("run", func(id string) { woken <- id })()
	defer stores[0].db.Wake("other", func(id string) {
		if id != "" {
			t.Errorf("woken by %q", id)
		}
	})()
	boom := errors.New("boom")
	if err := stores[1].db.Commit(t.Context(), 0, func(b *sqlite.Batch) error {
		return errors.Join(b.Notify("run", "no"), boom)
	}); !errors.Is(err, boom) {
		t.Error(err)
	}
	for end := time.Now().Add(2 * time.Minute); ; { // until the daemon listens
		if err := stores[1].db.Commit(t.Context(), 0, func(b *sqlite.Batch) error { return b.Notify("run", "a b") }); err != nil {
			t.Fatal(err)
		}
		select {
		case id := <-woken:
			if id == "a b" {
				return
			}
			if id != "" {
				t.Fatalf("woken by %q", id)
			}
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("not woken")
		}
	}
}

// A turn whose daemon has been gone for a minute is claimed, to be given up: its calls would
// come as a surprise. One that is stored still gets its last events.
func TestOldTurnsDoNotGoOn(t *testing.T) {
	t.Parallel()
	s := shared(t, 2)
	for turn, age := range map[string]string{"new": "10 seconds", "old": "61 seconds", "stored": "1 day"} {
		c := Conversation{ID: turn, Principal: "ann"}
		r := Run{Turn: turn, Scope: archive.Scope{Principal: "ann", Conversation: turn}, Fence: 1, Ask: []byte("{}"), Resumed: true}
		if err := s[0].BeginRun(t.Context(), c, []Message{{Role: "user"}}, 0, &r, "a"); err != nil {
			t.Fatal(err)
		}
		ctx := s[0].Fenced(t.Context(), turn, 1)
		if err := s[0].AddEvents(ctx, turn, Events{1, 1, []byte("data: 1\n\n")}, false); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{"before", "after"} { // the commit of the first had no answer
			if err := s[0].Step(ctx, turn, 1, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		if turn == "stored" {
			if err := s[0].Finish(ctx, r.Scope, Turn{Run: &r}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s[0].LeaveRun(ctx, turn); err != nil {
			t.Fatal(err)
		}
		if _, err := s[0].db.ExecContext(t.Context(), "UPDATE runs SET read_at = clock_timestamp() - CAST(? AS interval) WHERE turn_id = ?", age, turn); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := s[1].Claim(t.Context(), "b", 10, "")
	if err != nil || len(claimed) != 3 {
		t.Fatalf("%+v, %v", claimed, err)
	}
	for _, r := range claimed {
		if len(r.Steps) != 1 || string(r.Steps[0]) != "after" || r.Resumed != (r.Turn != "old") || r.Stored != (r.Turn == "stored") || r.Fence != 2 {
			t.Errorf("%+v", r)
		}
	}
}

// A question does not bring back a conversation that was deleted while it was asked.
func TestBeginAfterDeletion(t *testing.T) {
	s := shared(t, 1)[0]
	r := Run{Turn: "t", Scope: mine, Fence: 1, Ask: []byte("{}")}
	err := s.BeginRun(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}, []Message{{Role: "user"}}, 1, &r, "a")
	if list, _ := s.Conversations(t.Context(), mine.Principal, 10); !errors.Is(err, ErrBusy) || len(list) > 0 {
		t.Errorf("%v, %v", err, list)
	}
}

// What waits for a person goes with its conversation.
func TestDeletedConversationAsksNobody(t *testing.T) {
	s := shared(t, 1)[0]
	if err := s.Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}, []Message{{Role: "user"}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for id, in := range map[string]string{"here": mine.Conversation, "elsewhere": "other", "settled": mine.Conversation} {
		r := ApprovalRow{ID: id, Principal: mine.Principal, Same: id, Asked: now, Expires: now.Add(time.Hour), Body: []byte(`{"conversation_id":"` + in + `"}`)}
		if _, _, err := s.Approvals().Add(t.Context(), r, 8, 8); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Approvals().Settle(t.Context(), mine.Principal, "settled", "answered", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteConversation(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	list, err := s.Approvals().List(t.Context(), mine.Principal)
	if err != nil || len(list) != 1 || list[0].ID != "elsewhere" {
		t.Errorf("%v, %v", list, err)
	}
}

// A migration that changes several tables comes to its end though daemons that read them are
// in its way.
func TestMigrationsTryAgain(t *testing.T) {
	t.Parallel()
	db := shared(t, 1)[0].archive.DB()
	var schema string
	if err := db.QueryRowContext(t.Context(), "SELECT current_schema()").Scan(&schema); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("pgx", os.Getenv("WEIR_TEST_POSTGRES_URL")+"&search_path="+schema)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	reading, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	read := func(query string) {
		t.Helper()
		if err := reading.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Error(err)
		}
	}
	read("SELECT length(set_config('deadlock_timeout', '20s', true))") // the migration is ended
	read("SELECT count(*) FROM turns")
	migrated := make(chan error)
	go func() {
		migrated <- db.Migrate(t.Context(), sqlite.Schema{Name: "grown", Files: fstest.MapFS{"00001_grown.sql": {
			Data: []byte("ALTER TABLE messages ADD COLUMN grown TEXT; ALTER TABLE turns ADD COLUMN grown TEXT;")}}})
	}()
	for n = 0; n == 0 && !t.Failed(); {
		read("SELECT count(*) FROM pg_locks WHERE relation = 'turns'::regclass AND NOT granted")
	}
	read("SELECT count(*) FROM messages") // each waits for the other
	if err := errors.Join(reading.Rollback(), <-migrated); err != nil {
		t.Error(err)
	}
}

// What ends a turn, or stores a step of it, is one statement with the guard: a daemon that has lost
// the turn changes nothing with it, and the one that has it changes all.
func TestGuardsOfTurns(t *testing.T) {
	s := shared(t, 1)[0]
	for name, ask := range map[string]struct {
		run   Run
		write func(ctx context.Context, r Run) error
		rows  [4]int // of runs, run_steps, run_events and run_pieces, once it is written
	}{
		"step":   {Run{}, func(ctx context.Context, r Run) error { return s.Step(ctx, r.Turn, 2, []byte("{}")) }, [4]int{1, 2, 1, 1}},
		"piece":  {Run{}, func(ctx context.Context, r Run) error { return s.AddPiece(ctx, &r, 2, []byte("{}")) }, [4]int{1, 1, 1, 2}},
		"left":   {Run{}, func(ctx context.Context, r Run) error { return s.Finish(ctx, r.Scope, Turn{Last: 1, Run: &r}) }, [4]int{0, 1, 1, 1}},
		"steps":  {Run{Steps: [][]byte{nil}}, func(ctx context.Context, r Run) error { return s.Finish(ctx, r.Scope, Turn{Last: 1, Run: &r}) }, [4]int{}},
		"pieces": {Run{Pieces: [][]byte{nil}}, func(ctx context.Context, r Run) error { return s.Finish(ctx, r.Scope, Turn{Last: 1, Run: &r}) }, [4]int{}},
		"events": {Run{Resumed: true}, func(ctx context.Context, r Run) error {
			return s.Finish(ctx, r.Scope, Turn{Last: 1, Run: &r, Events: Events{2, 2, []byte("e")}})
		}, [4]int{1, 1, 2, 1}},
	} {
		r := ask.run
		r.Turn, r.Scope, r.Fence, r.Ask = name, archive.Scope{Principal: "ann", Conversation: name}, 1, []byte("{}")
		ctx := s.Fenced(t.Context(), name, 1)
		err := s.BeginRun(t.Context(), Conversation{ID: name, Principal: "ann"}, []Message{{Role: "user"}}, 0, &r, "a")
		err = errors.Join(err, s.Step(ctx, name, 1, []byte("{}")), s.AddEvents(ctx, name, Events{1, 1, []byte("e")}, false), s.AddPiece(ctx, &r, 1, []byte("{}")))
		if err != nil {
			t.Fatal(err)
		}
		rows := func() (n [4]int, at time.Time) {
			for i, table := range []string{"runs", "run_steps", "run_events", "run_pieces"} {
				if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE turn_id = ?", name).Scan(&n[i]); err != nil {
					t.Fatal(err)
				}
			}
			c, err := s.Conversation(t.Context(), r.Scope)
			if err != nil {
				t.Fatal(err)
			}
			return n, c.Updated
		}
		exec := func(query string, n int) {
			if _, err := s.db.ExecContext(t.Context(), query, n, name); err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE conversations SET updated_at = ? WHERE id = ?", 1)
		_, began := rows()
		exec("UPDATE runs SET fence = ? WHERE turn_id = ?", 2)
		if err := ask.write(ctx, r); !errors.Is(err, ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
		if n, at := rows(); n != [4]int{1, 1, 1, 1} || !at.Equal(began) {
			t.Errorf("%s, fenced: %v, %v", name, n, at)
		}
		exec("UPDATE runs SET fence = ? WHERE turn_id = ?", 1)
		if err := ask.write(ctx, r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, at := rows(); n != ask.rows || name != "step" && name != "piece" && !at.After(began) {
			t.Errorf("%s: %v, not %v; %v", name, n, ask.rows, at)
		}
	}
}
