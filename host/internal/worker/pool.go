package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Config sets a Pool up.
type Config struct {
	// Command starts a worker: a program whose main begins with Main, and its
	// arguments; Argument is put behind them. It must not be empty.
	Command []string
	// CacheDir keeps compiled modules between runs. Empty: a temporary folder
	// that Close removes.
	CacheDir string
	// Logger gets what guests print and log, as plugin.<name>; nil: nothing.
	Logger hclog.Logger
	// Engine runs the guests, as sandbox.Config names it; empty: the default.
	Engine string
	// Renewed says whether a worker's instance is renewed and waits for its next call;
	// negative: every call gets a new instance.
	Renewed int
	// Spares is how many instances, each for one call, every worker keeps ready
	// where they cannot be renewed; 0 or less: none.
	Spares int
	// Max is the most workers that are kept beside those that are busy; 0: 8,
	// negative: none.
	Max int
	// Idle is how long a worker without calls is kept; 0 or less: a minute.
	Idle time.Duration
	// Headroom is what a worker may take beside the memory of its guest; 0 or
	// less: 192 MiB and some for the module's size.
	Headroom tool.Bytes
	// CompileCPU is the CPU time in which a module must be compiled, in whole
	// seconds; 0 or less: 60 seconds.
	CompileCPU time.Duration
	// CompileMemory is what compiling a module may take; 0 or less: 1 GiB.
	CompileMemory tool.Bytes
	// Quarantine is the file that remembers the modules that could not be
	// compiled. Empty: they are remembered until Close.
	Quarantine string
}

// What holds when nobody says anything else.
const (
	DefaultCompileCPU    = 60 * time.Second
	DefaultCompileMemory = tool.Bytes(1 << 30)
	DefaultIdle          = time.Minute
	DefaultMax           = 8

	maxFiles = 256 // descriptors of a worker
)

// A Pool runs plugins in workers. It is safe for concurrent use.
type Pool struct {
	cfg       Config
	log       hclog.Logger
	grace     time.Duration            // for so long a call is taken for a short one
	looking   time.Duration            // how often those look at the first that wait in a line
	looks     map[bool]*sandbox.Engine // by checked: they look at modules and the cache, and compile and run nothing
	spawner   *spawner
	turns     *turns
	mayHumble bool   // workers may; else all that wait for calls have short slices
	temp      string // the cache when nobody named one
	children  sync.WaitGroup

	quarantine *Quarantine

	ending context.Context // done when the Pool closes
	end    context.CancelFunc

	mu     sync.Mutex
	closed bool
	tasks  sync.WaitGroup // what Close waits for
	idle   []*idler       // in the order of their last use
	sweep  *time.Timer

	compiling map[string]*compiling // by digest
}

// idler is a worker that waits for a call.
type idler struct {
	module *Module
	w      *process
	since  time.Time
}

// New makes a Pool; it starts nothing yet. The error is about the folder for
// compiled modules or the quarantine's file, or says that the system has no
// workers.
func New(ctx context.Context, c Config) (p *Pool, err error) {
	if !Supported() || len(c.Command) == 0 {
		return nil, errors.New("workers are not to be had here")
	}
	p = &Pool{cfg: c.withDefaults(), log: c.Logger, grace: graceTime, looking: stuckTime, looks: map[bool]*sandbox.Engine{}, compiling: map[string]*compiling{}}
	if p.log == nil {
		p.log = hclog.NewNullLogger()
	}
	if p.quarantine, err = openQuarantine(c.Quarantine, p.log); err != nil {
		return nil, err
	}
	if p.cfg.CacheDir == "" {
		if p.temp, err = os.MkdirTemp("", "weir-wasm-"); err != nil {
			return nil, fmt.Errorf("no place for compiled plugins: %w", err)
		}
		p.cfg.CacheDir = p.temp
	}
	for _, checked := range []bool{false, true} {
		if p.looks[checked], err = sandbox.New(ctx, sandbox.Config{Engine: c.Engine, CacheDir: p.cfg.CacheDir, Logger: p.log, Unchecked: !checked}); err != nil {
			return nil, errors.Join(err, p.removeTemp())
		}
	}
	p.mayHumble = mayBeHumble()
	if !p.mayHumble {
		wakeAtOnce()
	}
	p.ending, p.end = context.WithCancel(context.Background())
	p.spawner, p.turns = newSpawner(), newTurns(runtime.GOMAXPROCS(0), cpuOf(os.Getpid()))
	return p, nil
}

// renewed is how many instances one worker keeps: it has one call at a time.
func (c Config) renewed() int {
	if c.Renewed < 0 {
		return -1
	}
	return 1
}

func (c Config) withDefaults() Config {
	if c.Idle <= 0 {
		c.Idle = DefaultIdle
	}
	if c.Max == 0 {
		c.Max = DefaultMax
	}
	if c.CompileCPU <= 0 {
		c.CompileCPU = DefaultCompileCPU
	}
	if c.CompileMemory <= 0 {
		c.CompileMemory = DefaultCompileMemory
	}
	return c
}

// CacheDir is where compiled modules are kept.
func (p *Pool) CacheDir() string { return p.cfg.CacheDir }

// Quarantine is where modules stand that could not be compiled.
func (p *Pool) Quarantine() *Quarantine { return p.quarantine }

// Close ends every worker, busy ones too, and waits until they are gone.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	p.end()
	for _, i := range idle {
		i.w.discard()
	}
	p.tasks.Wait()
	p.children.Wait()
	p.spawner.close()
	return errors.Join(p.looks[false].Close(ctx), p.looks[true].Close(ctx), p.removeTemp())
}

func (p *Pool) removeTemp() error {
	if p.temp == "" {
		return nil
	}
	return os.RemoveAll(p.temp)
}

// enter admits a task, unless the Pool is closed; p.tasks.Done ends it.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.tasks.Add(1)
	return true
}

// take finds a line for a call that has its place, behind ahead others at the most,
// or a waiting worker of the module that was lent the same folders. While there is
// neither the call is a seeker.
func (p *Pool) take(m *Module, key string, c *call, ahead int, patient bool) *seeker {
	for {
		i, s := p.look(m, key, c, ahead, patient)
		switch {
		case s != nil:
			return s
		case i == nil:
			c.giveBack()
			return nil
		case i.w.sound():
			p.open(m, i.w, c)
			return nil
		}
		i.w.discard()
	}
}

// look puts a call that has its place into a line, or else takes a worker out of those
// that wait, or else makes it a seeker.
func (p *Pool) look(m *Module, key string, c *call, ahead int, patient bool) (*idler, *seeker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.squeeze(m, key, c, ahead, true) {
		return nil, nil
	}
	if i := p.pick(m, key); i != nil {
		return i, nil
	}
	return nil, m.note(key, c, patient)
}

// giveBack gives back the place that the call itself has.
func (c *call) giveBack() {
	if c.inv.Place != nil {
		c.inv.Place.Give()
	}
}

// queue puts a call that has no place behind others, in a worker that was lent the same
// folders.
func (p *Pool) queue(m *Module, key string, c *call, ahead int) bool {
	if ahead <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.squeeze(m, key, c, ahead, false)
}

// squeeze puts a call behind others, which have the place that it runs in; waited says
// that it has one itself. p.mu is held.
func (p *Pool) squeeze(m *Module, key string, c *call, ahead int, waited bool) bool {
	if ahead <= 0 {
		return false
	}
	for _, w := range m.lines {
		if w.key == key && c.fits(w, waited) && w.line.join(c, ahead) {
			c.w = w
			return true
		}
	}
	return false
}

// fits reports whether the call may run in the place of a worker's line; the pool's mu
// is held.
func (c *call) fits(w *process, waited bool) bool { return c.runsIn(w.place, waited) }

// runsIn reports whether the call may run in a place that others have.
func (c *call) runsIn(place sandbox.Place, waited bool) bool {
	if c.inv.Place == nil || place == nil {
		return c.inv.Place == place
	}
	return c.inv.Place.Shares(place, waited)
}

// open gives a worker without calls its first one, which has its place.
func (p *Pool) open(m *Module, w *process, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admit(m, w, c, c.inv.Place)
}

// admit is open in a place; p.mu is held.
func (p *Pool) admit(m *Module, w *process, c *call, in sandbox.Place) {
	c.w = w
	w.line.join(c, 0)
	w.open, w.place = true, in
	m.lines = append(m.lines, w)
}

// shut takes a worker from the lines, and returns the place to give back; p.mu is
// held.
func (p *Pool) shut(m *Module, w *process) (place sandbox.Place) {
	m.lines = slices.DeleteFunc(m.lines, func(o *process) bool { return o == w })
	place, w.place, w.open = w.place, nil, false
	return place
}

// lose lets go of a call's worker, which is lost.
func (p *Pool) lose(m *Module, c *call) {
	w := c.w
	w.line.fall()
	p.mu.Lock()
	place := p.shut(m, w)
	p.mu.Unlock()
	w.discard()
	if place != nil {
		place.Give()
	}
}

// pick takes a worker out of those that wait; p.mu is held.
func (p *Pool) pick(m *Module, key string) *idler {
	for n, i := range slices.Backward(p.idle) {
		if i.module == m && i.w.key == key {
			p.idle = slices.Delete(p.idle, n, n+1)
			return i
		}
	}
	return nil
}

// put ends a call. Where there is room then, those who seek a worker come first;
// without any, one that has no other call is kept for later.
func (p *Pool) put(m *Module, c *call) {
	if empty := c.line.leave(c); !empty && m.seeking.Load() == 0 {
		return
	}
	w := c.w
	// Looked at before the lock, which nobody may hold while folders are: without any,
	// for those too who begin to seek in between.
	sound := (w.key == "" || m.seeking.Load() > 0) && w.sound()
	p.mu.Lock()
	if sound {
		m.hand(w)
	}
	if !w.open || !w.line.empty() { // somebody came, who may have gone again
		p.mu.Unlock()
		return
	}
	place := p.shut(m, w)
	surplus := p.keep(m, w)
	p.mu.Unlock()
	if place != nil {
		place.Give()
	}
	for _, w := range surplus {
		w.discard()
	}
}

// keep keeps a worker for later, and returns what is to be discarded: it, if the Pool
// is closed, and those that waited longest, when there are too many. p.mu is held.
func (p *Pool) keep(m *Module, w *process) (surplus []*process) {
	if p.closed {
		return []*process{w}
	}
	w.weigh()
	p.idle = append(p.idle, &idler{m, w, time.Now()})
	if over := len(p.idle) - max(p.cfg.Max, 0); over > 0 {
		for _, i := range p.idle[:over] {
			surplus = append(surplus, i.w)
		}
		p.idle = slices.Delete(p.idle, 0, over)
	}
	if len(p.idle) == 1 { // else tidy comes for the one before it
		p.wake(p.cfg.Idle)
	}
	return surplus
}

// wake lets tidy run after a while; p.mu is held.
func (p *Pool) wake(after time.Duration) {
	switch {
	case len(p.idle) == 0:
	case p.sweep == nil:
		p.sweep = time.AfterFunc(after, p.tidy)
	default:
		p.sweep.Reset(after)
	}
}

// tidy sends away workers that waited long enough.
func (p *Pool) tidy() {
	p.drop(func(i *idler) bool { return i.w.dead() || time.Since(i.since) >= p.cfg.Idle })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.idle) > 0 {
		p.wake(max(p.cfg.Idle-time.Since(p.idle[0].since), 10*time.Millisecond))
	}
}

// drop sends away the waiting workers that are meant.
func (p *Pool) drop(meant func(*idler) bool) {
	var gone []*idler
	p.mu.Lock()
	p.idle = slices.DeleteFunc(p.idle, func(i *idler) bool {
		if !meant(i) {
			return false
		}
		gone = append(gone, i)
		return true
	})
	p.mu.Unlock()
	for _, i := range gone {
		i.w.discard()
	}
}

// cacheOf is the folder that a child is told about.
func (p *Pool) cacheOf() string {
	if abs, err := filepath.Abs(p.cfg.CacheDir); err == nil {
		return abs // a child works in the root folder
	}
	return p.cfg.CacheDir
}
