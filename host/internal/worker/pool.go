package worker

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/quarantine"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Config configures a Pool.
type Config struct {
	// Command starts a worker: a program whose main function begins with Main, and its
	// arguments; Argument is appended. It must not be empty.
	Command []string
	// CacheDir stores compiled modules between runs. Empty: a temporary folder
	// that Close removes.
	CacheDir string
	// Logger receives what guests print and log, as plugin.<name>; nil discards it.
	Logger hclog.Logger
	// Engine is the name of the engine, as in sandbox.Config; empty: the default.
	Engine string
	// Renewed reports whether a worker's instance is reset for the next call;
	// negative: every call gets a new instance.
	Renewed int
	// Spares is how many instances, each for one call, a worker prepares
	// where instances cannot be reset; 0 or less: none.
	Spares int
	// Max bounds the number of idle workers; 0: 8,
	// negative: none.
	Max int
	// Idle is how long a worker without calls lives; 0 or less: a minute.
	Idle time.Duration
	// Headroom is the memory of a worker beside that of its guest; 0 or
	// less: 192 MiB plus 12 bytes for each byte of the module.
	Headroom tool.Bytes
	// CompileCPU bounds the CPU time of compiling a module, in whole
	// seconds; 0 or less: 60 seconds.
	CompileCPU time.Duration
	// CompileMemory bounds the memory of compiling a module; 0 or less: 1 GiB.
	CompileMemory tool.Bytes
	// Quarantine is the file that lists the modules that could not be
	// compiled. Empty: the list is in memory, until Close.
	Quarantine string
}

// The defaults of Config.
const (
	DefaultCompileCPU    = 60 * time.Second
	DefaultCompileMemory = tool.Bytes(1 << 30)
	DefaultIdle          = time.Minute
	DefaultMax           = 8

	maxFiles = 512 // descriptors of a worker: those that jail allows a guest, and its own
)

// A Pool runs plugins in worker processes. It is safe for concurrent use.
type Pool struct {
	cfg        Config
	log        hclog.Logger
	inspectors map[bool]*sandbox.Engine // by checked: they examine modules and the cache, and run nothing
	spawner    *spawner
	turns      chan struct{} // holds one for each worker that is being started
	temp       string        // the cache if Config names none
	children   sync.WaitGroup

	quarantine *quarantine.List

	ending context.Context // done when the Pool closes
	end    context.CancelFunc

	mu     sync.Mutex
	closed bool
	tasks  sync.WaitGroup // Close waits for them
	idle   []*idleWorker  // in the order of their last use
	sweep  *time.Timer

	compiling map[string]chan struct{} // by digest; closed at the end
}

// New returns a Pool; it starts no process yet. The error concerns the folder for
// compiled modules or the quarantine file, or says that the system has no workers.
func New(ctx context.Context, c Config) (p *Pool, err error) {
	if !Supported() || len(c.Command) == 0 {
		return nil, msg.Errorf("this system cannot run tools in processes of their own")
	}
	p = &Pool{cfg: c.withDefaults(), log: c.Logger, inspectors: map[bool]*sandbox.Engine{}, compiling: map[string]chan struct{}{}}
	p.log = cmp.Or(p.log, hclog.NewNullLogger())
	if p.quarantine, err = quarantine.Open(c.Quarantine, p.log); err != nil {
		return nil, err
	}
	if p.cfg.CacheDir == "" {
		if p.temp, err = os.MkdirTemp("", "weir-wasm-"); err != nil {
			return nil, msg.Errorf("there is no folder for compiled plugins: %w", err)
		}
		p.cfg.CacheDir = p.temp
	}
	for _, checked := range []bool{false, true} {
		if p.inspectors[checked], err = sandbox.New(ctx, sandbox.Config{Engine: c.Engine, CacheDir: p.cfg.CacheDir, Logger: p.log, Unchecked: !checked}); err != nil {
			return nil, errors.Join(err, p.removeTemp())
		}
	}
	if err := confine.Hide(); err != nil {
		return nil, errors.Join(err, p.removeTemp())
	}
	p.ending, p.end = context.WithCancel(context.Background())
	p.spawner, p.turns = newSpawner(), make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))
	return p, nil
}

// renewed returns how many instances one worker keeps: it has one call at a time.
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
	c.Max = cmp.Or(c.Max, DefaultMax)
	if c.CompileCPU <= 0 {
		c.CompileCPU = DefaultCompileCPU
	}
	if c.CompileMemory <= 0 {
		c.CompileMemory = DefaultCompileMemory
	}
	return c
}

// CacheDir returns the folder of compiled modules.
func (p *Pool) CacheDir() string { return p.cfg.CacheDir }

// Quarantine returns the list of modules that could not be compiled.
func (p *Pool) Quarantine() *quarantine.List { return p.quarantine }

// Close kills every worker, busy ones too, and waits until they have ended.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.end() // before a call can find the Pool closed and take that for a fault
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, i := range idle {
		i.w.discard()
	}
	p.tasks.Wait()
	p.children.Wait()
	p.spawner.close()
	return errors.Join(p.inspectors[false].Close(ctx), p.inspectors[true].Close(ctx), p.removeTemp())
}

func (p *Pool) removeTemp() error {
	if p.temp == "" {
		return nil
	}
	return os.RemoveAll(p.temp)
}

// enter registers a task, which p.tasks.Done ends. It reports false after Close.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.tasks.Add(1)
	return true
}

// cacheOf returns the cache folder for a child, as an absolute path.
func (p *Pool) cacheOf() string {
	if abs, err := filepath.Abs(p.cfg.CacheDir); err == nil {
		return abs // a child's working folder is /
	}
	return p.cfg.CacheDir
}
