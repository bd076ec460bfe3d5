package sandbox

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/sdk/tool"
)

// Names of engines, for Config.Engine.
const (
	// EngineWazero runs guests on wazero itself.
	EngineWazero = "wazero"
	// EngineExtism runs them with Extism's Go SDK, the reference that the tests compare
	// EngineWazero with.
	EngineExtism = "extism"
)

// DefaultEngine is the engine if Config.Engine is empty.
const DefaultEngine = EngineWazero

// Config configures an Engine. The zero Config is valid.
type Config struct {
	// Engine is EngineWazero or EngineExtism; empty: DefaultEngine. Each has compiled
	// code of its own in the cache.
	Engine string
	// CacheDir stores compiled modules between runs. It is created for this user
	// alone, because its content is executed. Empty: every process compiles again.
	CacheDir string
	// Logger receives what guests print and log, as plugin.<name>; nil discards it.
	Logger hclog.Logger
	// Renewed is how many instances per module wait for the next call, each reset
	// after the one before. For a Go guest each needs about 1 MiB, and the module's image
	// once. 0: DefaultRenewed; negative: none, every call gets a new instance.
	Renewed int
	// Spares is how many instances per module are prepared, each for one call,
	// where they cannot be reset: with folders, or because of what the module does. About
	// 4 MiB each for a Go guest. 0 or less: none.
	Spares int
	// Unchecked omits the check that every loop of a guest makes for its
	// deadline. Loops then run at full speed and cannot be stopped: only a
	// process that its parent can kill may set it. Both kinds of code are cached separately.
	Unchecked bool
	// Memories creates the memories of instances that are reset; the Engine does
	// not close it. Nil: the Engine creates its own. A process that hides
	// itself from others opens it before it does so.
	Memories *memsnap.Space
	// OpenMemories opens what creates them, if Memories is nil; nil: memsnap.Open.
	OpenMemories func() (*memsnap.Space, error)
	// ReadCache only loads compiled code from CacheDir: Load
	// returns ErrNotCompiled for other modules.
	ReadCache bool
	// CacheVersion is the result of CacheVersion of another Engine with that
	// CacheDir, for a process that may not write there. Empty: it is found out by
	// writing to CacheDir.
	CacheVersion string
}

// A Plugin is a module to load.
type Plugin struct {
	Name    string // for logs and errors
	Wasm    []byte
	Exports []string // functions the host will call; each must be there
	// Memory caps each linear memory of the guest; 0 or less: 32 MiB, or 64 MiB
	// for a Go guest.
	Memory tool.Bytes
}

// A Grant holds the powers of one call. The zero Grant has none.
type Grant struct {
	Mounts []jail.Mount
	HTTP   Sender            // nil: no network
	Config map[string]string // the guest's configuration
}

// A Sender sends a guest's HTTP requests, as *egress.Client does: under a policy, and
// with errors that a guest may read. It is safe for concurrent use.
type Sender interface {
	Do(ctx context.Context, r egress.Request) (egress.Response, *tool.Error)
}

// An Invocation is one call of an export.
type Invocation struct {
	Export string
	// Tool is the name that failures show to a model; empty: Export.
	Tool  string
	Input []byte
	// Timeout bounds the whole call, including its instance; 0 or less: 30 seconds.
	Timeout time.Duration
	// Limits are passed to the guest as configuration, so it can stop early.
	Limits tool.Limits
	Grant  Grant
	// Progress is called while the guest runs, never concurrently;
	// nil: progress is dropped. total is 0 when the guest does not know it.
	Progress func(done, total int, msg string)
	// Fresh requests a new instance for this call: a recycled one has
	// the random numbers that its module drew while it was set up.
	Fresh bool
	// MaxOutput is the number of bytes after which the output is cut off; 0 or less:
	// tool.MaxWhole.
	MaxOutput int
	// MCP says that the output is a result of the Model Context Protocol. A worker
	// decodes it, and Output.Flat says so.
	MCP bool
	// Slot is the permission to run; nil: the call needs none.
	Slot Slot
}

// A Slot is the permission to run one guest; a host has a limited number. It is safe
// for concurrent use.
type Slot interface {
	// Acquire waits for a slot until ctx ends or over is closed. It reports whether it
	// acquired one, which Release then releases.
	Acquire(ctx context.Context, over <-chan struct{}) bool
	Release()
}

// Output is the result of a call. Bytes may be empty; the caller decides whether that
// is an answer.
type Output struct {
	Bytes    []byte
	Text     bool          // Bytes is the text of the answer itself, whatever the tool's format
	Flat     bool          // Bytes is a decoded answer, in the form of answer.Flatten
	Memory   tool.Bytes    // the guest's linear memory at its end
	Instance time.Duration // time until the instance was ready
	Relist   bool          // the guest reports that its list of tools has changed
	Asked    bool          // it failed because its server asks what is not passed on
	NoSlot   bool          // nothing ran: the call ended before it had a Slot
}

// Defaults, and limits of a guest's input and memory.
const (
	DefaultRenewed  = 4
	DefaultTimeout  = 30 * time.Second
	DefaultMemory   = tool.Bytes(32 << 20)
	DefaultGoMemory = tool.Bytes(64 << 20)

	maxInput  = 16 << 20       // bytes
	kernelCap = 64 << 20       // bytes of the memory that carries input and output
	minMemory = 64 << 10       // bytes; a smaller cap would refuse every module
	maxMemory = 1<<32 - 64<<10 // bytes; 32-bit memory without its last page, which marks its end
)
