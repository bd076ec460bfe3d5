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
	// EngineExtism runs them by Extism's Go SDK: the reference that the other one
	// is held to.
	EngineExtism = "extism"
)

// DefaultEngine is the one that is meant when none is named.
const DefaultEngine = EngineWazero

// Config sets an Engine up. The zero Config works.
type Config struct {
	// Engine is EngineWazero or EngineExtism; empty: DefaultEngine. Their compiled
	// code is cached apart.
	Engine string
	// CacheDir keeps compiled modules between runs. It is made for this user
	// alone: its content is executed. Empty: compiled anew by every process.
	CacheDir string
	// Logger gets what guests print and log, as plugin.<name>; nil: nothing.
	Logger hclog.Logger
	// Renewed is how many instances per module wait for the next call, each renewed
	// after the one before; about 1 MiB each for a Go guest, and the module's image
	// once. 0: DefaultRenewed; negative: none, every call gets a new instance.
	Renewed int
	// Spares is how many instances per module are made ahead, each for one call,
	// where they cannot be renewed: with folders, or by what the module does. About
	// 4 MiB each for a Go guest. 0 or less: none.
	Spares int
	// Unchecked leaves out the check that every loop of a guest makes for its
	// deadline. Loops then run at full speed and nothing stops them: only a
	// process that its parent kills may say so. Code of both kinds is cached apart.
	Unchecked bool
	// Memories makes the memories of instances that are renewed; the Engine does
	// not close it. Nil: the Engine makes one of its own. A process that hides
	// itself from others opens it before it does so.
	Memories *memsnap.Space
	// ReadCache loads compiled code from CacheDir and compiles nothing: Load
	// answers ErrNotCompiled for what is not there.
	ReadCache bool
	// CacheVersion is what another Engine with that CacheDir says by its method of
	// this name: who may not write there is told so. Empty: it is found out, by
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

// A Grant holds the powers of one call. The zero Grant gives none.
type Grant struct {
	Mounts []jail.Mount
	HTTP   Sender            // nil: no network
	Config map[string]string // what the guest reads as its configuration
}

// A Sender sends a guest's requests, as *egress.Client does: under a policy,
// and with errors that a guest may read. It is safe for concurrent use.
type Sender interface {
	Do(ctx context.Context, r egress.Request) (egress.Response, *tool.Error)
}

// An Invocation is one call of an export.
type Invocation struct {
	Export string
	// Tool is the name that failures show to a model; empty: Export.
	Tool  string
	Input []byte
	// Timeout bounds the whole call, its instance included; 0 or less: 30 seconds.
	Timeout time.Duration
	// Limits are passed on as configuration, so that the tool can stop early.
	Limits tool.Limits
	Grant  Grant
	// Progress is called while the guest runs, never at the same time as itself;
	// nil: progress is dropped. total is 0 when the guest does not know it.
	Progress func(done, total int, msg string)
	// Fresh asks for a new instance, made for this call: one that is renewed has
	// the random numbers that its module drew while it was set up.
	Fresh bool
	// MaxOutput is the most bytes of output; 0 or less: tool.MaxWhole.
	MaxOutput int
	// Place is what the guest runs in; nil: it needs none.
	Slot Slot
}

// A Place is the leave to run one guest, of which a host gives out so many. It is
// safe for concurrent use.
type Slot interface {
	// Take waits for it, until ctx ends or over is closed, and reports whether it was
	// taken. Whoever took it gives it back.
	Acquire(ctx context.Context, over <-chan struct{}) bool
	Release()
	// Shares reports whether a call may run in that place, which others have, behind
	// them: it is one of the same kind. Who has not waited for its own may only while
	// nobody waits.
	Shares(with Slot, waited bool) bool
}

// Output is what a call came to. Bytes may be empty; the caller decides
// whether that is an answer.
type Output struct {
	Bytes    []byte
	Memory   tool.Bytes    // the guest's linear memory at its end
	Instance time.Duration // until the instance was ready
	Relist   bool          // the guest says that it would list other tools now
	NoSlot   bool          // nothing ran: the call ended before it had a Place
}

// Limits of what a guest may be given and may produce beside its output.
const (
	DefaultRenewed  = 4
	DefaultTimeout  = 30 * time.Second
	DefaultMemory   = tool.Bytes(32 << 20)
	DefaultGoMemory = tool.Bytes(64 << 20)

	maxInput  = 16 << 20       // bytes
	kernelCap = 64 << 20       // bytes of the memory through which input and output pass
	minMemory = 64 << 10       // bytes; a smaller cap would refuse every module
	maxMemory = 1<<32 - 64<<10 // bytes; what 32-bit memory can address, but for a page that tells its end
)
