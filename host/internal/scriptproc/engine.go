package scriptproc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/worker"
)

// Options configure an Engine.
type Options struct {
	// VM are the bounds of every script.
	VM scriptvm.Options
	// Command starts a process, as in worker.Config; its Tasks have Serve for scripts. If
	// empty, scripts run in this process.
	Command []string
	// Logger receives what goes wrong with processes; nil discards it.
	Logger hclog.Logger
	// Slots is how many scripts compute at a time. 0 or less means DefaultSlots.
	Slots int
	// Rest is how long a script that waits keeps its slot if no other script needs it.
	// 0 means DefaultRest; negative: it leaves at once.
	Rest time.Duration
	// Idle is how long a slot without a script stays. 0 or less means DefaultIdle.
	Idle time.Duration
}

// Defaults of Options.
const (
	DefaultSlots = 4
	DefaultRest  = time.Second
	DefaultIdle  = time.Minute
)

// An Engine runs scripts. It is safe for concurrent use.
type Engine struct {
	options Options
	digest  string
	vm      *scriptvm.Runtime // nil: scripts run in processes
	pool    *worker.Pool      // of these; nil: vm

	mu      sync.Mutex
	slots   int       // slots in Options, as Bound has set it
	used    []string  // the users of the slots that scripts have, or that are being started
	idle    []*spare  // slots without a script
	resting []*Script // scripts that wait in a slot, the first one the longest
	waiting []*waiter // for a slot, in the order in which they came
	closed  bool
	ended   sync.WaitGroup // slots that are being closed
}

// A spare is a slot without a script.
type spare struct {
	slot
	expiry *time.Timer
}

// A waiter waits for a slot. got receives one; nil: it may start another.
type waiter struct {
	user string
	got  chan slot
}

// Open opens an engine: it starts one slot. The caller closes the Engine when no script
// runs.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o.VM = o.VM.WithDefaults()
	if o.Slots <= 0 {
		o.Slots = DefaultSlots
	}
	o.Rest = cmp.Or(o.Rest, DefaultRest)
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	e := &Engine{options: o, slots: o.Slots}
	if len(o.Command) == 0 {
		vm, err := scriptvm.Open(ctx, o.VM)
		if err != nil {
			return nil, err
		}
		e.vm, e.digest = vm, vm.Digest()
		return e, nil
	}
	var err error
	if e.pool, err = worker.New(ctx, worker.Config{Command: o.Command, CacheDir: o.VM.CacheDir, Logger: o.Logger}); err != nil {
		return nil, err
	}
	first, err := start(ctx, e.pool, o.VM)
	if err != nil {
		return nil, errors.Join(err, e.pool.Close(ctx))
	}
	e.digest = first.digest
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keep(first)
	return e, nil
}

// Files returns what the engine is made of. They must not be changed.
func (e *Engine) Files() scriptvm.Files {
	if f := e.options.VM.Files; f.Engine != nil {
		return f
	}
	return scriptvm.OwnFiles()
}

// Memory returns the bound of a script's memory, in bytes.
func (e *Engine) Memory() int { return e.options.VM.Memory }

// Time returns how long all steps of a script may compute.
func (e *Engine) Time() time.Duration { return e.options.VM.Time }

// Digest identifies the state in which every script starts: a snapshot can be resumed by an
// Engine of the same one, and by no other.
func (e *Engine) Digest() string { return e.digest }

// Bound sets how many scripts compute at a time. 0 or less means DefaultSlots.
func (e *Engine) Bound(slots int) {
	if slots <= 0 {
		slots = DefaultSlots
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slots = slots
	e.admit()
}

// Close ends all slots.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	for _, s := range e.idle {
		s.expiry.Stop()
		s.close()
	}
	e.idle = nil
	e.mu.Unlock()
	e.ended.Wait()
	if e.vm != nil {
		return e.vm.Close(ctx)
	}
	return e.pool.Close(ctx)
}

// errClosed says that the Engine was closed.
var errClosed = errors.New("the engine of scripts is closed")

// ErrStopped says that a script was not to wait for its slot any longer.
var ErrStopped = errors.New("the script does not get a slot")

// enter returns a slot for a script of a user. The error is that of ctx, ErrStopped when
// stop is closed before, or ErrLost.
func (e *Engine) enter(ctx context.Context, user string, stop <-chan struct{}) (slot, error) {
	w := &waiter{user, make(chan slot, 1)}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	e.waiting = append(e.waiting, w)
	e.admit()
	full := len(e.waiting) > 0 && slices.Contains(e.waiting, w)
	e.mu.Unlock()
	if full {
		e.evict()
	}
	var err error
	select {
	case p := <-w.got:
		return e.made(ctx, user, p)
	case <-ctx.Done():
		err = ctx.Err()
	case <-stop:
		err = ErrStopped
	}
	e.mu.Lock()
	at := slices.Index(e.waiting, w)
	if at >= 0 {
		e.waiting = slices.Delete(e.waiting, at, at+1)
	}
	e.mu.Unlock()
	if at < 0 { // it came at this moment
		e.leave(user, <-w.got)
	}
	return nil, err
}

// made returns the slot that a waiter got, and starts it if there is none yet.
func (e *Engine) made(ctx context.Context, user string, p slot) (slot, error) {
	if p != nil {
		return p, nil
	}
	if e.vm != nil {
		return &local{vm: e.vm}, nil
	}
	c, err := start(ctx, e.pool, e.options.VM)
	if err == nil && c.digest != e.digest {
		c.close()
		err = ErrLost
	}
	if err != nil {
		e.leave(user, nil)
		return nil, err
	}
	return c, nil
}

// admit gives slots to those who wait, as far as there are any. e.mu is held.
func (e *Engine) admit() {
	for {
		at := e.next()
		if at < 0 {
			return
		}
		w := e.waiting[at]
		e.waiting = slices.Delete(e.waiting, at, at+1)
		e.used = append(e.used, w.user)
		if n := len(e.idle); n > 0 {
			s := e.idle[n-1]
			e.idle = e.idle[:n-1]
			s.expiry.Stop()
			w.got <- s.slot
		} else {
			w.got <- nil
		}
	}
}

// next returns who gets a slot next: the first one of those users who have the fewest. A
// user without one does not wait for others: beyond the bound each has one, up to twice the
// bound. It returns -1 if all have to wait. e.mu is held.
func (e *Engine) next() int {
	best, fewest := -1, 0
	for i, w := range e.waiting {
		has := 0
		for _, u := range e.used {
			if u == w.user {
				has++
			}
		}
		if best < 0 || has < fewest {
			best, fewest = i, has
		}
	}
	if best < 0 || len(e.used) < e.slots || fewest == 0 && len(e.used) < 2*e.slots {
		return best
	}
	return -1
}

// leave gives a slot of a user back, without its script; nil: it is gone.
func (e *Engine) leave(user string, p slot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at := slices.Index(e.used, user); at >= 0 {
		e.used = slices.Delete(e.used, at, at+1)
	}
	if p != nil {
		e.keep(p)
	}
	e.admit()
}

// keep keeps a slot for the next script, or ends it. e.mu is held.
func (e *Engine) keep(p slot) {
	c, isChild := p.(*child)
	if !isChild || e.closed || c.spent() || len(e.idle) >= e.slots {
		e.ended.Go(p.close)
		return
	}
	s := &spare{slot: p}
	s.expiry = time.AfterFunc(e.options.Idle, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if at := slices.Index(e.idle, s); at >= 0 {
			e.idle = slices.Delete(e.idle, at, at+1)
			e.ended.Go(p.close)
		}
	})
	e.idle = append(e.idle, s)
}

// rest says that a script waits in its slot: it reports false if another one needs that.
func (e *Engine) rest(s *Script) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) > 0 || e.closed {
		return false
	}
	e.resting = append(e.resting, s)
	return true
}

// wake says that a script rests no more.
func (e *Engine) wake(s *Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at := slices.Index(e.resting, s); at >= 0 {
		e.resting = slices.Delete(e.resting, at, at+1)
	}
}

// evict packs the script that has waited longest in a slot, if any does.
func (e *Engine) evict() {
	e.mu.Lock()
	var longest *Script
	for i, s := range e.resting {
		if s.mu.TryLock() { // else it goes on, or leaves
			longest, e.resting = s, slices.Delete(e.resting, i, i+1)
			break
		}
	}
	e.mu.Unlock()
	if longest != nil {
		defer longest.mu.Unlock()
		longest.pack(context.Background())
	}
}
