package sandbox

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/jail"
)

// env is everything one instance can reach. It is made with the instance; the
// call it serves is bound to it later, for spares are made before their call.
type env struct {
	config map[string]string
	jail   *jail.Jail
	memory *meter
	log    hclog.Logger
	lines  *journal
	stdout *stream
	stderr *stream

	mu       sync.Mutex
	ctx      context.Context
	http     Sender
	progress func(done, total int, msg string)
	reports  int
	max      int // bytes of output

	exited   bool   // the guest ended its own life
	exitCode uint32 // with this
	closing  bool   // we are closing it; what follows is no exit
	wrong    string // the guest's own error text
	wanted   int    // length of the output it set
	lost     bool   // input or output that did not fit
	tooLarge bool   // output over max
	relist   bool   // it says that it would list other tools now
	last     lastResponse
}

// lastResponse is what Extism's http_status_code and http_headers speak of.
type lastResponse struct {
	status  int
	headers map[string]string
}

// newEnv opens the mounts and fixes the configuration.
func newEnv(ctx context.Context, log hclog.Logger, s setup, memory uint64) (*env, error) {
	j, err := jail.Open(s.grant.Mounts)
	if err != nil {
		return nil, err
	}
	lines := &journal{log: log}
	return &env{
		config: s.config(), jail: j, memory: newMeter(memory), log: log, lines: lines, ctx: ctx,
		stdout: &stream{journal: lines, source: "stdout"},
		stderr: &stream{journal: lines, source: "stderr"},
	}, nil
}

// config is the guest's configuration with the limits in force for it.
func (s setup) config() map[string]string {
	c := maps.Clone(s.grant.Config)
	if c == nil {
		c = make(map[string]string, 2)
	}
	for key, n := range map[string]int{"weir.max_chars": s.limits.MaxChars, "weir.max_lines": s.limits.MaxLines} {
		if n > 0 {
			c[key] = strconv.Itoa(n)
		}
	}
	return c
}

// bind gives the instance its call.
func (e *env) bind(ctx context.Context, inv Invocation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ctx, e.http, e.progress, e.max = ctx, inv.Grant.HTTP, inv.Progress, inv.MaxOutput
}

func (e *env) context() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ctx
}

// sleep pauses the guest, but never beyond its call.
func (e *env) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.context().Done():
	}
}

// closed is told when the instance ends, and notes when that was the guest's doing.
func (e *env) closed(code uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing && e.ctx.Err() == nil {
		e.exited, e.exitCode = true, code
	}
}

// note runs f under the lock; host functions use it to leave word.
func (e *env) note(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// release ends what the instance holds.
func (e *env) release() {
	e.stdout.end()
	e.stderr.end()
	e.lines.end()
	if err := e.jail.Close(); err != nil {
		e.log.Warn("closing the plugin's folders failed", "error", err)
	}
}
