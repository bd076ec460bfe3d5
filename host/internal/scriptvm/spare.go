package scriptvm

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// mostSpares is how many instances are made before a script needs them.
const mostSpares = 2

// spares are instances in the state in which every script starts, made in the background:
// to make one takes as long as a short script runs.
type spares struct {
	ready chan *Script

	mu      sync.Mutex
	making  int
	closed  bool
	written []int    // pages that the first script wrote when it started; nil: none has
	called  []string // functions of the module that it called: each has a stack of its own
	work    sync.WaitGroup
}

// osPage is the unit in which the system makes memory, in bytes.
const osPage = 4 << 10

// learn notes the pages that a script has written, if it is the first one.
func (p *spares) learn(s *Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written != nil {
		return
	}
	p.written, p.called = []int{}, slices.Collect(maps.Keys(s.functions))
	memory, image := s.view(), s.runtime.image
	for at := 0; at+osPage <= min(len(memory), len(image)); at += osPage {
		if !bytes.Equal(memory[at:at+osPage], image[at:at+osPage]) {
			p.written = append(p.written, at)
		}
	}
}

// touch makes an instance ready: pages of memory that every script reads or writes would
// each interrupt it once, and functions are looked up.
func (s *Script) touch(written []int, called []string) {
	for _, name := range called {
		s.function(name)
	}
	memory := s.view()
	var sum byte
	for at := 0; at < len(memory); at += osPage {
		sum += memory[at]
	}
	for _, at := range written {
		memory[at] = memory[at]&sum | memory[at] // what it is
	}
}

// view returns the memory itself.
func (s *Script) view() []byte {
	m := s.module.Memory()
	memory, _ := m.Read(0, m.Size())
	return memory
}

// ready returns an instance in the state in which every script starts. Its caller calls
// prepare when the script has come as far as it can: until then another instance would
// only slow it down.
func (r *Runtime) ready(ctx context.Context) (*Script, error) {
	select {
	case s := <-r.spares.ready:
		return s, nil
	default:
		return r.fresh(ctx)
	}
}

// fresh makes such an instance.
func (r *Runtime) fresh(ctx context.Context) (*Script, error) {
	s, err := r.instance(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.reset(); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// prepare makes a spare instance, unless there are enough.
func (r *Runtime) prepare() {
	p := &r.spares
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.making+len(p.ready) >= mostSpares {
		return
	}
	p.making++
	written, called := p.written, p.called
	p.work.Go(func() {
		s, err := r.fresh(context.Background())
		if err == nil {
			s.touch(written, called)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.making--
		if err == nil {
			p.ready <- s // there is room: making counts it
		}
	})
}

// close frees the spare instances.
func (p *spares) close(ctx context.Context) (err error) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.work.Wait()
	for {
		select {
		case s := <-p.ready:
			err = errors.Join(err, s.Close(ctx))
		default:
			return err
		}
	}
}
