package archive

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Begin makes sure that there is a conversation c and appends messages, in one
// commit: what stands at the beginning of a turn. It is EnsureConversation and
// Append, with their errors; c needs an ID.
func (s *Store) Begin(ctx context.Context, c Conversation, msgs []Message) error {
	const doing = "beginning a turn"
	if c.Principal == "" || c.ID == "" {
		return errors.New(doing + ": it needs a principal and a conversation")
	}
	now := stored(s.now())
	return wrap(ctx, doing, s.commit(ctx, sizeOf(msgs), func(b *batch) error {
		made, err := b.ensure(c, now.UnixMilli())
		if err != nil {
			return err
		}
		if made { // nothing stands in it
			return b.append(c.ID, 1, msgs, now)
		}
		if err := b.touch(touchConversation, now.UnixMilli(), c.ID, c.Principal); err != nil {
			return err
		}
		last, err := b.number(lastMessage, c.ID)
		if err != nil {
			return err
		}
		return b.append(c.ID, last+1, msgs, now)
	}))
}

// A Change is what a turn leaves behind.
type Change struct {
	// Messages stand from number From on, in the place of what stood there. From
	// 0: behind the last.
	From     int
	Messages []Message
	Uses     []ToolUse
	// Sums are what the turn took; nil: nobody counts.
	Sums *TurnSums
	// Marks replace those of the conversation, see Mark; nil: they stay.
	Marks []string
	// Unnamed are entries that nothing refers to, see Drop. One that is not there
	// is no error.
	Unnamed []string
	// Trace is how the turn went; nil: nobody wrote it down. Its Scope is not looked at.
	Trace *Trace
}

// Finish stores everything that a turn leaves behind, in one commit. Its errors
// are those of Replace.
func (s *Store) Finish(ctx context.Context, sc Scope, c Change) error {
	now := stored(s.now())
	return wrap(ctx, "storing a turn", s.commit(ctx, sizeOf(c.Messages), func(b *batch) error {
		if err := b.touch(touchConversation, now.UnixMilli(), sc.Conversation, sc.Principal); err != nil {
			return err
		}
		if err := b.replace(sc.Conversation, c.From, c.Messages, now); err != nil {
			return err
		}
		for _, id := range c.Unnamed {
			if err := b.drop(sc, id); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		if c.Trace != nil {
			if err := b.trace(sc, *c.Trace, now); err != nil {
				return err
			}
		}
		if err := b.took(sc, c.Sums, now); err != nil {
			return err
		}
		if err := b.log(c.Uses, now); err != nil || c.Marks == nil {
			return err
		}
		return b.mark(sc, c.Marks)
	}))
}

// took writes down what a turn took.
func (b *batch) took(sc Scope, t *TurnSums, now time.Time) error {
	if t == nil {
		return nil
	}
	return b.exec(insertTurn, sc.Conversation, t.Turn, t.Model, t.Reason, now.UnixMilli(), t.Duration.Microseconds(),
		t.Prompt, t.Completion, t.CachedPrompt, t.CacheWrite, t.Cost, t.Currency)
}

// badPlace is the error of a message number that a conversation does not have.
func badPlace(from, last int) error {
	return fmt.Errorf("message %d does not exist; the last is %d", from, last)
}
