package daemon

import (
	"context"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/resume"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

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
	// Grant adds to the grants of a plugin in the configuration, with folders in the
	// workspace only, and returns what takes that back. Nil: no approval grants anything.
	Grant func(name string, add plugin.Grant) (undo func() error, err error)
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

// What of a Config can change while the Daemon serves.
type (
	Setup   = setup.Config
	Model   = setup.Model
	Profile = setup.Profile
	User    = setup.User
	// A Quota bounds what one user uses.
	Quota = usage.Quota
)

// CheckUserName returns an error if no user can have the name.
func CheckUserName(name string) error { return setup.CheckUserName(name) }

// A Daemon serves one Host and its conversations. It is safe for concurrent use.
type Daemon struct {
	cfg     Config
	log     hclog.Logger
	now     func() time.Time
	current *setup.Current
	gate    *turns.Gate
	turns   *turns.Service
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

	mu      sync.Mutex
	bearers map[*bearer]bool // streams of MCP
}

// New makes a Daemon; it starts nothing.
func New(cfg Config) (*Daemon, error) {
	d := &Daemon{cfg: cfg, log: cfg.Logger, now: cfg.Now, beat: sse.Heartbeat, bearers: map[*bearer]bool{}, approvals: approvals.NewQueue()}
	if d.log == nil {
		d.log = hclog.NewNullLogger()
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.cfg.Principal == "" {
		d.cfg.Principal = setup.DefaultOperator
	}
	if d.cfg.ResumeGrace == 0 {
		d.cfg.ResumeGrace = resume.DefaultGrace
	}
	d.start = d.now()
	var err error
	d.current, err = setup.New(d.cfg.Principal, cfg.Token, Setup{
		Models: cfg.Models, Profiles: cfg.Profiles, Users: cfg.Users, Settings: cfg.Settings, MaxTurns: cfg.MaxTurns, Tracing: cfg.Tracing,
	})
	if err != nil {
		return nil, err
	}
	if d.store, err = store.Open(context.Background(), cfg.Host.Archive()); err != nil {
		return nil, err
	}
	cfg.Host.SetCallLog(d.store)
	clock := func() time.Time { return d.now() } // tests move it
	d.meter = usage.NewMeter(d.store, clock, d.log)
	d.calls = usage.NewCallLog(d.store, d.log)
	d.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{
		Known: d.knows, Now: d.now, Logger: d.log,
		Stats: func(ctx context.Context) (archive.Stats, error) { return d.cfg.Host.Archive().Stats(ctx) },
	})
	d.gate = turns.NewGate(func() chan struct{} { return d.current.State().Slots })
	d.turns = turns.New(turns.Config{
		Host: cfg.Host, Store: d.store, Setup: d.current, Gate: d.gate, Meter: d.meter, Metrics: d.metrics, Known: d.knows,
		Approvals: d.approvals, OwnIDs: []string{CallConversation, mcpConversation}, Logger: d.log, Now: clock,
	})
	d.mcp = d.newMCP()
	d.resumable = d.newResumable()
	d.openai = openai.New(openai.Config{Backend: completionBackend{d}, Created: d.start, Now: d.now, Heartbeat: func() time.Duration { return d.beat }})
	return d, nil
}

// Configure puts s in force for every turn that begins from now on; those that
// run end under what they began with. What was learnt about a model's tool
// calling stays as long as its Estimator is the same. An error means that s
// cannot be meant and that nothing has changed.
func (d *Daemon) Configure(s Setup) error {
	if err := d.current.Configure(s); err != nil {
		return err
	}
	defer d.mcp.Refresh() // whose users may see other tools then
	d.mu.Lock()
	defer d.mu.Unlock()
	for b := range d.bearers {
		d.holdLocked(b)
	}
	return nil
}

// Drain refuses new turns and calls, and what waits for a person, ends turns
// whose client has gone, and waits for the others. When ctx ends before they
// have, they are cut off: each is stored as far as it came and tells its client
// so. Then Drain returns the error of ctx, at most five seconds later. At the end,
// Drain disconnects the MCP clients.
func (d *Daemon) Drain(ctx context.Context) error {
	defer d.calls.Flush()
	defer d.meter.Flush()
	defer d.mcp.Close()
	d.gate.Close()
	d.approvals.Close()
	d.resumable.Stop(false)
	err := d.gate.Wait(ctx)
	if err != nil {
		d.resumable.Stop(true)
	}
	return err
}

// An Aside describes requests to a model that are not part of a turn's own loop.
type Aside = turns.Aside

// Aside returns the model m, named name, for such requests.
func (d *Daemon) Aside(a Aside, name string, m Model) agent.Model { return d.turns.Aside(a, name, m) }

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

// A ReloadReport is the outcome of a reload of the configuration.
type ReloadReport struct {
	// Change lists the changes of plugins.
	Change host.Change `json:"change"`
	// InForce names the changed settings that apply now, by their keys in tools.toml;
	// Restart those that apply after a restart.
	InForce []string `json:"in_force"`
	Restart []string `json:"restart"`
	// Notes say what else a person has to do.
	Notes []tool.Text `json:"notes"`
}

// Reload reads the configuration and the plugin folders again, as a person asks
// for it, and says what became different. What cannot be used changes nothing.
func (d *Daemon) Reload(ctx context.Context) (ReloadReport, error) {
	if d.cfg.Reload != nil {
		return d.cfg.Reload(ctx)
	}
	change, err := d.ReloadPlugins(ctx)
	return ReloadReport{Change: change, InForce: []string{}, Restart: []string{}, Notes: []tool.Text{}}, err
}

// postReload reloads and says what became different.
func (d *Daemon) postReload(w http.ResponseWriter, r *http.Request) error {
	out, err := d.Reload(r.Context())
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, msg.Localize(localeOf(r), out))
	return nil
}

// A handler answers a request, or says why not.
type handler = func(http.ResponseWriter, *http.Request) error

// awaited has Drain wait for what a handler does, and cut it off in the end, as it
// does with turns.
func (d *Daemon) awaited(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return d.gate.Run(r.Context(), func(ctx context.Context) error { return h(w, r.WithContext(ctx)) })
	}
}

// whole is awaited, for what would be half done if it ended with its client: some
// of a configuration in force, or a plugin that the lock file alone has disabled.
func (d *Daemon) whole(h handler) handler {
	h = d.awaited(h)
	return func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r.WithContext(context.WithoutCancel(r.Context())))
	}
}

// principalKey is the key of the principal in a request's context.
type principalKey struct{}

// principal returns the owner of the request's token.
func (d *Daemon) principal(r *http.Request) string {
	if p, ok := r.Context().Value(principalKey{}).(string); ok {
		return p
	}
	return d.cfg.Principal
}

func (d *Daemon) as(r *http.Request, principal string) *http.Request {
	if principal == d.cfg.Principal {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, principal))
}
