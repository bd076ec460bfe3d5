package app

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/panics"
	"github.com/weirhost/weir/sdk/tool"
)

// probeTimeout bounds the question that finds out about native tool calling.
const probeTimeout = 30 * time.Second

// failureKept is how long a probe that failed is not repeated. Each probe of a silent
// model costs a turn probeTimeout.
const failureKept = 5 * time.Minute

// A nativeCache stores in the data folder for which models native tool calling
// works. Each model is asked once, and again a week after a no; a lost or damaged file
// costs one question for each model. It is safe for concurrent use.
type nativeCache struct {
	*verdicts
	log hclog.Logger
}

// newNativeCache returns the cache of a data folder.
func newNativeCache(p config.Paths, log hclog.Logger) *nativeCache {
	return &nativeCache{newVerdicts(p, "native.json"), log}
}

// probe returns the question for one model. The answer is the stored one, else what
// the model's server says about it, else the result of a try. known is false if the
// model could not be asked, or ctx ended first. Concurrent callers share one try; each reads
// by setup.Probing that the model itself is asked.
func (n *nativeCache) probe(m agent.Model, s config.ModelSettings) func(context.Context) (works, known bool) {
	p := &nativeProbe{cache: n, model: m, key: verdictKey(s), name: s.Model}
	return p.ask
}

// A nativeProbe asks one model. A reload that changes the model makes a new one.
type nativeProbe struct {
	cache *nativeCache
	model agent.Model
	key   string // with the address, which may hold a password
	name  string // as the server calls the model

	mu   sync.Mutex
	last *nativeTry // nil: none yet
}

// A nativeTry is one question to the model. Its fields are set when done is closed. asking is
// closed when the model itself is asked.
type nativeTry struct {
	asking, done chan struct{}
	works, known bool
	ended        time.Time
}

// outdated reports whether the try has failed, or ended with a no, and may be repeated.
func (t *nativeTry) outdated() bool {
	select {
	case <-t.done:
		age := time.Since(t.ended)
		return !t.known && age >= failureKept || !t.works && age >= noKept
	default:
		return false
	}
}

func (p *nativeProbe) ask(ctx context.Context) (works, known bool) {
	if works, known = p.cache.find(p.key); known {
		return works, true
	}
	p.mu.Lock()
	if p.last == nil || p.last.outdated() {
		p.last = &nativeTry{asking: make(chan struct{}), done: make(chan struct{})}
		go p.run(context.WithoutCancel(ctx), p.last) // others may wait for it: not bound to this caller
	}
	try := p.last
	p.mu.Unlock()
	select {
	case <-try.done: // a try that has ended takes no time
		return try.works, try.known
	default:
	}
	for asking := try.asking; ; {
		select {
		case <-asking:
			asking = nil
			setup.Probing(ctx)
		case <-try.done:
			return try.works, try.known
		case <-ctx.Done():
			return false, false
		}
	}
}

// run asks the model and stores the answer. What the server says is not stored: it
// costs no question.
func (p *nativeProbe) run(ctx context.Context, try *nativeTry) {
	defer func() {
		if v := recover(); v != nil { // no caller's recover sees this goroutine
			p.cache.log.Error("asking a model about native tools panicked", "model", p.name, "panic", panics.Says(v), "stack", string(debug.Stack()))
		}
		try.ended = time.Now()
		close(try.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if d, ok := p.model.(agent.Describer); ok {
		if info, err := d.Describe(ctx); err == nil && info.NativeTools != nil {
			try.works, try.known = *info.NativeTools, true
			return
		}
	}
	p.cache.log.Info("asking the model whether it can call tools, before its first question", "model", p.name)
	close(try.asking)
	if try.works, try.known = provider.Native(ctx, p.model, tool.En); try.known {
		p.cache.store(p.key, try.works)
	}
}
