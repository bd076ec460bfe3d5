package app

import (
	"context"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
)

// LockTimeout is how long Lock waits for the lock: other processes acquire it for a
// moment, to see whether a daemon runs.
const LockTimeout = 500 * time.Millisecond

// A BusyError says that another process uses the data folder. It may pass.
type BusyError struct {
	*msg.Problem
	Daemon bool // it is a daemon that answers
}

// Unwrap returns the problem.
func (e *BusyError) Unwrap() error { return e.Problem }

// Lock locks the data folder, which it creates if necessary: two processes must not
// write the same one. It fails with a *BusyError if another process holds the lock.
// It removes an address file that a killed daemon left.
func Lock(ctx context.Context, p config.Paths) (*flock.Flock, error) {
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return nil, msg.Usagef("give another folder with --data", "the data folder %s cannot be made", p.Data)
	}
	l := flock.New(p.Lock, flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, LockTimeout)
	defer cancel()
	ok, err := l.TryLockContext(wait, LockTimeout/20)
	if err != nil && wait.Err() == nil {
		return nil, msg.Usagef("check the permissions, or give another folder with --data", "the data folder %s cannot be locked", p.Data)
	}
	if !ok {
		if c, at := client.Find(ctx, client.Files{Address: p.Address, Lock: p.Lock, Token: p.Token}); c != nil {
			return nil, &BusyError{Daemon: true, Problem: msg.Usagef("", "a daemon (weir %s) runs at %s already, with the data folder %s", at.Command, c.URL(), p.Data).
				WithHint("use that one, give another folder with --data, or %v", at.Stopping())}
		}
		return nil, &BusyError{Problem: msg.Usagef("wait for the other command to end", "another weir command uses the data folder %s", p.Data)}
	}
	_ = os.Remove(p.Address)
	return l, nil
}

// Claim tells Claimed until release is called, or the process ends, that this process waits
// for the data folder: of several that could take it, a daemon that a person or the system
// started is to have it.
func Claim(ctx context.Context, p config.Paths) (release func()) {
	l := flock.New(p.Claim(), flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, LockTimeout)
	defer cancel()
	if ok, err := l.TryLockContext(wait, LockTimeout/20); err != nil || !ok {
		return func() {} // another one waits for it
	}
	return func() { _ = l.Unlock() }
}

// Claimed reports whether a process waits for the data folder that goes first.
func Claimed(p config.Paths) bool {
	if _, err := os.Stat(p.Claim()); err != nil {
		return false
	}
	l := flock.New(p.Claim(), flock.SetPermissions(0o600))
	free, err := l.TryRLock()
	if free {
		_ = l.Unlock()
	}
	return err == nil && !free
}
