package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// The errors of turns that several daemons run. ErrFenced is the database's.
var (
	// ErrBusy is the error of a conversation in which a turn runs, on any daemon.
	ErrBusy = errors.New("the conversation is answering")
	// ErrFenced is the error of a write of a turn that another daemon has taken over.
	ErrFenced = sqlite.ErrFenced
)

// A Run is a turn under way. Only one daemon at a time owns it, and each new owner's Fence is
// one higher; writes of an earlier one fail.
//
// In SQLite a Run is no more than its Steps and Pieces, and a short turn without calls
// has none: Step, AddPiece, EndRun, Unended and Finish are for it too.
type Run struct {
	Turn  string // its id; that of the conversation in SQLite
	Scope archive.Scope
	Fence int64
	// Ask is how the turn began, as JSON.
	Ask []byte
	// Resumed says that the turn's events are kept, so that its client can read them on any daemon.
	// It then ends with the last of them. One that is claimed is Resumed only if its client has
	// an event: another client may have been refused, and has asked again.
	Resumed bool
	// Stored says that the turn's messages are stored; Outcome is what its last events say.
	Stored  bool
	Outcome []byte
	// Unseen says that a turn that is claimed has no event yet that its client could have.
	Unseen bool
	// Steps are those that Step has stored, and Begun the ids of the calls that have begun.
	Steps [][]byte
	Begun map[string]bool
	// Pieces are those that AddPiece has stored.
	Pieces [][]byte
}

// runStatements are those that write Runs. In SQLite there are step and drop alone.
type runStatements struct {
	guard, insert, stored, end, drop, leave *sqlite.Statement
	step, call, events                      *sqlite.Statement
	piece, dropPieces                       *sqlite.Statement
	conversation, wake, unused              *sqlite.Statement // conversation inserts it and insert, unused deletes it without anything
	guardStep                               *sqlite.Statement // guard, and then step
	guardDrop, guardDropAll, guardEnd       *sqlite.Statement // guard, and then the rest of a turn's end
}

func (s *Store) prepareRuns(ctx context.Context) error {
	if !s.Shared() {
		return s.db.PrepareAll(ctx, map[**sqlite.Statement]string{
			&s.runs.step:       "INSERT INTO turn_steps (conversation_id, seq, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			&s.runs.drop:       "DELETE FROM turn_steps WHERE conversation_id = ? AND seq >= ?",
			&s.runs.piece:      "INSERT INTO turn_pieces (conversation_id, seq, body) VALUES (?, ?, ?) ON CONFLICT (conversation_id, seq) DO UPDATE SET body = excluded.body",
			&s.runs.dropPieces: "DELETE FROM turn_pieces WHERE conversation_id = ?",
		})
	}
	elsewhere := "read_at > created_at + interval '100 milliseconds'" // a client has read the turn on another daemon
	ours, touched := "turn_id = ?1 AND fence = ?2 AND state <> 'ended'", "touched AS (UPDATE conversations SET updated_at = ?3 WHERE id = ?4 AND principal = ?5)"
	return s.db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&s.runs.guard: "SELECT 1 / count(*) FROM runs WHERE turn_id = ? AND fence = ? AND state <> 'ended'",
		&s.runs.conversation: `WITH run AS (INSERT INTO runs (turn_id, conversation_id, principal, ask, resumed, owner) VALUES (?6, ?1, ?2, ?7, ?8, ?9))
			INSERT INTO conversations (id, principal, title, profile, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)`,
		&s.runs.insert: "INSERT INTO runs (turn_id, conversation_id, principal, ask, resumed, owner) VALUES (?, ?, ?, ?, ?, ?)",
		&s.runs.stored: "UPDATE runs SET state = 'stored', outcome = ? WHERE turn_id = ?",
		&s.runs.end:    "UPDATE runs SET state = 'ended', ended_at = clock_timestamp() WHERE turn_id = ?",
		&s.runs.leave:  "UPDATE runs SET owner = '', read_at = clock_timestamp() WHERE turn_id = ?",
		&s.runs.drop:   "DELETE FROM runs WHERE turn_id = ?",
		&s.runs.unused: `DELETE FROM conversations WHERE id = ?1 AND NOT EXISTS (SELECT FROM messages WHERE conversation_id = ?1) AND NOT EXISTS
			(SELECT FROM tool_result_archive WHERE conversation_id = ?1) AND NOT EXISTS (SELECT FROM tool_calls WHERE conversation_id = ?1)
			AND NOT EXISTS (SELECT FROM scripts WHERE conversation_id = ?1)`,
		&s.runs.guardDropAll: "WITH done AS (DELETE FROM runs WHERE " + ours + " RETURNING 1), steps AS (DELETE FROM run_steps WHERE turn_id = ?1), calls AS (DELETE FROM run_calls WHERE turn_id = ?1), pieces AS (DELETE FROM run_pieces WHERE turn_id = ?1), " +
			"events AS (DELETE FROM run_events WHERE turn_id = ?1), " + touched + " SELECT 1 / count(*) FROM done",
		&s.runs.guardDrop: "WITH done AS (DELETE FROM runs WHERE " + ours + " RETURNING 1), " + touched + " SELECT 1 / count(*) FROM done",
		&s.runs.guardEnd: "WITH done AS (UPDATE runs SET state = 'ended', ended_at = clock_timestamp() WHERE " + ours + " RETURNING " + elsewhere + " AS elsewhere), " + touched +
			", events AS (INSERT INTO run_events (turn_id, first, last, data) VALUES (?1, ?6, ?7, ?8) ON CONFLICT DO NOTHING) SELECT 1 / count(*), " +
			"count(CASE WHEN elsewhere THEN CAST(" + strings.TrimPrefix(sqlite.Notify, "SELECT ") + " AS text) END) FROM done",
		&s.runs.guardStep: `INSERT INTO run_steps (turn_id, seq, body) SELECT ?1, ?3 / count(*), ?4 FROM runs WHERE ` + ours + `
			ON CONFLICT (turn_id, seq) DO UPDATE SET body = excluded.body`,
		&s.runs.call:   "INSERT INTO run_calls (turn_id, call_id) VALUES (?, ?)",
		&s.runs.piece:  "INSERT INTO run_pieces (turn_id, fence, seq, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		&s.runs.wake:   sqlite.Notify + " FROM runs WHERE turn_id = ? AND " + elsewhere,
		&s.runs.events: "INSERT INTO run_events (turn_id, first, last, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
	})
}

// Fenced returns a context whose writes fail with ErrFenced when another daemon owns the turn.
func (s *Store) Fenced(ctx context.Context, turn string, fence int64) context.Context {
	if !s.Shared() {
		return ctx
	}
	return sqlite.Guarded(ctx, s.runs.guard, turn, fence)
}

// begin adds a Run to the transaction in which its turn begins.
func (s *Store) begin(b *sqlite.Batch, c Conversation, r *Run, owner string) error {
	if r == nil {
		return nil
	}
	return b.Run(s.runs.insert, r.Turn, c.ID, c.Principal, string(r.Ask), r.Resumed, owner)
}

// Step stores how far a turn is. It may be tried again with the same number. ctx must be
// Fenced, as those of all functions below that write to a turn.
func (s *Store) Step(ctx context.Context, turn string, number int, body []byte) error {
	if s.Shared() {
		ctx = sqlite.Merged(ctx, s.runs.guardStep, number, string(body))
	}
	return wrap(ctx, "storing a turn", s.db.Commit(ctx, len(body), func(b *sqlite.Batch) error {
		if s.Shared() {
			return nil
		}
		rows, err := b.Exec(s.runs.step, turn, number, string(body))
		if err == nil && rows == 0 { // it is tried again, or the end of an earlier turn could not be stored
			err = errors.Join(b.Run(s.runs.drop, turn, number), b.Run(s.runs.step, turn, number, string(body)))
		}
		return err
	}))
}

// AddPiece stores a piece of the reply that is under way, by its number from 1 on. The pieces are
// deleted with the steps. It may be tried again with the same number.
func (s *Store) AddPiece(ctx context.Context, r *Run, number int, body []byte) error {
	return wrap(ctx, "storing a turn", s.db.Commit(ctx, len(body), func(b *sqlite.Batch) error {
		if s.Shared() {
			return b.Run(s.runs.piece, r.Turn, r.Fence, number, string(body))
		}
		return b.Run(s.runs.piece, r.Turn, number, string(body))
	}))
}

// LeaveRun leaves a turn for another daemon to take over.
func (s *Store) LeaveRun(ctx context.Context, turn string) error {
	return wrap(ctx, "storing a turn", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error { return b.Run(s.runs.leave, turn) }))
}

// BeginCall stores that a call begins. A call that has begun before is ErrFenced.
func (s *Store) BeginCall(ctx context.Context, turn, call string) error {
	err := s.db.Commit(ctx, 0, func(b *sqlite.Batch) error { return b.Run(s.runs.call, turn, call) })
	if sqlite.IsTaken(err, "run_calls_pkey") {
		return ErrFenced
	}
	return wrap(ctx, "storing a turn", err)
}

// AddEvents stores events of a turn's stream. closes says that no others follow: the turn has
// ended, and is dropped after five minutes.
func (s *Store) AddEvents(ctx context.Context, turn string, e Events, closes bool) error {
	return wrap(ctx, "storing a turn", s.db.Commit(ctx, len(e.Data), func(b *sqlite.Batch) (err error) {
		if e.Last >= e.First {
			err = b.Run(s.runs.events, turn, e.First, e.Last, e.Data)
		}
		if closes && err == nil {
			err = b.Run(s.runs.end, turn)
		}
		if err == nil {
			err = b.Run(s.runs.wake, WakeEvents+" "+turn, turn)
		}
		return err
	}))
}

// The kinds of changes that daemons wake each other for; see sqlite.DB.Wake. The ids are
// those of turns.
const (
	WakeEvents = "events"
	WakeCancel = "cancel"
)

// Wake is sqlite.DB.Wake.
func (s *Store) Wake(kind string, f func(id string)) (stop func()) { return s.db.Wake(kind, f) }

// Events are some of a turn's stream.
type Events struct {
	First, Last int
	Data        []byte
}

// EventsAfter returns the events of a principal's turn after number n: all of those that were
// added together with one of them, and whether no others follow them. The turn may run on any daemon.
// A turn that the principal does not have, or that has ended for long, is ErrNotFound.
func (s *Store) EventsAfter(ctx context.Context, principal, turn string, n int) (list []Events, closed bool, err error) {
	const doing = "reading a turn"
	var state string
	err = s.db.QueryRowContext(ctx, "SELECT state FROM runs WHERE turn_id = ? AND principal = ?", turn, principal).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, ErrNotFound
	}
	if err != nil {
		return nil, false, wrap(ctx, doing, err)
	}
	const most = 256
	err = s.db.Each(ctx, "SELECT first, last, data FROM run_events WHERE turn_id = ? AND last > ? ORDER BY last LIMIT ?", []any{turn, n, most}, func(row sqlite.Row) error {
		var e Events
		err := row.Scan(&e.First, &e.Last, &e.Data)
		list = append(list, e)
		return err
	})
	return list, state == "ended" && len(list) < most, wrap(ctx, doing, err)
}

// LastEvent returns the number of the last stored event of a turn, 0 if there is none.
func (s *Store) LastEvent(ctx context.Context, turn string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT coalesce(max(last), 0) FROM run_events WHERE turn_id = ?", turn).Scan(&n)
	return n, wrap(ctx, "reading a turn", err)
}

// ReadElsewhere reports whether a client has read a turn on another daemon within a time.
func (s *Store) ReadElsewhere(ctx context.Context, turn string, within time.Duration) (read bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT read_at > clock_timestamp() - CAST(? AS bigint) * interval '1 millisecond' FROM runs WHERE turn_id = ?", within.Milliseconds(), turn).Scan(&read)
	return read, wrap(ctx, "reading a turn", err)
}

// Reads says that a client reads a turn that another daemon may own.
func (s *Store) Reads(ctx context.Context, turn string) error {
	_, err := s.db.Beside(ctx, "UPDATE runs SET read_at = clock_timestamp() WHERE turn_id = ?", turn)
	return wrap(ctx, "reading a turn", err)
}

// RunOf returns the turn that runs in a conversation, or ErrNotFound.
func (s *Store) RunOf(ctx context.Context, sc archive.Scope) (turn string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT turn_id FROM runs WHERE conversation_id = ? AND principal = ? AND state = 'running' AND resumed", sc.Conversation, sc.Principal).Scan(&turn)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	}
	return turn, wrap(ctx, "reading a turn", err)
}

// CancelRun asks the daemon that owns a principal's turn to end it.
func (s *Store) CancelRun(ctx context.Context, principal, turn string) error {
	return wrap(ctx, "ending a turn", s.db.Transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE runs SET cancel = TRUE WHERE turn_id = ? AND principal = ? AND state = 'running'", turn, principal)
		if err == nil {
			err = s.db.Notify(ctx, tx, WakeCancel, turn)
		}
		return err
	}))
}

// An Owned is a turn that a daemon owns. Cancel says that somebody has asked to end it.
type Owned struct {
	Turn   string
	Cancel bool
}

// Owned returns the turns of a daemon that have not ended.
func (s *Store) Owned(ctx context.Context, owner string) (list []Owned, err error) {
	err = s.db.Each(ctx, "SELECT turn_id, cancel FROM runs WHERE owner = ? AND state <> 'ended'", []any{owner}, func(row sqlite.Row) error {
		var o Owned
		err := row.Scan(&o.Turn, &o.Cancel)
		list = append(list, o)
		return err
	})
	return list, wrap(ctx, "reading a turn", err)
}

// known is the condition that a client knows a turn of runs, and can read the rest of it.
const known = "resumed AND (state = 'stored' OR EXISTS (SELECT FROM run_events WHERE run_events.turn_id = runs.turn_id))"

// Abandon leaves a turn that its daemon does not run, as when the database was away: a daemon
// takes it over, or gives it up if no client knows it.
func (s *Store) Abandon(ctx context.Context, owner, turn string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE runs SET owner = '' WHERE turn_id = ? AND owner = ?", turn, owner)
	return wrap(ctx, "ending a turn", err)
}

// aliveFor is how long a daemon counts as alive after it said so.
const aliveFor = "interval '3 seconds'"

// Join makes a daemon one of those that live. The earlier one is dead, and so are requests whose ids begin with its own.
func (s *Store) Join(ctx context.Context, id, version, earlier string) error {
	_, err := s.db.Beside(ctx, "WITH requests AS (DELETE FROM usage_running WHERE ?3 <> '' AND starts_with(id, ?3)), old AS (UPDATE daemons SET expires_at = clock_timestamp() WHERE id = ?3)"+
		" INSERT INTO daemons (id, version, expires_at) VALUES (?1, ?2, clock_timestamp() + "+aliveFor+")", id, version, earlier)
	return wrap(ctx, "joining the other daemons", err)
}

// Beat says that a daemon lives. It returns false if others took it for dead meanwhile, and
// what it had under way over. It does not wait for writes.
func (s *Store) Beat(ctx context.Context, id string) (alive bool, err error) {
	n, err := s.db.Beside(ctx, "UPDATE daemons SET expires_at = clock_timestamp() + "+aliveFor+" WHERE id = ?", id)
	return n > 0, wrap(ctx, "joining the other daemons", err)
}

// Leave removes a daemon, whose turns others may take over at once.
func (s *Store) Leave(ctx context.Context, id string) error {
	_, err := s.db.Beside(ctx, "DELETE FROM daemons WHERE id = ?", id)
	return wrap(ctx, "leaving the other daemons", err)
}

// dead is the condition that a row of daemons is one of a daemon that is dead. None is while
// the server has just started: no daemon could say that it lives.
const dead = "(daemons.expires_at <= clock_timestamp() AND pg_postmaster_start_time() < clock_timestamp() - " + aliveFor + ")"

// left is the condition that a turn has no daemon that lives. Its parameters are those of Claim.
const left = "state <> 'ended' AND owner <> ?1 AND NOT EXISTS (SELECT FROM daemons WHERE daemons.id = runs.owner AND NOT " + dead +
	") AND (?2 = '' OR conversation_id = ?2 AND NOT EXISTS (SELECT FROM daemons WHERE daemons.id <> ?1 AND NOT " + dead + "))"

// recent is the condition that a turn of runs had a daemon within the last minute. An older
// one is not gone on with: no client waits for it, and its calls would come as a surprise.
const recent = "greatest(read_at, (SELECT expires_at FROM daemons WHERE daemons.id = runs.owner)) > clock_timestamp() - interval '1 minute'"

// Claim gives a daemon n of the turns whose daemons are dead; with a conversation, its, if no other daemon lives.
func (s *Store) Claim(ctx context.Context, owner string, n int, conversation string) (claimed []Run, err error) {
	const doing = "taking over a turn"
	var any bool
	if err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM runs WHERE "+left+")", owner, conversation).Scan(&any); err != nil || !any {
		return nil, wrap(ctx, doing, err)
	}
	err = s.db.Transact(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "UPDATE runs SET owner = ?1, fence = fence + 1 FROM (SELECT turn_id AS id, "+recent+" AS recent FROM runs WHERE "+left+
			" ORDER BY created_at LIMIT ?3) AS old WHERE turn_id = id RETURNING turn_id, conversation_id, principal, fence, ask, "+known+" AND (recent OR state = 'stored'), state = 'stored', outcome, resumed AND NOT ("+known+")", owner, conversation, n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r := Run{Begun: map[string]bool{}}
			if err := rows.Scan(&r.Turn, &r.Scope.Conversation, &r.Scope.Principal, &r.Fence, &r.Ask, &r.Resumed, &r.Stored, &r.Outcome, &r.Unseen); err != nil {
				return err
			}
			claimed = append(claimed, r)
		}
		if err := rows.Err(); err != nil || len(claimed) == n {
			return err
		}
		// A daemon that was taken for dead finds that its row is gone.
		_, err = tx.ExecContext(ctx, "DELETE FROM daemons WHERE id <> ? AND "+dead, owner)
		return err
	})
	for i := range claimed {
		if err == nil {
			err = s.steps(ctx, &claimed[i])
		}
	}
	return claimed, wrap(ctx, doing, err)
}

// Unended returns the turns with steps or pieces that an earlier daemon has not ended, in SQLite.
func (s *Store) Unended(ctx context.Context) (list []Run, err error) {
	err = s.db.Each(ctx, "SELECT id, principal FROM conversations WHERE id IN (SELECT conversation_id FROM turn_steps UNION SELECT conversation_id FROM turn_pieces)", nil, func(row sqlite.Row) error {
		var r Run
		err := row.Scan(&r.Turn, &r.Scope.Principal)
		r.Scope.Conversation = r.Turn
		list = append(list, r)
		return err
	})
	for i := range list {
		if err == nil {
			err = s.steps(ctx, &list[i])
		}
	}
	return list, wrap(ctx, "reading a turn", err)
}

// steps reads how far a turn is.
func (s *Store) steps(ctx context.Context, r *Run) error {
	steps := "run_steps WHERE turn_id = ?"
	if !s.Shared() {
		steps = "turn_steps WHERE conversation_id = ? AND seq > 0"
	}
	err := s.db.Each(ctx, "SELECT body FROM "+steps+" ORDER BY seq", []any{r.Turn}, func(row sqlite.Row) error {
		var body []byte
		err := row.Scan(&body)
		r.Steps = append(r.Steps, body)
		return err
	})
	if err == nil {
		err = s.pieces(ctx, r)
	}
	if err != nil || !s.Shared() {
		return err
	}
	return s.db.Each(ctx, "SELECT call_id FROM run_calls WHERE turn_id = ?", []any{r.Turn}, func(row sqlite.Row) error {
		var id string
		err := row.Scan(&id)
		r.Begun[id] = true
		return err
	})
}

// pieces reads what is stored of the reply under way, of the last daemon that had the turn.
func (s *Store) pieces(ctx context.Context, r *Run) error {
	from := "turn_pieces WHERE conversation_id = ?1"
	if s.Shared() {
		from = "run_pieces WHERE turn_id = ?1 AND fence = (SELECT max(fence) FROM run_pieces WHERE turn_id = ?1)"
	}
	return s.db.Each(ctx, "SELECT body FROM "+from+" ORDER BY seq", []any{r.Turn}, func(row sqlite.Row) error {
		var body []byte
		err := row.Scan(&body)
		r.Pieces = append(r.Pieces, body)
		return err
	})
}

// EndRun ends a turn whose messages are stored, or that cannot go on. ctx must be Fenced.
func (s *Store) EndRun(ctx context.Context, turn string) error {
	if !s.Shared() {
		return wrap(ctx, "storing a turn", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error { return s.dropRun(b, turn) }))
	}
	return s.AddEvents(ctx, turn, Events{First: 1}, true)
}

// dropRun deletes the steps and pieces of a turn, in SQLite.
func (s *Store) dropRun(b *sqlite.Batch, turn string) error {
	return errors.Join(b.Run(s.runs.drop, turn, 1), b.Run(s.runs.dropPieces, turn))
}

// DropRuns deletes turns that ended five minutes ago, and what is left of others.
func (s *Store) DropRuns(ctx context.Context) error {
	_, err := s.db.Beside(ctx, "WITH old AS (DELETE FROM mcp_mail WHERE created_at < "+clockSQL+" - ?) DELETE FROM runs WHERE state = 'ended' AND ended_at < clock_timestamp() - interval '5 minutes'", mailTime.Milliseconds())
	for _, table := range []string{"run_steps", "run_calls", "run_events", "run_pieces"} {
		_, left := s.db.Beside(ctx, "DELETE FROM "+table+" WHERE NOT EXISTS (SELECT FROM runs WHERE runs.turn_id = "+table+".turn_id)")
		err = errors.Join(err, left)
	}
	return wrap(ctx, "deleting turns that have ended", err)
}
