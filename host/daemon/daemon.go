package daemon

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/resume"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// defaultProfile is the profile of questions that name none.
const defaultProfile = "default"

// DemoModel is the name of the offline demo model, which is not an AI.
const DemoModel = "demo"

// Config is everything a Daemon is made from. The caller keeps the Host and
// closes it after the Daemon.
type Config struct {
	Host *host.Host
	// Models are the chat models by the operator's name.
	Models map[string]Model
	// Profiles are the agent profiles by name; "default" must be among them.
	Profiles map[string]Profile
	// Users are those who have a token of their own, by name; none may be called as
	// Principal is.
	Users map[string]User
	// Token opens the data routes. An empty one opens nothing.
	Token string
	// Hosts are further names, without port, by which the daemon may be
	// reached beside localhost and the loopback addresses.
	Hosts []string
	// Principal is the name of the operator, whose token Token is; empty: "local".
	Principal string
	// Pages are the page's static files; nil: no page.
	Pages fs.FS
	// Settings is what /api/settings shows; it must hold no secret.
	Settings any
	// Reload reads the whole configuration again and applies it; it may call
	// Configure. nil: a reload reads the plugin folders and the grants alone.
	Reload func(context.Context) (ReloadReport, error)
	// Grants reads the plugins' grants again, before each approval of a plugin and each
	// reload that a person requests. nil: the Host's grants stay unchanged.
	Grants func() (map[string]plugin.Grant, error)
	// ResumeGrace is how long a turn goes on whose client has gone, if it said that
	// it comes back; 0: resume.DefaultGrace; negative: every turn ends with its
	// client.
	ResumeGrace time.Duration
	// MCP says what clients of that protocol get.
	MCP MCP
	// MaxTurns bounds the turns at once; 0: 256; negative: no bound.
	MaxTurns int
	// Tracing says what spans are made; the zero value: none.
	Tracing telemetry.Tracing
	Version string
	Logger  hclog.Logger     // nil: silent
	Now     func() time.Time // nil: time.Now
}

// A Model is a chat model with what is known about it without asking it.
type Model struct {
	agent.Model
	Info agent.ModelInfo
	// Server is where it is asked, as host:port; empty: unknown.
	Server string
	// Price is the price of its tokens; zero: unknown, and no cost is reported.
	Price agent.Price
	// Estimator learns how the model counts tokens, over all its turns. nil:
	// New makes one.
	Estimator *agent.Estimator
	// Native finds out whether the model's own tool calling works, once, before
	// the first turn that leaves the mode open; known is false when it could
	// not. nil: what the model says of itself decides.
	Native func(context.Context) (works, known bool)
}

// A Profile is one way to run the agent: a model, a capability record and the
// tools it may see.
type Profile struct {
	// Model names one of Config.Models.
	Model string
	Agent agent.Config
	// Allow lists the tools the profile sees, nil: all; Deny wins over it.
	Allow, Deny []string
}

// A Daemon serves one Host and its conversations. It is safe for concurrent use.
type Daemon struct {
	cfg     Config
	log     hclog.Logger
	now     func() time.Time
	current atomic.Pointer[setup]
	start   time.Time
	beat    time.Duration // the longest silence of a stream
	// metrics count since start, for /metrics.
	metrics   *telemetry.Metrics
	approvals *approvals.Queue
	resumable *resume.Turns
	mcp       *mcpserver.Server
	store     *store.Store
	calls     *usage.CallLog // calls that belong to no turn
	meter     *usage.Meter
	openai    *openai.Server
	tools     agent.ToolCache
	token     [sha256.Size]byte // the digest of the operator's

	mu      sync.Mutex
	busy    map[archive.Scope]bool // conversations in a turn
	modes   map[string]agent.Mode  // by model, where auto was tried and given up
	bearers map[*bearer]bool       // streams of MCP
	turns   sync.WaitGroup
	drain   bool
	// ending is done when the turns that still run are to end.
	ending context.Context
	end    context.CancelCauseFunc
}

// New makes a Daemon; it starts nothing.
func New(cfg Config) (*Daemon, error) {
	first, err := Setup{cfg.Models, cfg.Profiles, cfg.Users, cfg.Settings, cfg.MaxTurns, cfg.Tracing}.ready()
	if err != nil {
		return nil, err
	}
	d := &Daemon{cfg: cfg, log: cfg.Logger, now: cfg.Now, busy: map[archive.Scope]bool{}, modes: map[string]agent.Mode{}, bearers: map[*bearer]bool{}, approvals: approvals.NewQueue()}
	if d.log == nil {
		d.log = hclog.NewNullLogger()
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.cfg.Principal == "" {
		d.cfg.Principal = defaultPrincipal
	}
	if d.cfg.ResumeGrace == 0 {
		d.cfg.ResumeGrace = resume.DefaultGrace
	}
	d.token = sha256.Sum256([]byte(cfg.Token))
	if err := d.ownName(first); err != nil {
		return nil, err
	}
	d.current.Store(first)
	d.start, d.beat = d.now(), sse.Heartbeat
	d.ending, d.end = context.WithCancelCause(context.Background())
	if d.store, err = store.Open(context.Background(), cfg.Host.Archive()); err != nil {
		return nil, err
	}
	cfg.Host.SetCallLog(d.store)
	d.meter = usage.NewMeter(d.store, func() time.Time { return d.now() }, d.log)
	d.calls = usage.NewCallLog(d.store, d.log)
	d.mcp = d.newMCP()
	d.resumable = d.newResumable()
	d.openai = openai.New(openai.Config{Backend: completionBackend{d}, Created: d.start, Now: d.now, Heartbeat: func() time.Duration { return d.beat }})
	d.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{
		Known: d.knows, Now: d.now, Logger: d.log,
		Stats: func(ctx context.Context) (archive.Stats, error) { return d.cfg.Host.Archive().Stats(ctx) },
	})
	return d, nil
}

// Handler returns the handler of all routes, with the checks of access.
func (d *Daemon) Handler() http.Handler {
	mux := http.NewServeMux()
	rows := map[string]route{}
	for _, r := range d.routes() {
		mux.HandleFunc(r.pattern(), d.guard(r.Handle))
		rows[r.pattern()] = r
	}
	return &access{
		d:     d,
		hosts: append([]string{"localhost", "127.0.0.1", "::1"}, d.cfg.Hosts...),
		next:  mux,
		route: func(r *http.Request) route {
			_, pattern := mux.Handler(r)
			return rows[pattern]
		},
	}
}

// enter takes a slot for one turn and the conversation's lock. The returned
// function gives both back.
func (d *Daemon) enter(conversation archive.Scope) (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.drain:
		return nil, api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon is shutting down")
	case d.busy[conversation]:
		return nil, busyProblem()
	}
	slots := d.set().slots // given back there, whatever is in force by then
	if slots != nil {
		select {
		case slots <- struct{}{}:
		default:
			return nil, api.Problemf(http.StatusServiceUnavailable, "overloaded", "ask again in a moment", "%d turns are running already", cap(slots))
		}
	}
	d.busy[conversation] = true
	d.turns.Add(1)
	return func() {
		d.mu.Lock()
		delete(d.busy, conversation)
		d.mu.Unlock()
		if slots != nil {
			<-slots
		}
		d.turns.Done()
	}, nil
}

// mode is how a model's tools are called: as the profile says, and where it
// leaves that open, as an earlier turn or the model's Native found out.
func (d *Daemon) mode(ctx context.Context, model string, m Model, prof agent.Config) agent.Mode {
	if prof.Mode != "" && prof.Mode != agent.ModeAuto || !prof.EnableToolCalling {
		return prof.Mode
	}
	d.mu.Lock()
	learnt, ok := d.modes[model]
	d.mu.Unlock()
	if ok || m.Native == nil {
		return learnt
	}
	works, known := m.Native(ctx)
	if !known {
		return prof.Mode
	}
	found := agent.ModePrompt
	if works {
		found = agent.ModeNative
	}
	d.learn(model, m, found)
	return found
}

// learn keeps what a turn found out about a model until the daemon ends, or has
// another of that name.
func (d *Daemon) learn(name string, of Model, m agent.Mode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.set().Models[name].Estimator == of.Estimator {
		d.modes[name] = m
	}
}

// toolbox is a session limited to a profile's tools, in one language.
type toolbox struct {
	*host.Session
	allow, deny []string
}

func (t toolbox) In(l tool.Locale) agent.Toolbox {
	t.Session = t.Session.In(l)
	return t
}

func (t toolbox) Tools() []tool.Spec {
	return slices.DeleteFunc(t.Session.Tools(), func(s tool.Spec) bool { return !t.sees(s.Name) })
}

func (t toolbox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if !t.sees(c.Tool) {
		return tool.Result{CallID: c.ID, Tool: c.Tool,
			Err: tool.Errorf(tool.UnknownTool, "use one of the tools listed", "there is no tool named %q here", c.Tool)}, nil
	}
	return t.Session.Call(ctx, c)
}

func (t toolbox) sees(name string) bool {
	return !slices.Contains(t.deny, name) && (t.allow == nil || slices.Contains(t.allow, name))
}
