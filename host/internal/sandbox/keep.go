package sandbox

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/memsnap"
)

// keptSupply keeps instances that are renewed after each call. What they cannot
// serve, calls with folders or that want a new instance, another supply does.
type keptSupply struct {
	others  *freshSupply
	program program
	log     hclog.Logger
	memory  uint64 // cap of the guest's memory, in bytes
	most    int    // instances that wait
	space   *memsnap.Space

	near sync.Pool // of instances: which one each core used last, for most of it is still at hand there

	mu     sync.Mutex
	ready  []instance // the one used last at the end
	used   bool       // since the last look
	idle   *time.Timer
	off    bool // this module's instances cannot be kept
	closed bool
}

// take implements supply.
func (s *keptSupply) take(sp span, want setup) (instance, error) {
	if want.fresh || len(want.grant.Mounts) > 0 {
		return s.others.take(sp, want)
	}
	i, off := s.pop()
	if i != nil {
		return i, nil
	}
	if off {
		return s.others.take(sp, want)
	}
	i, err := s.start(sp)
	if errors.Is(err, errUnkept) {
		s.mu.Lock()
		s.off = true
		s.mu.Unlock()
		return s.others.take(sp, want)
	}
	return i, err
}

// start makes an instance that knows nothing of any call.
func (s *keptSupply) start(sp span) (instance, error) {
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

// pop takes the instance that this core used last, if it waits, else the one that was
// used last.
func (s *keptSupply) pop() (i instance, off bool) {
	near, known := s.near.Get().(instance)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	n := len(s.ready) - 1
	if known && n > 0 {
		if at := slices.Index(s.ready, near); at >= 0 {
			s.ready[at], s.ready[n] = s.ready[n], s.ready[at]
		}
	}
	if n >= 0 {
		i, s.ready[n] = s.ready[n], nil
		s.ready = s.ready[:n]
	}
	return i, s.off
}

// give implements supply.
func (s *keptSupply) give(i instance) {
	if err := i.renew(); err != nil {
		if !errors.Is(err, errSpoiled) {
			s.log.Warn("an instance cannot be renewed", "error", err)
		}
		discard(s.log, i)
		return
	}
	if !s.push(i) {
		discard(s.log, i)
	}
}

func (s *keptSupply) push(i instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.ready) >= s.most {
		return false
	}
	s.ready = append(s.ready, i)
	s.near.Put(i)
	if s.idle == nil {
		s.idle = time.AfterFunc(spareIdle, s.rest)
	}
	return true
}

// rest lets waiting instances go when none was used since it looked last.
func (s *keptSupply) rest() {
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
func (s *keptSupply) close() {
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
