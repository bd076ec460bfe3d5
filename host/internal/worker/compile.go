package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/quarantine"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A compileMode says for which process a module is compiled, and how carefully the
// cache is checked.
type compileMode struct {
	checked bool // for this process, with loop checks; else for workers
	check   cacheCheck
}

// A cacheCheck is how the cache is checked for the module's code.
type cacheCheck byte

const (
	trustRecord cacheCheck = iota // trust the cache's own record; loading finds damage
	verifyCode                    // read and verify all of the code
	recompile                     // does not check: the code is there, and no engine takes it
)

// Compile checks a plugin and compiles it in a child process unless the cache holds
// its code. With checked the code has loop checks, for an engine in this process;
// without, it is for workers. The error is a sentence that names the plugin, or a
// *Quarantined.
func (p *Pool) Compile(ctx context.Context, pl sandbox.Plugin, checked bool) (sandbox.Facts, error) {
	return p.prepare(ctx, pl, compileMode{checked: checked, check: verifyCode})
}

// Precompile is Compile without the facts.
func (p *Pool) Precompile(ctx context.Context, pl sandbox.Plugin, checked bool) error {
	_, err := p.prepare(ctx, pl, compileMode{checked: checked})
	return err
}

// LikelyCompiled reports whether the cache's record lists the code of the module with
// that SHA-256, in hex. It is cheap and does not verify the code.
func (p *Pool) LikelyCompiled(sha256 string, checked bool) bool {
	return p.inspectors[checked].LikelyCompiled(sha256)
}

func (p *Pool) prepare(ctx context.Context, pl sandbox.Plugin, mode compileMode) (sandbox.Facts, error) {
	facts, err := p.inspectors[mode.checked].Examine(pl)
	if err != nil {
		return sandbox.Facts{}, err
	}
	return facts, p.compile(ctx, pl, mode)
}

// compile compiles a module that is not in the cache, in one child at a time per
// module.
func (p *Pool) compile(ctx context.Context, pl sandbox.Plugin, mode compileMode) error {
	if !p.enter() {
		return again(pl, tool.Text{Format: "the sandbox is closed"})
	}
	defer p.tasks.Done()
	sum := sha256.Sum256(pl.Wasm)
	digest := hex.EncodeToString(sum[:])
	for {
		if e, held := p.quarantine.Held(digest); held {
			return &Quarantined{Plugin: pl.Name, Entry: e}
		}
		if p.compiled(pl, digest, mode) {
			return nil
		}
		done, mine := p.claim(digest)
		if mine {
			defer p.unclaim(digest)
			return p.try(ctx, pl, digest, mode)
		}
		select {
		case <-done:
			mode.check = min(mode.check, verifyCode) // it was compiled just now
		case <-ctx.Done():
			return again(pl, tool.Text{Format: "compiling was stopped"})
		}
	}
}

func (p *Pool) compiled(pl sandbox.Plugin, digest string, mode compileMode) bool {
	return mode.check == trustRecord && p.LikelyCompiled(digest, mode.checked) || mode.check <= verifyCode && p.inspectors[mode.checked].Compiled(pl)
}

// claim registers the caller as the one that compiles a module. Else it returns what
// is closed at the end.
func (p *Pool) claim(digest string) (done chan struct{}, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done, ok := p.compiling[digest]; ok {
		return done, false
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

// try compiles a module in a child. The attempt is recorded in the quarantine before
// it begins, so even a crash of this process does not hide it.
func (p *Pool) try(ctx context.Context, pl sandbox.Plugin, digest string, mode compileMode) error {
	if err := p.quarantine.Begin(digest, pl.Name); err != nil {
		return again(pl, tool.Textf("the attempt to compile it cannot be recorded: %s", err))
	}
	err := p.compileOnce(ctx, pl, mode.checked)
	var lost *lossError
	switch {
	case err == nil:
		return p.quarantine.Release(digest)
	case ctx.Err() != nil || p.ending.Err() != nil:
		return errors.Join(again(pl, tool.Text{Format: "compiling was stopped"}), p.quarantine.Undo(digest))
	case errors.Is(err, errSpawn):
		return errors.Join(again(pl, err), p.quarantine.Undo(digest))
	case !errors.As(err, &lost):
		return errors.Join(err, p.quarantine.Release(digest)) // the engine's own verdict
	}
	p.log.Warn("compiling a plugin ended its process", "plugin", pl.Name, "error", err)
	why, final := p.verdict(lost)
	if err := p.quarantine.End(digest, why, final); err != nil {
		return again(pl, why)
	}
	if e, held := p.quarantine.Held(digest); held {
		return &Quarantined{Plugin: pl.Name, Entry: e}
	}
	return again(pl, why)
}

// ErrAgain says that compiling failed, and that the next call tries again.
var ErrAgain = msg.Errorf("it is tried again at the next call")

func again(pl sandbox.Plugin, why any) error {
	return msg.Errorf("plugin %s: %s; %w", pl.Name, why, ErrAgain)
}

// verdict returns why a child that compiled has ended. final reports whether the
// module is the cause.
func (p *Pool) verdict(lost *lossError) (why tool.Text, final bool) {
	switch lost.loss(p.cfg.CompileCPU / 2) { // the kernel counts in ticks, so less may be shown
	case LostMemory:
		return tool.Textf("compiling it needs more than %s of memory", p.cfg.CompileMemory), true
	case LostCPU:
		return tool.Textf("compiling it needs more than %s of CPU time", p.cfg.CompileCPU), true
	case LostSlow:
		return tool.Text{Format: "compiling it took too long"}, true
	case LostKilled:
		return tool.Text{Format: "another program stopped the process that compiled it"}, false
	}
	return tool.Text{Format: "the compiler crashed"}, true
}

// slowness is how much longer than its CPU time compiling may take on a busy machine.
const slowness = 20

var errSlow = errors.New("too slow")

// compileOnce compiles the module in one child, of low priority.
func (p *Pool) compileOnce(ctx context.Context, pl sandbox.Plugin, checked bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.ending, stop)()
	ctx, cancel := context.WithTimeoutCause(ctx, slowness*p.cfg.CompileCPU, errSlow)
	defer cancel()
	w, err := p.spawn("compile "+pl.Name, nil)
	if err != nil {
		return err
	}
	defer w.discard()
	w.lower()
	err = w.load(ctx, loadMeta{
		Plugin: pl.Name, Engine: p.cfg.Engine, Exports: pl.Exports, Memory: int64(pl.Memory), Cache: p.cacheOf(), CacheVersion: p.inspectors[checked].CacheVersion(),
		Compile: true, Checked: checked,
		Bounds: confine.Bounds{Data: int64(p.cfg.CompileMemory), CPU: int64(math.Ceil(p.cfg.CompileCPU.Seconds())), Files: maxFiles},
	}, pl.Wasm)
	if lost, ok := errors.AsType[*lossError](err); ok && context.Cause(ctx) == errSlow {
		lost.err = errSlow
	}
	return err
}

// A Quarantined is the error of a module that is not compiled again.
type Quarantined struct {
	Plugin string
	Entry  quarantine.Entry
}

// Error returns the sentence in English.
func (q *Quarantined) Error() string { return q.MsgText().String() }

// MsgText returns the sentence for any language.
func (q *Quarantined) MsgText() tool.Text {
	return tool.Textf("plugin %s is in quarantine: %s", q.Plugin, q.Entry.Why)
}
