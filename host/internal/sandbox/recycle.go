package sandbox

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/memsnap"
)

// recycledSupply keeps instances that are reset after each call. Calls that need a new
// instance, such as calls with folders, use another supply.
type recycledSupply struct {
	others  *freshSupply
	program program
	log     hclog.Logger
	memory  uint64 // cap of the guest's memory, in bytes
	most    int    // instances that wait
	space   *memsnap.Space

	mu     sync.Mutex
	ready  []instance // the last used one at the end
	used   bool       // since the last check of rest
	idle   *time.Timer
	off    bool // this module's instances cannot be recycled
	closed bool
}

// acquire implements supply.
func (s *recycledSupply) acquire(sp span, want setup) (instance, error) {
	if want.fresh || len(want.grant.Mounts) > 0 {
		return s.others.acquire(sp, want)
	}
	i, off := s.pop()
	if i != nil {
		return i, nil
	}
	if off {
		return s.others.acquire(sp, want)
	}
	i, err := s.start(sp)
	if errors.Is(err, errNotRecyclable) {
		s.mu.Lock()
		s.off = true
		s.mu.Unlock()
		return s.others.acquire(sp, want)
	}
	return i, err
}

// start creates an instance that has seen no call.
func (s *recycledSupply) start(sp span) (instance, error) {
	e, err := newEnv(sp, s.log, setup{}, s.memory)
	if err != nil {
		return nil, err
	}
	e.memory.space = s.space
	i, err := s.program.start(e)
	if err != nil {
		e.release()
		return nil, &startError{err: err, env: e}
	}
	return i, nil
}

// pop returns the last used instance; nil: there is none. off reports that instances
// cannot be recycled.
func (s *recycledSupply) pop() (i instance, off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	n := len(s.ready) - 1
	if n >= 0 {
		i, s.ready[n] = s.ready[n], nil
		s.ready = s.ready[:n]
	}
	return i, s.off
}

// release implements supply.
func (s *recycledSupply) release(i instance) {
	if err := i.renew(); err != nil {
		if !errors.Is(err, errNotReusable) {
			s.log.Warn("an instance cannot be renewed", "error", err)
		}
		discard(s.log, i)
		return
	}
	if !s.push(i) {
		discard(s.log, i)
	}
}

func (s *recycledSupply) push(i instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.ready) >= s.most {
		return false
	}
	s.ready = append(s.ready, i)
	if s.idle == nil {
		s.idle = time.AfterFunc(spareIdle, s.rest)
	}
	return true
}

// rest closes the waiting instances if none was used since its last run.
func (s *recycledSupply) rest() {
	s.mu.Lock()
	var gone []instance
	switch {
	case s.closed:
	case s.used:
		s.used = false
		s.idle.Reset(spareIdle)
	default:
		gone, s.ready, s.idle = s.ready, nil, nil
	}
	s.mu.Unlock()
	for _, i := range gone {
		discard(s.log, i)
	}
}

// close implements supply.
func (s *recycledSupply) close() {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	gone := s.ready
	s.ready = nil
	s.mu.Unlock()
	for _, i := range gone {
		discard(s.log, i)
	}
	s.others.close()
}
