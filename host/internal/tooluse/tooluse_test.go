package tooluse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func (u *Uses) addAll(principal, conversation string, tools ...string) {
	for _, tool := range tools {
		u.Add(principal, Call{conversation, tool})
	}
}

// What often followed a tool is known, for the user whose conversations did it.
func TestAfter(t *testing.T) {
	var u Uses
	share := func(principal, conversation, tool string) float64 {
		return u.After(t.Context(), principal, conversation)(tool)
	}
	if share("ann", "c", "b") != 0 {
		t.Error("without calls something follows")
	}
	for range 3 {
		u.addAll("ann", "c1", "a", "b")
	}
	u.addAll("ann", "c1", "a", "c") // once is chance
	u.addAll("ann", "c2", "a", "a")
	if got := share("ann", "c2", "b"); got != 0.75 {
		t.Errorf("b follows a with %v", got)
	}
	if share("ann", "c2", "c") != 0 || share("ann", "c3", "b") != 0 || share("ann", "c1", "b") != 0 {
		t.Error("a tool follows another one")
	}
	if u.addAll("bob", "c2", "a"); share("bob", "c2", "b") != 0 {
		t.Error("one user's calls count for another one")
	}
}

// A log of calls, which can fail.
type calls struct {
	list  []Call
	fail  error
	reads atomic.Int64
}

func (c *calls) LatestCalls(context.Context, string, time.Time, int) ([]Call, error) {
	c.reads.Add(1)
	return c.list, c.fail
}

// The log of earlier processes is read once for each user.
func TestTheLogIsReadOnce(t *testing.T) {
	log := &calls{fail: errors.New("disk")}
	for range 4 {
		log.list = append(log.list, Call{"old", "a"}, Call{"old", "b"})
	}
	log.list = append(log.list, Call{"open", "a"})
	var u Uses
	u.Begin(log, time.Now())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if u.After(ended, "ann", "open")("b") != 0 {
		t.Error("a log that cannot be read says something")
	}
	log.fail = nil
	u.addAll("ann", "now", "b", "a")
	for range 3 {
		if u.After(t.Context(), "ann", "open")("b") != 1 || u.After(t.Context(), "ann", "now")("b") != 1 || u.After(t.Context(), "ann", "old")("a") != 1 {
			t.Error("the log is not known")
		}
	}
	if log.reads.Load() != 2 {
		t.Errorf("the log is read %d times", log.reads.Load())
	}
}

// What is held is bounded, whatever is called.
func TestUsesAreBounded(t *testing.T) {
	var u Uses
	for i := range 3 * maxUsers {
		u.addAll(fmt.Sprint("user", i), "c", "a", "b")
	}
	for range 5 {
		u.addAll("ann", "c", "often", "next")
	}
	for i := range 5 * maxPairs {
		u.addAll("ann", fmt.Sprint("c", i), fmt.Sprint("tool", i), fmt.Sprint("tool", i+1))
		if i%1000 == 0 {
			u.addAll("ann", "c", "often", "next", "often", "next")
		}
	}
	one := u.users["ann"]
	sum := 0
	for _, n := range one.from {
		sum += n
	}
	for _, n := range one.pairs {
		sum -= n
	}
	if len(u.users) > maxUsers || len(one.pairs) > maxPairs || len(one.last) > maxConversations || sum != 0 {
		t.Errorf("%d users, %d pairs, %d conversations, a difference of %d", len(u.users), len(one.pairs), len(one.last), sum)
	}
	if u.addAll("ann", "c", "often"); u.After(t.Context(), "ann", "c")("next") == 0 {
		t.Error("what happens often is forgotten")
	}
}

func TestUsesAtTheSameTime(t *testing.T) {
	var u Uses
	u.Begin(&calls{}, time.Now())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				u.Add("ann", Call{fmt.Sprint(i), fmt.Sprint(j % 7)})
				u.After(context.Background(), fmt.Sprint(j%3), fmt.Sprint(i))("x")
			}
		})
	}
	wg.Wait()
}
