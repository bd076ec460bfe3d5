package worker

import (
	"context"
	"slices"

	"github.com/weirhost/weir/host/internal/jail"
)

// A waiter is a call that waits for a worker: one that is being started for it, or one
// that becomes free earlier.
type waiter struct {
	key   string        // mountKey of its folders
	found chan struct{} // closed when w or err is set
	w     *process
	err   error // the start of its worker failed
}

// worker returns a worker with those folders: an idle one, or the first that becomes
// free or was started. release or discard must follow.
func (m *Module) worker(ctx context.Context, mounts []jail.Mount) (*process, error) {
	if err := ctx.Err(); err != nil { // a worker would be killed with it
		return nil, err
	}
	key := mountKey(mounts)
	for {
		w, s := m.idleOrWait(key, mounts)
		if s != nil {
			return m.await(ctx, s)
		}
		if w.usable() {
			return w, nil
		}
		w.discard()
	}
}

// idleOrWait removes an idle worker from the list, or else makes the call a waiter. There
// is a start for each waiter.
func (m *Module) idleOrWait(key string, mounts []jail.Mount) (*process, *waiter) {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.popIdle(m, key); i != nil {
		return i.w, nil
	}
	s := &waiter{key: key, found: make(chan struct{})}
	m.waiters = append(m.waiters, s)
	if m.starting[key] < m.waitingFor(key) {
		m.starting[key]++
		p.tasks.Add(1) // the call itself holds one
		m.starts.Go(func() {
			defer p.tasks.Done()
			m.startWorker(key, mounts)
		})
	}
	return nil, s
}

// waitingFor returns how many calls wait for a worker with those folders; the pool's mu
// is held.
func (m *Module) waitingFor(key string) (n int) {
	for _, s := range m.waiters {
		if s.key == key {
			n++
		}
	}
	return n
}

// await waits for the waiter's worker. A worker that comes too late goes to another call.
func (m *Module) await(ctx context.Context, s *waiter) (*process, error) {
	err := context.Canceled
	select {
	case <-s.found:
		return s.w, s.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-m.calls.Life().Done():
	}
	m.pool.mu.Lock()
	m.waiters = slices.DeleteFunc(m.waiters, func(o *waiter) bool { return o == s })
	m.pool.mu.Unlock()
	if s.w != nil { // nobody sets it any more
		m.pool.release(m, s.w)
	}
	return nil, err
}

// startWorker starts a worker, and gives it to the call that has waited longest. A start
// that has begun goes on without its caller, because the next call needs it.
func (m *Module) startWorker(key string, mounts []jail.Mount) {
	ctx, cancel := context.WithTimeout(m.calls.Life(), startTime)
	defer cancel()
	w, err := m.make(ctx, key, mounts)
	if w == nil && err == nil {
		return
	}
	m.endStart(key, true)
	if !m.hand(key, w, err) && err == nil {
		m.pool.release(m, w)
	}
}

// endStart counts a start no more: if it is over, or else if no call waits for it. It
// reports whether it did.
func (m *Module) endStart(key string, over bool) bool {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if over = over || m.waitingFor(key) == 0; over {
		if m.starting[key]--; m.starting[key] == 0 {
			delete(m.starting, key)
		}
	}
	return over
}

// hand gives a worker, or the reason why there is none, to the call that has waited
// longest, and reports whether there is one.
func (m *Module) hand(key string, w *process, err error) bool {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return m.handLocked(key, w, err)
}

// handLocked is hand; the pool's mu is held.
func (m *Module) handLocked(key string, w *process, err error) bool {
	at := slices.IndexFunc(m.waiters, func(s *waiter) bool { return s.key == key })
	if at < 0 {
		return false
	}
	s := m.waiters[at]
	m.waiters = slices.Delete(m.waiters, at, at+1)
	s.w, s.err = w, err
	close(s.found)
	return true
}

// release gives a worker without a call to one that waits, or makes it idle.
func (p *Pool) release(m *Module, w *process) {
	if !w.usable() { // it may look at the folders, which may take long
		w.discard()
		return
	}
	p.mu.Lock()
	var surplus []*process
	if !m.handLocked(w.key, w, nil) {
		surplus = p.addIdle(m, w)
	}
	p.mu.Unlock()
	for _, w := range surplus {
		w.discard()
	}
}
