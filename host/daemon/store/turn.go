package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// Begin creates the conversation c if it does not exist and appends messages, in one
// commit, as a turn begins. Its errors are those of EnsureConversation; c needs an ID.
func (s *Store) Begin(ctx context.Context, c Conversation, msgs []Message) error {
	return s.BeginRun(ctx, c, msgs, -1, nil, "")
}

// BeginRun is Begin that adds a Run of a daemon, unless run is nil. A conversation in which a
// turn runs already, or that has not had messages up to number had, is ErrBusy then.
func (s *Store) BeginRun(ctx context.Context, c Conversation, msgs []Message, had int, run *Run, owner string) error {
	if c.Principal == "" || c.ID == "" {
		return msg.Errorf("beginning a turn: it needs a principal and a conversation")
	}
	now, taken := s.now(), false
	store := func(b *sqlite.Batch) error {
		last := 0
		created := run != nil && had == 0 && !taken
		if created { // perhaps: nothing has to be known first
			if err := b.Run(s.runs.conversation, c.ID, c.Principal, c.Title, c.Profile, now.UnixMilli(), run.Turn, string(run.Ask), run.Resumed, owner); err != nil {
				return err
			}
		} else if created, err := s.ensure(b, c, now); err != nil {
			return err
		} else if !created {
			if last, err = s.touch(b, archive.Scope{Principal: c.Principal, Conversation: c.ID}, 0, now); err != nil {
				return err
			}
		}
		if run != nil && last != had {
			return ErrBusy // and nothing is written
		}
		if err := s.insert(b, c.ID, last+1, msgs, now); err != nil || created {
			return err
		}
		return s.begin(b, c, run, owner)
	}
	err := s.db.Commit(ctx, messageBytes(msgs), store)
	if taken = sqlite.IsTaken(err, "conversations_pkey"); taken { // by one without messages, or another principal's
		err = s.db.Commit(ctx, messageBytes(msgs), store)
	}
	if errors.Is(err, ErrBusy) || sqlite.IsTaken(err, "runs_conversation") {
		return ErrBusy
	}
	return wrap(ctx, "beginning a turn", err)
}

// touch says that a conversation changes, and returns the number of its last message, unless it is known.
func (s *Store) touch(b *sqlite.Batch, sc archive.Scope, known int, now time.Time) (last int, err error) {
	if known > 0 {
		return known, b.ExecOne(s.updateConversation, ErrNotFound, now.UnixMilli(), sc.Conversation, sc.Principal)
	}
	if last, err = b.Int(s.touchConversation, now.UnixMilli(), sc.Conversation, sc.Principal); errors.Is(err, sql.ErrNoRows) {
		err = sqlite.Unchanged(ErrNotFound)
	}
	return last, err
}

// A Turn is everything that the end of a turn stores.
type Turn struct {
	// Messages replace those from number From on, which is at most one more than the
	// last number. From 0: they are appended. Finish sets their Seq, from 1 on, and
	// Created where it is zero. If none are left, of a turn with a Run, the conversation goes too.
	From     int
	Messages []Message
	// Last is the number of the last message before, 0 if it is not known; 1: it is the first one.
	Last  int
	Calls []Call
	// Usage is the turn's tokens and cost; nil: they are not counted.
	Usage *TurnUsage
	// Fingerprints replace those of the conversation: short texts by which
	// FindByFingerprint finds it without its id. Nil: they stay.
	Fingerprints []string
	// Trace is the report of the turn; nil: there is none. Its Scope is ignored.
	Trace *Trace
	// Run is the turn's, nil without one. The context must be Fenced. Its Outcome is stored until
	// AddEvents closes it, unless Events are all that are missing to that; one that is not Resumed
	// is dropped.
	Run    *Run
	Events Events
}

// TurnUsage is the tokens and the cost of one turn.
type TurnUsage struct {
	Turn     int
	Model    string // by the operator's name
	Reason   string // why the turn ended
	Duration time.Duration
	// Tokens as the provider counts them; CachedPrompt and CacheWrite are parts of
	// Prompt.
	Prompt, Completion, CachedPrompt, CacheWrite int
	// Cost is in Currency; nil: unknown.
	Cost     *float64
	Currency string
}

// Finish stores everything that belongs to the end of a turn, in one commit: all of it
// or none is synced to disk when it returns. A conversation that the principal does not
// have is ErrNotFound.
func (s *Store) Finish(ctx context.Context, sc archive.Scope, t Turn) error {
	now, r := s.now(), t.Run
	guarded := s.Shared() && r != nil && (!r.Resumed || t.Events.Last > 0) // by what touches the conversation and ends the Run
	ends, args := s.runs.guardDropAll, []any{now.UnixMilli(), sc.Conversation, sc.Principal}
	if guarded && r.Resumed {
		ends, args = s.runs.guardEnd, append(args, t.Events.First, t.Events.Last, t.Events.Data, WakeEvents+" "+r.Turn)
	} else if guarded && len(r.Steps)+len(r.Pieces) == 0 && r.Fence == 1 {
		ends = s.runs.guardDrop
	}
	if guarded {
		ctx = sqlite.Guarded(ctx, ends, append([]any{r.Turn, r.Fence}, args...)...)
	}
	return wrap(ctx, "storing a turn", s.db.Commit(ctx, messageBytes(t.Messages), func(b *sqlite.Batch) error {
		last, err := t.Last, error(nil)
		if !guarded || last == 0 {
			last, err = s.touch(b, sc, last, now)
		}
		if err != nil {
			return err
		}
		if err = s.replace(b, sc.Conversation, last, t.From, t.Messages, now); err == nil && s.Shared() && r != nil && t.From == 1 && len(t.Messages) == 0 {
			err = b.Run(s.runs.unused, sc.Conversation)
		}
		if err != nil {
			return err
		}
		if t.Trace != nil {
			if err := s.trace(b, sc, *t.Trace, now); err != nil {
				return err
			}
		}
		if err := s.turnUsage(b, sc, t.Usage, now); err != nil {
			return err
		}
		if err := s.log(b, t.Calls, now); err != nil {
			return err
		}
		if t.Fingerprints != nil {
			if err := s.setFingerprints(b, sc, t.Last == 1, t.Fingerprints); err != nil {
				return err
			}
		}
		switch {
		case r == nil || guarded || !s.Shared() && len(r.Steps)+len(r.Pieces) == 0:
			return nil
		case !s.Shared():
			return s.dropRun(b, r.Turn)
		default:
			return b.Run(s.runs.stored, string(r.Outcome), r.Turn)
		}
	}))
}

func (s *Store) turnUsage(b *sqlite.Batch, sc archive.Scope, t *TurnUsage, now time.Time) error {
	if t == nil {
		return nil
	}
	return b.Run(s.insertTurn, sc.Conversation, t.Turn, t.Model, t.Reason, now.UnixMilli(), t.Duration.Microseconds(),
		t.Prompt, t.Completion, t.CachedPrompt, t.CacheWrite, t.Cost, t.Currency)
}
