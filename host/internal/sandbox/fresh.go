package sandbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// spareIdle is how long unused spare instances are kept: they cost memory.
const spareIdle = time.Minute

// spareStart bounds the creation of a spare instance, which no call waits for.
const spareStart = 30 * time.Second

// freshSupply creates an instance for every call. For modules that start slowly it
// prepares spare instances in the background, for the setup of the last call; each
// serves one call only.
type freshSupply struct {
	program program
	log     hclog.Logger
	memory  uint64 // cap of the guest's memory, in bytes
	spares  int

	ctx    context.Context // its end stops the creation of spares
	cancel context.CancelFunc
	makers sync.WaitGroup

	mu     sync.Mutex
	key    string // setup of the ready ones
	ready  []instance
	making int
	idle   *time.Timer
	closed bool
}

func newFreshSupply(p program, log hclog.Logger, memory uint64, spares int) *freshSupply {
	s := &freshSupply{program: p, log: log, memory: memory, spares: max(spares, 0)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// acquire implements supply.
func (s *freshSupply) acquire(sp span, want setup) (instance, error) {
	if s.spares == 0 {
		return s.start(sp, want)
	}
	key := want.key()
	defer s.refill(key, want)
	for {
		i := s.pop(key)
		if i == nil {
			return s.start(sp, want)
		}
		if i.environment().jail.Current() {
			return i, nil
		}
		discard(s.log, i)
	}
}

// release implements supply.
func (s *freshSupply) release(i instance) { discard(s.log, i) }

// start creates an instance with an env of its own.
func (s *freshSupply) start(sp span, want setup) (instance, error) {
	e, err := newEnv(sp, s.log, want, s.memory)
	if err != nil {
		return nil, &startError{err: err, mounts: true}
	}
	i, err := s.program.start(e)
	if err != nil {
		e.release()
		return nil, &startError{err: err, env: e}
	}
	return i, nil
}

// startError carries the env of an instance that could not be created.
type startError struct {
	err    error
	env    *env // nil if there was none yet
	mounts bool // the folders could not be opened
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// pop returns a spare instance for key, and discards those for another setup.
func (s *freshSupply) pop(key string) instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != key {
		s.drop()
		s.key = key
	}
	if len(s.ready) == 0 {
		return nil
	}
	i := s.ready[len(s.ready)-1]
	s.ready = s.ready[:len(s.ready)-1]
	return i
}

// drop discards the ready spares; s.mu is held.
func (s *freshSupply) drop() {
	for _, i := range s.ready {
		discard(s.log, i)
	}
	s.ready = nil
}

// refill creates the missing spares in the background.
func (s *freshSupply) refill(key string, want setup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.key != key {
		return
	}
	if s.idle == nil {
		s.idle = time.AfterFunc(spareIdle, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.drop()
		})
	} else {
		s.idle.Reset(spareIdle)
	}
	for ; len(s.ready)+s.making < s.spares; s.making++ {
		s.makers.Go(func() { s.makeSpare(key, want) })
	}
}

func (s *freshSupply) makeSpare(key string, want setup) {
	ctx, cancel := context.WithTimeout(s.ctx, spareStart)
	defer cancel()
	i, err := s.start(spareSpan{ctx}, want)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making--
	switch {
	case err != nil:
		s.log.Debug("a spare instance could not be made", "error", err)
	case s.closed || s.key != key:
		discard(s.log, i)
	default:
		s.ready = append(s.ready, i)
	}
}

// close implements supply.
func (s *freshSupply) close() {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.drop()
	s.mu.Unlock()
	s.cancel()
	s.makers.Wait()
}

// discard closes an instance and releases what it held.
func discard(log hclog.Logger, i instance) {
	if err := i.close(); err != nil {
		log.Debug("closing an instance failed", "error", err)
	}
	i.environment().release()
}

// key returns a string that is equal for equal setups.
func (s setup) key() string {
	var b strings.Builder
	for _, m := range s.grant.Mounts {
		fmt.Fprintf(&b, "%q %q %t %q %q\n", m.Guest, m.Host, m.Write, m.Hide, m.Keep)
	}
	config := s.config()
	for _, k := range slices.Sorted(maps.Keys(config)) {
		fmt.Fprintf(&b, "%q=%q\n", k, config[k])
	}
	return b.String()
}
