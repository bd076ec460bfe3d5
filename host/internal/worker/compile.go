package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// Prepare checks a plugin and has a child compile it into the cache, unless it
// is there: with loop checks for an engine in this process, without for workers.
// The error is a sentence that names the plugin, or a *Quarantined.
func (p *Pool) Prepare(ctx context.Context, pl sandbox.Plugin, checked bool) (sandbox.Facts, error) {
	facts, err := p.looks[checked].Examine(pl)
	if err != nil {
		return sandbox.Facts{}, err
	}
	return facts, p.compile(ctx, pl, checked)
}

// compile has a child compile a module that is not in the cache. A module is
// compiled by one child at a time.
func (p *Pool) compile(ctx context.Context, pl sandbox.Plugin, checked bool) error {
	if !p.enter() {
		return again(pl, "the sandbox is closed")
	}
	defer p.tasks.Done()
	sum := sha256.Sum256(pl.Wasm)
	digest := hex.EncodeToString(sum[:])
	for {
		if e, held := p.quarantine.Held(digest); held {
			return &Quarantined{Plugin: pl.Name, Entry: e}
		}
		if p.looks[checked].Compiled(pl) {
			return nil
		}
		wait, mine := p.claim(digest)
		if mine {
			defer p.unclaim(digest)
			return p.try(ctx, pl, digest, checked)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return again(pl, "compiling was stopped")
		}
	}
}

// claim makes the caller the one who compiles; else it says what to wait for.
func (p *Pool) claim(digest string) (wait chan struct{}, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.compiling[digest]; ok {
		return c, false
	}
	p.compiling[digest] = make(chan struct{})
	return nil, true
}

func (p *Pool) unclaim(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.compiling[digest])
	delete(p.compiling, digest)
}

// try compiles a module in a child. The quarantine knows of it before it begins,
// so that not even the end of this whole process hides what was tried.
func (p *Pool) try(ctx context.Context, pl sandbox.Plugin, digest string, checked bool) error {
	if err := p.quarantine.begin(digest, pl.Name); err != nil {
		return again(pl, "it is not compiled, for the try cannot be written down: "+err.Error())
	}
	err := p.compileOnce(ctx, pl, checked)
	var lost *lossError
	switch {
	case err == nil:
		return p.quarantine.settle(digest)
	case ctx.Err() != nil || p.ending.Err() != nil:
		return errors.Join(again(pl, "compiling was stopped"), p.quarantine.undo(digest))
	case errors.Is(err, errSpawn):
		return errors.Join(again(pl, err.Error()), p.quarantine.undo(digest))
	case !errors.As(err, &lost):
		return errors.Join(err, p.quarantine.settle(digest)) // the engine's own answer
	}
	p.log.Warn("compiling a plugin ended its process", "plugin", pl.Name, "error", err)
	why, final := p.verdict(lost)
	if err := p.quarantine.end(digest, why, final); err != nil {
		return again(pl, why)
	}
	if e, held := p.quarantine.Held(digest); held {
		return &Quarantined{Plugin: pl.Name, Entry: e}
	}
	return again(pl, why)
}

// ErrAgain says that compiling failed in a way that another try may not.
var ErrAgain = errors.New("it is tried again at the next call")

func again(pl sandbox.Plugin, why string) error {
	return fmt.Errorf("plugin %s: %s; %w", pl.Name, why, ErrAgain)
}

// verdict says why a child that compiled is no more. It is final when the module
// is at fault, not when somebody else ended the child.
func (p *Pool) verdict(lost *lossError) (why string, final bool) {
	switch {
	case lost.outOfMemory():
		return fmt.Sprintf("compiling it takes more than %s of memory", p.cfg.CompileMemory), true
	case killed(lost.state) && lost.cpu() >= p.cfg.CompileCPU/2: // the kernel counts in ticks, and differently each time
		return fmt.Sprintf("compiling it takes more than %s of CPU time", p.cfg.CompileCPU), true
	case errors.Is(lost, errSlow):
		return "compiling it did not end in any reasonable time", true
	case killed(lost.state):
		return "the process that compiled it was ended from outside", false
	}
	return "the compiler crashed over it", true
}

// slowness is how much longer than its CPU time compiling may take on a machine
// that is busy with other things.
const slowness = 20

var errSlow = errors.New("too slow")

// compileOnce has one child compile the module.
func (p *Pool) compileOnce(ctx context.Context, pl sandbox.Plugin, checked bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.ending, stop)()
	turn, err := p.turns.wait(ctx, pl.Name)
	if err != nil {
		return err
	}
	defer p.turns.done(turn)
	ctx, cancel := context.WithTimeoutCause(ctx, slowness*p.cfg.CompileCPU, errSlow)
	defer cancel()
	w, err := p.spawn("compile "+pl.Name, nil)
	if err != nil {
		return err
	}
	defer w.discard()
	p.turns.bind(turn, w)
	err = w.load(ctx, loadMeta{
		Plugin: pl.Name, Engine: p.cfg.Engine, Exports: pl.Exports, Memory: int64(pl.Memory), Cache: p.cacheOf(), Compile: true, Checked: checked,
		Bounds: bounds{Data: int64(p.cfg.CompileMemory), CPU: int64(math.Ceil(p.cfg.CompileCPU.Seconds())), Files: maxFiles},
	}, pl.Wasm)
	var lost *lossError
	if errors.As(err, &lost) && context.Cause(ctx) == errSlow {
		lost.err = errSlow
	}
	return err
}

// Quarantined says that a module is not tried again.
type Quarantined struct {
	Plugin string
	Entry  Entry
}

func (q *Quarantined) Error() string {
	return fmt.Sprintf("plugin %s is in quarantine: %s", q.Plugin, q.Entry.Why)
}
