package usage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
)

// writeCalls is the number of waiting calls that are written at once: a write for more
// would save little, and the garbage collector would have to scan them.
const writeCalls = 4096

// maxCalls bounds the calls that wait; further ones are missing in the statistics.
const maxCalls = 1 << 16

// maxPairs bounds the pairs that a CallLog remembers.
const maxPairs = 1 << 14

// A pair is a conversation and a tool that was called in it.
type pair struct {
	scope archive.Scope
	tool  string
}

// A CallStore stores calls and the conversations to which they belong.
type CallStore interface {
	LogCalls(ctx context.Context, calls []store.Call) error
	EnsureConversation(ctx context.Context, c store.Conversation) (store.Conversation, error)
}

// A CallLog writes tool calls that belong to no turn to the store, many at a time. It
// is safe for concurrent use.
type CallLog struct {
	store CallStore
	log   hclog.Logger

	mu      sync.Mutex    // guards the fields below but writing
	ran     map[pair]bool // whose tool is written to have run
	waiting []store.Call
	spare   []store.Call // a slice to use again
	timer   *time.Timer  // of the next Flush; nil: no call waits

	writing sync.Mutex // held during a write
}

// NewCallLog returns an empty CallLog.
func NewCallLog(db CallStore, log hclog.Logger) *CallLog {
	return &CallLog{store: db, log: log, ran: map[pair]bool{}}
}

// Add adds a call, which is written within writeDelay. The first call of a tool in a
// conversation is written when Add returns, before its caller has the result: whether
// weir asks about a later call depends on the tools that ran, also after a crash.
func (l *CallLog) Add(c store.Call) {
	p := pair{c.Scope, c.Tool}
	if l.add(c, p) || c.Refused() {
		return
	}
	l.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ran) >= maxPairs {
		clear(l.ran) // their next calls are written at once, too
	}
	l.ran[p] = true
}

// add adds a call, and reports whether an earlier one of its pair was written.
func (l *CallLog) add(c store.Call, p pair) (ran bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ran[p] && len(l.waiting) >= maxCalls {
		return true
	}
	l.waiting = append(l.waiting, c)
	switch {
	case l.timer == nil:
		l.timer = time.AfterFunc(writeDelay, l.Flush)
	case len(l.waiting) == writeCalls:
		l.timer.Reset(0)
	}
	return l.ran[p]
}

// Flush writes all waiting calls, and returns when they are written. A failure is
// logged; the calls are then missing in the statistics.
func (l *CallLog) Flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	calls := l.waiting
	l.waiting = l.spare
	l.spare = nil
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.mu.Unlock()
	if len(calls) == 0 {
		return
	}
	defer l.recycle(calls)
	err := l.ensureConversations(calls)
	if err == nil {
		err = l.store.LogCalls(context.Background(), calls)
	}
	if err != nil {
		l.log.Warn("calls are missing in the statistics", "calls", len(calls), "error", err)
	}
}

// recycle keeps a slice for later calls, unless it is very large.
func (l *CallLog) recycle(calls []store.Call) {
	if cap(calls) > 2*writeCalls {
		return
	}
	clear(calls)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = calls[:0]
}

// ensureConversations creates the conversations of archived results, in which people
// list and delete them.
func (l *CallLog) ensureConversations(calls []store.Call) error {
	done := map[archive.Scope]bool{}
	for _, c := range calls {
		if c.UUID == "" || done[c.Scope] {
			continue
		}
		done[c.Scope] = true
		_, err := l.store.EnsureConversation(context.Background(), store.Conversation{ID: c.Scope.Conversation, Principal: c.Scope.Principal, Title: "MCP"})
		if err != nil && !errors.Is(err, archive.ErrFull) {
			return err
		}
	}
	return nil
}
