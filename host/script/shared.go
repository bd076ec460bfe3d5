package script

import (
	"context"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/script/journal"
)

// errLost ends a run whose script another process has taken over.
var errLost = errors.New("another daemon has taken over the script")

// Bounds of scripts that several processes share.
const (
	lookEvery  = time.Second
	retryAfter = 10 * time.Second // that a script could not go on
)

// A Membership is that of this process in those that share a database. *lease.Keeper is one.
type Membership interface {
	// ID returns the name of this process.
	ID() string
	// Hold calls lost when the others have taken this process for dead, until release is
	// called. It does not call asked.
	Hold(id string, lost func(error), asked func()) (release func())
}

// Share lets several processes run the scripts of a database, each those that it owns, until
// Stop. After Recover it takes over those whose owners are gone. Call it before Start.
func (r *Runs) Share(m Membership) {
	r.others = m
	wake := make(chan struct{}, 1)
	stop := r.journal.Wake(func(string) { signal.One(wake) })
	r.running.Go(func() {
		defer stop()
		for {
			if err := r.look(r.cut); err != nil && r.cut.Err() == nil {
				r.log.Debug("the scripts of all daemons", "error", err)
			}
			r.changed.Send()
			select {
			case <-r.stop:
				return
			case <-wake:
			case <-time.After(lookEvery):
			}
		}
	})
}

// look goes on with scripts that nothing runs, and learns what other processes have done
// about those that run here.
func (r *Runs) look(ctx context.Context) error {
	list, err := r.journal.Left(ctx, r.others.ID())
	if err != nil {
		return err
	}
	r.mu.Lock()
	unlisted := map[string]string{}
	for id, a := range r.active {
		unlisted[id] = a.principal
	}
	var next []journal.Left
	for _, l := range list {
		_, runs := unlisted[l.ID]
		delete(unlisted, l.ID)
		if runs && l.Decided || !runs && r.takes && r.soon[l.ID] == 0 && time.Since(r.stuck[l.ID]) > retryAfter {
			next = append(next, l)
		}
	}
	r.mu.Unlock()
	for _, l := range next {
		r.spawn(journal.Script{ID: l.ID, Principal: l.Principal})
	}
	for id, principal := range unlisted {
		if s, _, err := r.journal.Get(ctx, principal, id); errors.Is(err, ErrNotFound) || err == nil && s.State.Ended() {
			r.cancelActive(id)
		}
	}
	return nil
}

// claim makes this process the owner of a script until free(true) is called; owned is false
// if another one is. The returned context is for all that the run writes. After free(false)
// no other process takes the script as long as this one lives.
func (r *Runs) claim(ctx context.Context, a *active, id string) (_ context.Context, free func(leave bool) error, owned bool, err error) {
	if r.others == nil {
		return ctx, func(bool) error { return nil }, true, nil
	}
	release := r.others.Hold(id, func(error) { a.cancel(errLost) }, nil)
	ctx, end, owned, err := r.journal.Claim(ctx, id, r.others.ID())
	if !owned {
		release()
	}
	return ctx, func(leave bool) error {
		release()
		if !leave {
			return nil
		}
		return end()
	}, owned, err
}

// over reports whether an error says that another process has taken over a script, or ended it.
func (r *Runs) over(err error) bool {
	return errors.Is(err, journal.ErrFenced) || r.others != nil && errors.Is(err, ErrNotFound)
}
