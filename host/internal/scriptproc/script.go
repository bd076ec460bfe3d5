package scriptproc

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/scriptvm"
)

// A Script is one that runs, or waits. It is safe for concurrent use, one step at a time.
type Script struct {
	engine *Engine
	user   string
	stop   <-chan struct{}

	mu     sync.Mutex
	slot   slot        // nil: it is packed
	packed []byte      // a snapshot; nil: it is in its slot
	timer  *time.Timer // packs it
	broken error       // what ended it; nil: it can go on
}

// A Start is a script to start.
type Start struct {
	Source  string
	Setting scriptvm.Setting
	User    string // who shares the slots with others
	// Stop, when it is closed, ends the wait for a slot. If nil, nothing does but the context.
	Stop <-chan struct{}
}

// Start starts a script. Errors are scriptvm.ErrSource, scriptvm.ErrTime,
// scriptvm.ErrBroken, ErrLost, ErrStopped and those of ctx.
func (e *Engine) Start(ctx context.Context, s Start) (*Script, scriptvm.State, error) {
	if len(s.Source) > scriptvm.MaxSource || !utf8.ValidString(s.Source) {
		return nil, scriptvm.State{}, scriptvm.ErrSource
	}
	out := &Script{engine: e, user: s.User, stop: s.Stop}
	out.mu.Lock()
	defer out.mu.Unlock()
	state, err := out.step(ctx, request{Do: doStart, Source: s.Source, Setting: s.Setting})
	if err != nil {
		return nil, scriptvm.State{}, err
	}
	return out, state, nil
}

// Check returns what is wrong in the syntax of a script; nil: nothing. Nothing runs. Errors
// are those of Start.
func (e *Engine) Check(ctx context.Context, source string) (*scriptvm.Fault, error) {
	p, err := e.enter(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	out, err := p.do(ctx, request{Do: doCheck, Source: source})
	e.leave("", p)
	return out.State.Fault, err
}

// Resume returns a script as it was when the snapshot was made. The error, here or of the
// first step, is scriptvm.ErrSnapshot.
func (e *Engine) Resume(snapshot []byte, user string, stop <-chan struct{}) (*Script, error) {
	if err := scriptvm.Verify(snapshot); err != nil {
		return nil, err
	}
	return &Script{engine: e, user: user, stop: stop, packed: snapshot}, nil
}

// Step hands over answers and lets the script run until it waits again or ends. Errors are
// those of Start, and scriptvm.ErrSnapshot. After ErrStopped it can go on.
func (s *Script) Step(ctx context.Context, answers []scriptvm.Answer) (scriptvm.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.step(ctx, request{Do: doStep, Answers: answers})
}

func (s *Script) step(ctx context.Context, r request) (scriptvm.State, error) {
	if s.broken != nil {
		return scriptvm.State{}, s.broken
	}
	if err := s.enter(ctx); err != nil {
		return scriptvm.State{}, err
	}
	out, err := s.slot.do(ctx, r)
	switch {
	case err != nil:
		s.broken = err
		s.leave()
	case out.State.Done:
		s.broken = scriptvm.ErrBroken // there is no next step
		s.leave()
	case s.engine.rest(s):
		if rest := s.engine.options.Rest; rest > 0 {
			s.timer = time.AfterFunc(rest, s.rested)
			break
		}
		s.engine.wake(s)
		fallthrough
	default:
		s.pack(ctx)
	}
	return out.State, err
}

// enter brings the script to a slot.
func (s *Script) enter(ctx context.Context) (err error) {
	s.engine.wake(s)
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.slot != nil {
		return nil
	}
	if s.slot, err = s.engine.enter(ctx, s.user, s.stop); err != nil || s.packed == nil {
		return err
	}
	if _, err = s.slot.do(ctx, request{Do: doResume, Data: s.packed}); err != nil {
		s.broken = err
		s.leave()
		return err
	}
	s.packed = nil
	return nil
}

// leave gives the slot back. s.mu is held.
func (s *Script) leave() {
	if s.slot == nil {
		return
	}
	p := s.slot
	s.slot = nil
	if _, err := p.do(context.Background(), request{Do: doEnd}); err != nil {
		p.close()
		p = nil
	}
	s.engine.leave(s.user, p)
}

// rested packs a script that has waited for long.
func (s *Script) rested() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && s.slot != nil {
		s.engine.wake(s)
		s.pack(context.Background())
	}
}

// pack takes the script from its slot. s.mu is held, and the script does not rest.
func (s *Script) pack(ctx context.Context) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	out, err := s.slot.do(context.WithoutCancel(ctx), request{Do: doSnapshot})
	if err != nil {
		s.broken = err
	}
	s.packed = out.Data
	s.leave()
}

// Snapshot returns the state of a script that waits.
func (s *Script) Snapshot(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken != nil:
		return nil, s.broken
	case s.slot == nil:
		return s.packed, nil
	}
	out, err := s.slot.do(ctx, request{Do: doSnapshot})
	return out.Data, err
}

// Engine returns what the script runs in.
func (s *Script) Engine() *Engine { return s.engine }

// Close frees the script's memory.
func (s *Script) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine.wake(s)
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.leave()
	if s.broken == nil {
		s.broken = scriptvm.ErrBroken
	}
	s.packed = nil
}
