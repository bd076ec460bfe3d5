package sandbox

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/jail"
)

// env is everything that one instance can reach. It is created with the instance and
// bound to its call, or to one call after the other if the instance is recycled.
type env struct {
	jail   *jail.Jail
	memory *meter
	log    hclog.Logger
	lines  *journal
	stdout *stream
	stderr *stream

	span    span
	setup   setup
	bound   bool // to a call
	touched bool // the guest called the host before it was bound

	mu sync.Mutex
	callState
}

// callState is what belongs to one call. It is empty when the next call begins.
type callState struct {
	http     Sender
	progress func(done, total int, msg string)
	reports  int
	max      int // bytes of output

	exited   bool   // the guest ended itself
	exitCode uint32 // with this
	closing  bool   // the host closes it; what follows is no exit of the guest
	wrong    string // the guest's own error text
	wanted   int    // length of the output it set, at most max
	lost     bool   // input or output that did not fit
	relist   bool   // its list of tools has changed
	last     lastResponse
	vars     map[string][]byte // Extism's; only the guest's own goroutine uses them
}

// lastResponse is what Extism's http_status_code and http_headers return.
type lastResponse struct {
	status  int
	headers map[string]string
}

// newEnv opens the mounts and sets the configuration.
func newEnv(sp span, log hclog.Logger, s setup, memory uint64) (*env, error) {
	j, err := jail.Open(s.grant.Mounts)
	if err != nil {
		return nil, err
	}
	lines := &journal{log: log}
	e := &env{setup: s, jail: j, memory: newMeter(memory), log: log, lines: lines, span: sp}
	e.stdout = &stream{journal: lines, source: "stdout", check: e.check}
	e.stderr = &stream{journal: lines, source: "stderr", check: e.check}
	return e, nil
}

// setting returns a value of the guest's configuration, which config lists as a whole.
func (e *env) setting(key string) (value string, ok bool) {
	n := 0
	switch key {
	case keyMaxChars:
		n = e.setup.limits.MaxChars
	case keyMaxLines:
		n = e.setup.limits.MaxLines
	}
	if n > 0 {
		return strconv.Itoa(n), true
	}
	value, ok = e.setup.grant.Config[key]
	return value, ok
}

// Keys of the configuration for the limits of the call.
const (
	keyMaxChars = "weir.max_chars"
	keyMaxLines = "weir.max_lines"
)

// config returns the guest's configuration with the limits of the call.
func (s setup) config() map[string]string {
	c := maps.Clone(s.grant.Config)
	if c == nil {
		c = make(map[string]string, 2)
	}
	for key, n := range map[string]int{keyMaxChars: s.limits.MaxChars, keyMaxLines: s.limits.MaxLines} {
		if n > 0 {
			c[key] = strconv.Itoa(n)
		}
	}
	return c
}

// bind binds the instance to its call.
func (e *env) bind(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.span, e.bound = c, true
	e.setup = setup{grant: c.inv.Grant, limits: c.inv.Limits}
	e.http, e.progress, e.max = c.inv.Grant.HTTP, c.inv.Progress, c.inv.MaxOutput
}

// clear removes the call before the instance serves another one.
func (e *env) clear() {
	e.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.span, e.setup, e.bound, e.callState = idleSpan{}, setup{}, false, callState{}
}

// sleep pauses the guest, and stops it at the end of its call: the guest would believe
// that the time has passed.
func (e *env) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.span.context().Done():
		panic(errOver) // the engine makes it the call's error
	}
}

// closed runs when the instance ends, and notes whether the guest ended itself.
func (e *env) closed(code uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing && !e.span.over() {
		e.exited, e.exitCode = true, code
	}
}

// note runs f with the lock held; host functions use it.
func (e *env) note(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// end flushes what the guest has printed.
func (e *env) end() {
	e.stdout.end()
	e.stderr.end()
	e.lines.end()
}

// release closes what the instance holds.
func (e *env) release() {
	e.end()
	if err := e.jail.Close(); err != nil {
		e.log.Warn("closing the plugin's folders failed", "error", err)
	}
}
