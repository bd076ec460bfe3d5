package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
)

// useDelay is how long a use may wait to be put down: each write to the store is
// synced, and calls may come by the thousand a second.
const useDelay = time.Second

// manyUses do not wait any longer: one write for more would save little, and they
// take the garbage collector's time.
const manyUses = 4096

// maxUses is how many may wait; further ones are lost to the statistics.
const maxUses = 1 << 16

// useLog puts uses of tools down for the statistics, many at a time. It is safe
// for concurrent use.
type useLog struct {
	store *store.Store
	log   hclog.Logger

	mu      sync.Mutex
	waiting []store.Call
	spare   []store.Call // room for those that wait next
	writing sync.Mutex   // held while some are written
	soon    *time.Timer
}

func newUseLog(db *store.Store, log hclog.Logger) *useLog {
	return &useLog{store: db, log: log}
}

func (l *useLog) add(u store.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxUses {
		return
	}
	l.waiting = append(l.waiting, u)
	switch {
	case l.soon == nil:
		l.soon = time.AfterFunc(useDelay, l.flush)
	case len(l.waiting) == manyUses:
		l.soon.Reset(0)
	}
}

// flush writes what waits, and returns when it is written.
func (l *useLog) flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	uses := l.waiting
	l.waiting = l.spare
	l.spare = nil
	if l.soon != nil {
		l.soon.Stop()
		l.soon = nil
	}
	l.mu.Unlock()
	if len(uses) == 0 {
		return
	}
	defer l.keep(uses)
	err := l.conversations(uses)
	if err == nil {
		err = l.store.LogCalls(context.Background(), uses)
	}
	if err != nil {
		l.log.Warn("calls are missing in the statistics", "calls", len(uses), "error", err)
	}
}

// keep keeps the room that uses took, if it is not very much.
func (l *useLog) keep(uses []store.Call) {
	if cap(uses) > 2*manyUses {
		return
	}
	clear(uses)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = uses[:0]
}

// conversations makes those that keep results, so that they can be listed and
// deleted.
func (l *useLog) conversations(uses []store.Call) error {
	made := map[archive.Scope]bool{}
	for _, u := range uses {
		if u.UUID == "" || made[u.Scope] {
			continue
		}
		made[u.Scope] = true
		_, err := l.store.EnsureConversation(context.Background(), store.Conversation{ID: u.Scope.Conversation, Principal: u.Scope.Principal, Title: "MCP"})
		if err != nil && !errors.Is(err, archive.ErrFull) {
			return err
		}
	}
	return nil
}
