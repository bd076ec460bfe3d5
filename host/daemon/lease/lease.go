// Package lease keeps the turns that a daemon owns, where several daemons share a database.
//
// A Keeper says each second that its daemon lives. One that has not said so for three
// seconds (aliveFor in package store) is taken for dead: the others take over its turns. If
// it lives after all, as when it was frozen, it finds that out: its turns end here, and what
// they still write is not written. Only the database's clock decides.
package lease

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/signal"
)

const (
	beatEvery  = time.Second
	claimEvery = 500 * time.Millisecond
	atOnce     = 16 // turns that are taken over in one transaction
	dropEvery  = time.Minute
)

// Config is what a Keeper needs of the daemon.
type Config struct {
	Store *store.Store
	// TakeOver goes on with a turn of a daemon that is dead, in the background. The turn is held
	// until it calls release, or Hold for it.
	TakeOver func(r store.Run, release func())
	// File keeps the ID for the next process that uses it, after this one has ended, also by
	// being killed: its turns need not wait. Empty: there is none.
	File    string
	Version string
	Logger  hclog.Logger
}

// A Keeper holds the turns that its daemon owns. It is safe for concurrent use.
type Keeper struct {
	config Config
	end    context.CancelFunc
	over   sync.WaitGroup // the goroutines of Start
	takes  chan struct{}  // receives when turns may be taken over

	mu     sync.Mutex // guards what follows
	id     string
	joined bool
	claims bool // it takes over turns
	held   map[string]*hold
	unheld map[string]bool // turns that the last look found owned, and not held
}

// A hold is a turn that runs here.
type hold struct {
	cancel func(error) // ends the turn
	asked  func()      // somebody has asked to end it
}

// New returns a Keeper. It owns nothing until Start.
func New(c Config) *Keeper {
	return &Keeper{config: c, id: uuid.NewString(), held: map[string]*hold{}, unheld: map[string]bool{}, takes: make(chan struct{}, 1)}
}

// ID returns the name by which the daemon owns turns now.
func (k *Keeper) ID() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.id
}

// Start joins the daemons that share the database, and says that this one lives, until Stop.
// It takes over turns only after TakeOver(true).
func (k *Keeper) Start(ctx context.Context) error {
	if err := k.join(ctx); err != nil {
		return err
	}
	ctx, k.end = context.WithCancel(context.WithoutCancel(ctx))
	wake := make(chan struct{}, 1)
	stop := k.config.Store.Wake(store.WakeCancel, func(string) { signal.One(wake) })
	k.over.Go(func() { k.every(ctx, beatEvery, nil, k.beat) })
	k.over.Go(func() {
		defer stop()
		dropped := time.Now()
		k.every(ctx, claimEvery, k.takes, func(ctx context.Context) error {
			err := k.claim(ctx)
			if err == nil && time.Since(dropped) > dropEvery {
				dropped = time.Now()
				err = k.config.Store.DropRuns(ctx)
			}
			return err
		})
	})
	k.over.Go(func() { k.every(ctx, beatEvery, wake, k.look) })
	return nil
}

// every calls f again and again, also when wake receives something.
func (k *Keeper) every(ctx context.Context, pause time.Duration, wake <-chan struct{}, f func(context.Context) error) {
	for {
		if err := f(ctx); errors.Is(err, store.ErrClosed) {
			return
		} else if err != nil && ctx.Err() == nil {
			k.config.Logger.Debug("the daemons that share the database", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(pause):
		}
	}
}

// Freeze keeps the Keeper from doing anything more, for tests: the others take the daemon for
// dead.
func (k *Keeper) Freeze() { k.end() }

// TakeOver says whether the daemon takes over turns of others from now on.
func (k *Keeper) TakeOver(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.claims = on
	signal.One(k.takes)
}

// Stop leaves the other daemons: they take over what this one still owns.
func (k *Keeper) Stop(ctx context.Context) error {
	if k.end == nil {
		return nil
	}
	k.end()
	k.over.Wait()
	return k.config.Store.Leave(ctx, k.ID())
}

// Hold holds a turn that this daemon owns until release is called. cancel ends the turn when
// it has lost it, with store.ErrFenced; asked is called when its client asks another daemon
// to end it.
func (k *Keeper) Hold(turn string, cancel func(error), asked func()) (release func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := &hold{cancel, asked}
	k.held[turn] = own
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.held[turn] == own { // it may have been lost, and taken over again
			delete(k.held, turn)
		}
	}
}

func (k *Keeper) join(ctx context.Context) error {
	id, earlier := k.ID(), []byte(nil)
	if k.config.File != "" {
		earlier, _ = os.ReadFile(k.config.File) // without it the turns wait
	}
	err := k.config.Store.Join(ctx, id, k.config.Version, string(earlier))
	k.mu.Lock()
	k.joined = err == nil
	k.mu.Unlock()
	if k.config.File != "" && err == nil {
		if err := os.WriteFile(k.config.File, []byte(id), 0o600); err != nil {
			k.config.Logger.Warn("turns of this daemon wait some seconds if it is killed and started again", "error", err)
		}
	}
	return err
}

// beat says that the daemon lives. If the others took it for dead, it goes on under another
// name, without the turns that it had.
func (k *Keeper) beat(ctx context.Context) error {
	k.mu.Lock()
	id, joined := k.id, k.joined
	k.mu.Unlock()
	if joined {
		ctx, cancel := context.WithTimeout(ctx, 2*beatEvery)
		defer cancel()
		if alive, err := k.config.Store.Beat(ctx, id); alive || err != nil {
			return err
		}
		k.config.Logger.Warn("the other daemons took this one for dead: its turns go on there")
		k.mu.Lock()
		k.id, k.joined = uuid.NewString(), false
		lost := k.held
		k.held, k.unheld = map[string]*hold{}, map[string]bool{}
		k.mu.Unlock()
		for _, h := range lost {
			h.cancel(store.ErrFenced)
		}
	}
	return k.join(ctx)
}

// claim takes over turns whose daemons are dead.
func (k *Keeper) claim(ctx context.Context) error {
	for {
		k.mu.Lock()
		on := k.claims
		k.mu.Unlock()
		if !on {
			return nil
		}
		runs, err := k.config.Store.Claim(ctx, k.ID(), atOnce, "")
		if err != nil {
			return err
		}
		for _, r := range runs {
			k.config.Logger.Info("a turn of a daemon that is gone goes on here", "turn", r.Turn, "conversation", r.Scope.Conversation)
			k.config.TakeOver(r, k.Hold(r.Turn, func(error) {}, func() {}))
		}
		if len(runs) < atOnce {
			return nil
		}
	}
}

// look ends turns that somebody has asked to end, and those that this daemon owns and does
// not run, as when the database was away at their end: others take these over.
func (k *Keeper) look(ctx context.Context) error {
	id := k.ID()
	owned, err := k.config.Store.Owned(ctx, id)
	if err != nil {
		return err
	}
	var asked []func()
	var left []string
	k.mu.Lock()
	before := k.unheld
	k.unheld = map[string]bool{}
	for _, o := range owned {
		h, held := k.held[o.Turn]
		switch {
		case held && o.Cancel:
			asked = append(asked, h.asked)
		case !held && before[o.Turn]:
			left = append(left, o.Turn)
		case !held:
			k.unheld[o.Turn] = true
		}
	}
	k.mu.Unlock()
	for _, f := range asked {
		f()
	}
	for _, turn := range left {
		if err := k.config.Store.Abandon(ctx, id, turn); err != nil {
			return err
		}
	}
	return nil
}
