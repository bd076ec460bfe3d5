package sandbox

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/jail"
)

// env is everything one instance can reach. It is made with the instance, and
// bound to the call that it serves, to one after the other if it is renewed.
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
	touched bool // the guest has called the host before it was
	// waits is called before the host waits for somebody in a call, on the guest's own
	// goroutine; nil: nobody is told.
	waits func()

	mu sync.Mutex
	told
}

// told is what a call and its guest have told each other. None of it is there
// when the next call begins.
type told struct {
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
	vars     map[string][]byte // Extism's; only the guest's own goroutine uses them
}

// lastResponse is what Extism's http_status_code and http_headers speak of.
type lastResponse struct {
	status  int
	headers map[string]string
}

// newEnv opens the mounts and fixes the configuration.
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

// setting is a value of the guest's configuration, as config lists them.
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

// Keys of the configuration that tell of the limits in force.
const (
	keyMaxChars = "weir.max_chars"
	keyMaxLines = "weir.max_lines"
)

// config is the guest's configuration with the limits in force for it.
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

// bind gives the instance its call.
func (e *env) bind(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.span, e.bound = c, true
	e.setup = setup{grant: c.inv.Grant, limits: c.inv.Limits}
	e.http, e.progress, e.max = c.inv.Grant.HTTP, c.inv.Progress, c.inv.MaxOutput
}

// clear forgets the call, when the instance is to serve another one.
func (e *env) clear() {
	e.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.span, e.setup, e.bound, e.told = idleSpan{}, setup{}, false, told{}
}

// sleep pauses the guest, and ends it with its call: it would take the time for
// passed that it wanted to wait for.
func (e *env) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	e.waiting()
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.span.context().Done():
		panic(errOver) // the engine makes it the call's error
	}
}

// waiting says that the call may wait for long.
func (e *env) waiting() {
	if e.waits != nil {
		e.waits()
	}
}

// closed is told when the instance ends, and notes when that was the guest's doing.
func (e *env) closed(code uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing && !e.span.over() {
		e.exited, e.exitCode = true, code
	}
}

// note runs f under the lock; host functions use it to leave word.
func (e *env) note(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// end passes on what the guest has printed and not ended.
func (e *env) end() {
	e.stdout.end()
	e.stderr.end()
	e.lines.end()
}

// release ends what the instance holds.
func (e *env) release() {
	e.end()
	if err := e.jail.Close(); err != nil {
		e.log.Warn("closing the plugin's folders failed", "error", err)
	}
}
