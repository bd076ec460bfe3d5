// Package journal keeps scripts under way in the database, so that each goes on after a
// crash, a restart or days, and none of its calls happens twice.
//
// A row has the last stored state of a script: a snapshot with what the script waited for
// in it. Save replaces the state in one transaction. Begin says that a call may have an
// effect from now on, End what came of it: after a crash a want that has begun and not
// ended is one whose outcome nothing knows. What happened between the last Save and the
// crash and is in no row had no effect, and happens again.
package journal

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// ErrNotFound is the error of a script that the principal does not have, that has ended, or
// of a want that it does not have.
var ErrNotFound = errors.New("no such script")

// ErrTooMany is the error of a script more than a principal may have under way.
var ErrTooMany = errors.New("too many scripts are under way")

// A State says how far a script is.
type State string

// The states. Only the first two can change.
const (
	Running   State = "running" // it computes or waits for calls; after a crash it goes on
	Waiting   State = "waiting" // all that it waits for waits for a person
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Ended reports whether a script of this state has ended.
func (s State) Ended() bool { return s != Running && s != Waiting }

// A Script is one under way, or one that has ended.
type Script struct {
	ID           string
	Principal    string
	Conversation string
	State        State
	// Created is when it began, Updated when its state was stored last.
	Created, Updated time.Time
	// Runtime identifies the engine that the Snapshot needs; empty: there is no snapshot,
	// and the script begins with its source.
	Runtime string
	// Script is what was asked for, Kept what the runner knows beside the snapshot, Outcome
	// what became of the script; all are JSON.
	Script, Kept, Outcome json.RawMessage
	Snapshot              []byte
	// Waits is how many of its wants wait for a person.
	Waits int
	// Owner is the process that adds it and runs it first, where several share the tables.
	Owner string
}

// A Step says how far a want is.
type Step string

// The steps.
const (
	Asked Step = "asked" // nothing has begun
	Begun Step = "begun" // it may have happened
	Ended Step = "ended" // Answer has what came of it
)

// A Want is what a script waits for.
type Want struct {
	Number int
	Step   Step
	// Want is the request; Question what a person is asked about it, nil: nothing; Verdict
	// the answer, nil: none yet; Answer what the script receives. All are JSON.
	Want, Question, Verdict, Answer json.RawMessage
}

// A Saved is a state to store.
type Saved struct {
	State State
	// A nil Snapshot leaves the stored one, and its Runtime, as they are.
	Runtime  string
	Snapshot []byte
	Kept     json.RawMessage
	// Wants are new, or have got a question. Begun is the number of one that begins with
	// this; 0: none does. Given are the numbers of those whose answers are in the snapshot.
	Wants []Want
	Begun int
	Given []int
}

//go:embed migrations
var migrations embed.FS

// Schema returns the tables of scripts.
func Schema() sqlite.Schema { return sqlite.Embedded("scripts", migrations) }

// A Journal stores scripts. It is safe for concurrent use.
type Journal struct {
	db  *sqlite.DB
	now func() time.Time

	insert, save, end, touch, trim *sqlite.Statement
	want, given, clear             *sqlite.Statement
	begin, answer, verdict         *sqlite.Statement
	owners                         owners
}

// mostUnfinished is how many scripts of a principal may be under way, most of which wait.
const mostUnfinished = 100

// kept is how many scripts of a principal that have ended are kept, those that ended last.
const kept = 100

// unfinished is the condition of every write to a script.
const unfinished = " AND state IN ('running', 'waiting')"

// Open returns the Journal in a database, and brings its tables up to date. The database
// must be closed after the last call of the Journal, which itself needs no closing. A nil
// now means time.Now.
func Open(ctx context.Context, db *sqlite.DB, now func() time.Time) (*Journal, error) {
	if now == nil {
		now = time.Now
	}
	j := &Journal{db: db, now: now}
	if err := db.Migrate(ctx, Schema()); err != nil {
		return nil, err
	}
	err := db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&j.insert: "INSERT INTO scripts (id, principal, conversation_id, state, created_at, updated_at, script, kept) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8" +
			" WHERE (SELECT count(*) FROM scripts WHERE principal = ?2" + unfinished + ") < ?9",
		&j.save:  "UPDATE scripts SET state = ?, updated_at = ?, runtime = coalesce(?, runtime), kept = ?, snapshot = coalesce(?, snapshot) WHERE id = ?" + unfinished,
		&j.end:   "UPDATE scripts SET state = ?, updated_at = ?, outcome = ?, kept = ?, runtime = '', snapshot = NULL WHERE id = ?" + unfinished,
		&j.touch: "UPDATE scripts SET state = ?, updated_at = ? WHERE id = ?" + unfinished,
		&j.trim: `DELETE FROM scripts WHERE principal = ?1 AND state NOT IN ('running', 'waiting') AND id NOT IN
			(SELECT id FROM scripts WHERE principal = ?1 AND state NOT IN ('running', 'waiting') ORDER BY updated_at DESC, id LIMIT ?2)`,
		&j.want: `INSERT INTO script_wants (script_id, number, state, question, want) VALUES (?, ?, 'asked', ?, ?)
			ON CONFLICT (script_id, number) DO UPDATE SET question = excluded.question, verdict = ''`,
		&j.given:   "DELETE FROM script_wants WHERE script_id = ? AND number = ?",
		&j.clear:   "DELETE FROM script_wants WHERE script_id = ?",
		&j.begin:   "UPDATE script_wants SET state = 'begun' WHERE script_id = ? AND number = ? AND state = 'asked'",
		&j.answer:  "UPDATE script_wants SET state = 'ended', answer = ? WHERE script_id = ? AND number = ? AND state <> 'ended'",
		&j.verdict: "UPDATE script_wants SET verdict = ? WHERE script_id = ? AND number = ? AND question <> '' AND verdict = ''",
	})
	if err != nil {
		return nil, sqlite.Wrap(ctx, "opening the scripts", err)
	}
	return j, nil
}

func (j *Journal) millis() int64 { return j.now().UnixMilli() }

// commit runs f in a transaction that other writers may share.
func (j *Journal) commit(ctx context.Context, doing string, bytes int, f func(*sqlite.Batch) error) error {
	err := j.db.Commit(ctx, bytes, f)
	for _, known := range []error{ErrNotFound, ErrTooMany} {
		if errors.Is(err, known) {
			return known
		}
	}
	return sqlite.Wrap(ctx, doing, err)
}

// Add stores a new script, running. The error is ErrTooMany where the principal has too
// many under way.
func (j *Journal) Add(ctx context.Context, s Script) error {
	now := j.millis()
	return j.commit(ctx, "storing a script", len(s.Script), func(b *sqlite.Batch) error {
		err := b.ExecOne(j.insert, ErrTooMany, s.ID, s.Principal, s.Conversation, Running, now, now, string(s.Script), string(s.Kept), mostUnfinished)
		if err == nil && j.owners.lives != "" {
			err = b.Run(j.owners.insert, s.ID, s.Owner)
		}
		return err
	})
}

// Save replaces the state of a script. ErrNotFound means that it has ended.
func (j *Journal) Save(ctx context.Context, id string, s Saved) error {
	now := j.millis()
	return j.commit(ctx, "storing the state of a script", len(s.Snapshot)+len(s.Kept), func(b *sqlite.Batch) error {
		if err := b.ExecOne(j.save, ErrNotFound, s.State, now, sql.NullString{String: s.Runtime, Valid: s.Snapshot != nil}, string(s.Kept), s.Snapshot, id); err != nil {
			return err
		}
		for _, n := range s.Given {
			if err := b.Run(j.given, id, n); err != nil {
				return err
			}
		}
		if s.State == Waiting {
			if err := b.Notify(kind, id); err != nil {
				return err
			}
		}
		for _, w := range s.Wants {
			if err := b.Run(j.want, id, w.Number, string(w.Question), string(w.Want)); err != nil {
				return err
			}
		}
		if s.Begun == 0 {
			return nil
		}
		if rows, err := b.Exec(j.begin, id, s.Begun); err != nil {
			return err
		} else if rows == 0 {
			return ErrNotFound
		}
		return nil
	})
}

// Begin says that a want begins: from now on it may have an effect. ErrNotFound means that
// it must not begin: it has begun, or the script has ended.
func (j *Journal) Begin(ctx context.Context, id string, number int) error {
	return j.commit(ctx, "storing the call of a script", 0, func(b *sqlite.Batch) error {
		return b.ExecOne(j.begin, ErrNotFound, id, number)
	})
}

// Answer stores what came of a want.
func (j *Journal) Answer(ctx context.Context, id string, number int, answer json.RawMessage) error {
	return j.commit(ctx, "storing the result of a script's call", len(answer), func(b *sqlite.Batch) error {
		return b.ExecOne(j.answer, ErrNotFound, string(answer), id, number)
	})
}

// Decide stores what a person answers to questions, by the number of the want. It changes
// all of them, or none: ErrNotFound means that one waits for no answer.
func (j *Journal) Decide(ctx context.Context, id string, verdicts map[int]json.RawMessage) error {
	now := j.millis()
	return j.commit(ctx, "storing a person's answer", 0, func(b *sqlite.Batch) error {
		if err := b.ExecOne(j.touch, ErrNotFound, Running, now, id); err != nil {
			return err
		}
		for n, v := range verdicts {
			if rows, err := b.Exec(j.verdict, string(v), id, n); err != nil {
				return err
			} else if rows == 0 {
				return ErrNotFound
			}
		}
		return b.Notify(kind, id)
	})
}

// End stores what became of a script, and removes what going on needed. ErrNotFound means
// that it has ended before.
func (j *Journal) End(ctx context.Context, s Script) error {
	now := j.millis()
	return j.commit(ctx, "storing the end of a script", len(s.Outcome)+len(s.Kept), func(b *sqlite.Batch) error {
		if err := b.ExecOne(j.end, ErrNotFound, s.State, now, string(s.Outcome), string(s.Kept), s.ID); err != nil {
			return err
		}
		if err := b.Run(j.clear, s.ID); err != nil {
			return err
		}
		if err := b.Run(j.trim, s.Principal, kept); err != nil {
			return err
		}
		return b.Notify(kind, s.ID)
	})
}

// Restored is the Runtime of a script that came out of a backup: no engine has it.
const Restored = "restored"

// MarkRestored gives Restored to all scripts that have not ended: what they did after the
// backup was made is not in it, and going on could do it twice.
func MarkRestored(ctx context.Context, db *sqlite.DB) error {
	if err := db.Migrate(ctx, Schema()); err != nil {
		return err
	}
	var mark *sqlite.Statement
	if err := db.PrepareAll(ctx, map[**sqlite.Statement]string{&mark: "UPDATE scripts SET runtime = ? WHERE state IN ('running', 'waiting')"}); err != nil {
		return sqlite.Wrap(ctx, "opening the scripts", err)
	}
	return sqlite.Wrap(ctx, "marking the scripts of a backup", db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		err := b.Run(mark, Restored)
		return err
	}))
}

const columns = `id, principal, conversation_id, state, created_at, updated_at, runtime, outcome, script, kept,
	(SELECT count(*) FROM script_wants w WHERE w.script_id = scripts.id AND w.question <> '' AND w.verdict = '')`

func scan(row sqlite.Row, more ...any) (s Script, err error) {
	var created, updated sql.NullInt64
	var outcome, script, kept string
	err = row.Scan(append([]any{&s.ID, &s.Principal, &s.Conversation, &s.State, &created, &updated, &s.Runtime, &outcome, &script, &kept, &s.Waits}, more...)...)
	s.Created, s.Updated = sqlite.Time(created), sqlite.Time(updated)
	s.Outcome, s.Script, s.Kept = raw(outcome), raw(script), raw(kept)
	return s, err
}

// raw returns a column as JSON; nil: it is empty.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func (j *Journal) list(ctx context.Context, where string, args ...any) (out []Script, err error) {
	out, err = sqlite.List(ctx, j.db, "SELECT "+columns+" FROM scripts "+where, args, func(row sqlite.Row) (Script, error) { return scan(row) })
	return out, sqlite.Wrap(ctx, "reading the scripts", err)
}

// List returns the scripts of a principal without their snapshots, the newest first.
func (j *Journal) List(ctx context.Context, principal string) ([]Script, error) {
	return j.list(ctx, "WHERE principal = ? ORDER BY created_at DESC, id", principal)
}

// Unfinished returns the scripts of all principals that have not ended, without their
// snapshots, the oldest first.
func (j *Journal) Unfinished(ctx context.Context) ([]Script, error) {
	return j.list(ctx, "WHERE state IN ('running', 'waiting') ORDER BY created_at, id")
}

// Heads returns the first bytes of the stored snapshots of all scripts that have not ended, by
// the ids of the scripts.
func (j *Journal) Heads(ctx context.Context, bytes int) (map[string][]byte, error) {
	out := map[string][]byte{}
	const query = "SELECT id, substr(snapshot, 1, ?) FROM scripts WHERE state IN ('running', 'waiting') AND snapshot IS NOT NULL"
	err := j.db.Each(ctx, query, []any{bytes}, func(row sqlite.Row) error {
		var id string
		var head []byte
		err := row.Scan(&id, &head)
		out[id] = head
		return err
	})
	return out, sqlite.Wrap(ctx, "reading the scripts", err)
}

// Get returns a script of a principal, with its snapshot and what it waits for, by number.
func (j *Journal) Get(ctx context.Context, principal, id string) (Script, []Want, error) {
	var snapshot []byte
	s, err := scan(j.db.QueryRowContext(ctx, "SELECT "+columns+", snapshot FROM scripts WHERE id = ? AND principal = ?", id, principal), &snapshot)
	if errors.Is(err, sql.ErrNoRows) {
		return Script{}, nil, ErrNotFound
	} else if err != nil {
		return Script{}, nil, sqlite.Wrap(ctx, "reading a script", err)
	}
	s.Snapshot = snapshot
	wants, err := j.Wants(ctx, id)
	return s, wants, err
}

// Wants returns what a script waits for, by number.
func (j *Journal) Wants(ctx context.Context, id string) (wants []Want, err error) {
	const query = "SELECT number, state, question, verdict, want, answer FROM script_wants WHERE script_id = ? ORDER BY number"
	wants, err = sqlite.List(ctx, j.db, query, []any{id}, func(row sqlite.Row) (w Want, err error) {
		var question, verdict, want, answer string
		err = row.Scan(&w.Number, &w.Step, &question, &verdict, &want, &answer)
		w.Question, w.Verdict, w.Want, w.Answer = raw(question), raw(verdict), raw(want), raw(answer)
		return w, err
	})
	return wants, sqlite.Wrap(ctx, "reading a script", err)
}
