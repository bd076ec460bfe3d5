// Package tooluse counts which tools a user's conversations call one after the other.
// What it holds is bounded, and a question costs the same however long the call log is.
package tooluse

import (
	"context"
	"sync"
	"time"
)

const (
	// maxUsers, maxConversations and maxPairs bound what is held: users, the last tool of
	// each of a user's conversations, and pairs of tools of a user.
	maxUsers         = 256
	maxConversations = 256
	maxPairs         = 2000
	// maxCalls is how many of a user's earlier calls are read once from the log, readTime
	// how long that may take.
	maxCalls = 2000
	readTime = time.Second
	// leastTimes is how often a tool must have followed another one to count.
	leastTimes = 3
)

// A Call is a call that succeeded.
type Call struct{ Conversation, Tool string }

// A Log knows the calls of earlier processes.
type Log interface {
	// LatestCalls returns at most n successful calls of a principal from before a time,
	// the oldest first. Its cost is bounded by n.
	LatestCalls(ctx context.Context, principal string, before time.Time, n int) ([]Call, error)
}

// Uses are the calls of all users. The zero value has none; it is safe for concurrent use.
type Uses struct {
	mu    sync.Mutex
	log   Log
	since time.Time // when this process began to count
	users map[string]*user
	clock int // counts what was asked and added
}

// A user is what one user's conversations have called.
type user struct {
	last  map[string]string // by conversation
	pairs map[pair]int
	from  map[string]int // pairs by their first tool
	read  bool           // the log was read
	used  int            // the clock when it was used last
}

type pair struct{ first, next string }

// Begin sets the log of earlier processes, and the time since when calls are added.
func (u *Uses) Begin(log Log, since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.log, u.since = log, since
}

// Add counts a call of a user.
func (u *Uses) Add(principal string, c Call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.user(principal).add(c)
}

// user returns a user, and forgets the one not used for longest if there are too many.
func (u *Uses) user(principal string) *user {
	u.clock++
	if u.users == nil {
		u.users = map[string]*user{}
	}
	one, ok := u.users[principal]
	if !ok {
		if len(u.users) >= maxUsers {
			oldest := ""
			for name, other := range u.users {
				if oldest == "" || other.used < u.users[oldest].used {
					oldest = name
				}
			}
			delete(u.users, oldest)
		}
		one = &user{last: map[string]string{}, pairs: map[pair]int{}, from: map[string]int{}}
		u.users[principal] = one
	}
	one.used = u.clock
	return one
}

func (o *user) add(c Call) {
	before := o.last[c.Conversation]
	if before == "" && len(o.last) >= maxConversations {
		for conversation := range o.last { // any one
			delete(o.last, conversation)
			break
		}
	}
	o.last[c.Conversation] = c.Tool
	if before == "" || before == c.Tool {
		return
	}
	o.pairs[pair{before, c.Tool}]++
	o.from[before]++
	for len(o.pairs) > maxPairs {
		o.fade()
	}
}

// fade halves all counts: what happened once is forgotten, and what is new counts more.
func (o *user) fade() {
	clear(o.from)
	for p, n := range o.pairs {
		if n /= 2; n == 0 {
			delete(o.pairs, p)
			continue
		}
		o.pairs[p] = n
		o.from[p.first] += n
	}
}

// After returns how often each tool followed the one that a conversation of the user
// called last: its share of all that followed, 0 to 1. The log is read before the first
// answer for a user; if it cannot be read, the calls of this process count.
func (u *Uses) After(ctx context.Context, principal, conversation string) func(tool string) float64 {
	u.read(ctx, principal)
	u.mu.Lock()
	defer u.mu.Unlock()
	one := u.user(principal)
	first, shares := one.last[conversation], map[string]float64{}
	if first != "" && one.from[first] > 0 {
		for p, n := range one.pairs {
			if p.first == first && n >= leastTimes {
				shares[p.next] = float64(n) / float64(one.from[first])
			}
		}
	}
	return func(tool string) float64 { return shares[tool] }
}

// read adds a user's calls of earlier processes, once.
func (u *Uses) read(ctx context.Context, principal string) {
	u.mu.Lock()
	one := u.user(principal)
	log, since, isRead := u.log, u.since, one.read
	one.read = true
	u.mu.Unlock()
	if isRead || log == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	calls, err := log.LatestCalls(ctx, principal, since, maxCalls)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		one.read = ctx.Err() == nil // after the end of a caller the next one reads it
		return
	}
	earlier := user{last: map[string]string{}, pairs: one.pairs, from: one.from}
	for _, c := range calls {
		earlier.add(c)
	}
	for conversation, tool := range earlier.last {
		if one.last[conversation] == "" && len(one.last) < maxConversations {
			one.last[conversation] = tool
		}
	}
}
