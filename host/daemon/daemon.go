package daemon

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/archives"
	"github.com/weirhost/weir/host/daemon/clienttokens"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/lease"
	"github.com/weirhost/weir/host/daemon/machine"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/models"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/host/daemon/plugins"
	"github.com/weirhost/weir/host/daemon/pulse"
	"github.com/weirhost/weir/host/daemon/resume"
	"github.com/weirhost/weir/host/daemon/scripts"
	"github.com/weirhost/weir/host/daemon/session"
	"github.com/weirhost/weir/host/daemon/settings"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// A Daemon serves one Host and its conversations. It is safe for concurrent use.
type Daemon struct {
	cfg       Config
	log       hclog.Logger
	now       func() time.Time
	began     time.Time
	current   *setup.Current
	admission *turns.Admission
	turns     *turns.Service
	beat      time.Duration // the longest silence of a stream
	// metrics count since start, for /metrics.
	metrics   *telemetry.Metrics
	approvals *approvals.Queue
	resumable *resume.Turns
	store     *store.Store
	calls     *usage.CallLog // calls that belong to no turn
	meter     *usage.Meter
	openai    *openai.Server
	chat      *chat
	plugins   *plugins.Plugins
	mcp       *mcpClients
	pulse     *pulse.Pulse
	models    *models.Models
	sessions  *session.Sessions
	clients   *clienttokens.Tokens
	scripts   *offer.Tools // nil: no scripts are run
	runs      *scripts.Scripts
	leases    *lease.Keeper // nil: a file has one daemon
}

// New makes a Daemon; it starts nothing, but where several daemons share a database it says that
// it lives, until Drain.
func New(cfg Config) (*Daemon, error) {
	d := &Daemon{cfg: cfg, log: cfg.Logger, now: cfg.Now, beat: sse.Heartbeat}
	d.log = cmp.Or(d.log, hclog.NewNullLogger())
	if d.now == nil {
		d.now = time.Now
	}
	d.began = d.now()
	d.cfg.Principal = cmp.Or(d.cfg.Principal, setup.DefaultOperator)
	cfg.ResumeGrace = cmp.Or(cfg.ResumeGrace, resume.DefaultGrace)
	var err error
	d.current, err = setup.New(d.cfg.Principal, cfg.Token, Setup{
		Models: cfg.Models, Profiles: cfg.Profiles, Users: cfg.Users, Clients: cfg.Clients, Settings: cfg.Settings, MaxTurns: cfg.MaxTurns, Tracing: cfg.Tracing, Scripts: cfg.ScriptSettings,
	})
	if err != nil {
		return nil, err
	}
	d.current.SetNames(cfg.Host.Names)
	if d.store, err = store.Open(context.Background(), cfg.Host.Archive()); err != nil {
		return nil, err
	}
	d.approvals = approvals.NewQueue()
	if d.store.Shared() {
		d.approvals = approvals.NewSharedQueue(d.store.Approvals())
		cfg.Host.ShareAnswers(d.store.Answers())
	}
	cfg.Host.SetCallLog(d.store)
	clock := func() time.Time { return d.now() } // tests move it
	if d.sessions, err = session.New(context.Background(), d.current, d.store, clock); err != nil {
		return nil, err
	}
	d.clients = &clienttokens.Tokens{Setup: d.current, Store: d.store}
	d.meter = usage.NewMeter(d.store, clock, d.log)
	cfg.Host.SetQuota(func(ctx context.Context, p host.Principal) *tool.Error {
		if err := d.meter.CheckArchive(ctx, d.current.Account(string(p), tool.En)); err != nil {
			return refused(err, tool.En, d.log) // the session translates it
		}
		return nil
	})
	d.calls = usage.NewCallLog(d.store, d.log)
	d.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{
		Known: d.knows, Now: d.now, Logger: d.log,
		Stats: func(ctx context.Context) (archive.Stats, error) { return d.cfg.Host.Archive().Stats(ctx) },
	})
	d.admission = turns.NewAdmission(func() chan struct{} { return d.current.State().Slots })
	d.runs, err = scripts.New(context.Background(), scripts.Config{
		Host: cfg.Host, Store: d.store, Current: d.current, Admission: d.admission, Metrics: d.metrics, Calls: d.calls,
		Runner: cfg.Scripts, Token: cfg.Token, Log: d.log, Now: clock, Conversation: func(p string) string { return CallConversation + p },
	})
	if err != nil {
		return nil, err
	}
	if cfg.Scripts != nil {
		d.scripts = &offer.Tools{
			Taken: func(name string) bool { _, ok := cfg.Host.Tool(name); return ok },
			Runs:  d.runs.Runs, Runner: cfg.Scripts, Settings: func() offer.Settings { return d.current.State().Scripts }}
	}
	var table *store.Store
	if d.store.Shared() {
		table = d.store
		d.leases = lease.New(lease.Config{Store: d.store, File: cfg.Lease, Version: cfg.Version, Logger: d.log, TakeOver: func(r store.Run, release func()) {
			if err := d.chat.takeOver(context.Background(), r, release); err != nil {
				d.log.Error("a turn of a daemon that is gone cannot go on", "turn", r.Turn, "error", err)
			}
		}})
		d.meter.Daemon = d.leases.ID
	}
	d.turns = turns.New(turns.Config{
		Host: cfg.Host, Scripts: d.scripts, Store: d.store, Setup: d.current, Admission: d.admission, Meter: d.meter, Leases: d.leases, Metrics: d.metrics, Known: d.knows,
		Approvals: d.approvals, OwnIDs: []string{CallConversation, mcpserver.Conversation}, Logger: d.log, Now: clock,
	})
	d.runs.Turns = d.turns
	if d.leases != nil {
		d.runs.Share(d.leases)
	}
	beat := func() time.Duration { return d.beat }
	d.resumable = resume.New(resume.Config{Heartbeat: beat, Problem: func(l tool.Locale, err error) *api.Problem { return asProblem(err).In(l) }, Table: table, Left: turns.ErrLeft})
	own := ownloop.New(ownloop.Config{Setup: d.current, Admission: d.admission, Meter: d.meter, Metrics: d.metrics, Keeper: d.store,
		Fold: ownloop.Fold{Notes: d.store, Archive: cfg.Host.Archive(), Count: d.store.AddFold, Ceiling: cfg.Host.Ceiling}, Host: cfg.Host, Calls: d.calls, Logger: d.log, Now: clock})
	d.openai = openai.New(openai.Config{Backend: completionBackend{d.turns, own, d.current}, Created: d.now(), Now: d.now, Heartbeat: beat,
		WeirTools: func(client string) bool { return d.current.State().Clients.WithTools(client) }})
	d.chat = &chat{d.turns, d.resumable, cfg.ResumeGrace, beat}
	d.plugins = &plugins.Plugins{Host: cfg.Host, Admission: d.admission, Log: d.log, Book: cfg.Book, Read: cfg.Grants, Add: cfg.Grant}
	d.mcp = &mcpClients{
		config: cfg.MCP, bearers: access.NewBearers(d.current, d.sessions, d.clients), current: d.current, admission: d.admission,
		meter: d.meter, metrics: d.metrics, calls: d.calls, known: d.knows, log: d.log,
	}
	d.store.OnClientTokens(func() { go d.mcp.bearers.Check() }) // who revokes them ends their sessions
	d.models = &models.Models{Setup: d.current, Admission: d.admission, Find: cfg.FindModels, Test: cfg.TestModel, Add: cfg.AddModel, Log: d.log, Heartbeat: beat}
	d.pulse = pulse.New(pulse.Config{
		Host: cfg.Host, Approvals: d.approvals, Admission: d.admission, Setup: d.current, Bearers: d.mcp.bearers, Heartbeat: beat, Run: uuid.NewString()[:8],
	})
	d.mcp.sessions = &storedSessions{store: d.store}
	d.mcp.serve(cfg.Host, d.scripts, cfg.Version, clock)
	if err := d.mcp.sessions.begin(context.Background()); err != nil {
		return d, err
	}
	if d.leases != nil {
		return d, d.leases.Start(context.Background())
	}
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
	d.mcp.refresh()
	return nil
}

// Scripts returns the settings of scripts that are in force.
func (d *Daemon) Scripts() offer.Settings { return d.current.State().Scripts }

// Drain refuses new turns and calls, and what waits for a person, ends turns
// whose client has gone, puts scripts away and waits for the others. When ctx ends before they
// have, they are cut off: each is stored as far as it came and tells its client
// so. Then Drain returns the error of ctx, at most five seconds later. At the end,
// Drain disconnects the MCP clients.
func (d *Daemon) Drain(ctx context.Context) error {
	defer d.calls.Flush()
	defer d.meter.Flush()
	defer d.mcp.server.Close()
	if d.leases != nil {
		d.leases.TakeOver(false)
		defer func() {
			if err := d.leases.Stop(context.WithoutCancel(ctx)); err != nil {
				d.log.Warn("the other daemons take this one for alive a moment longer", "error", err)
			}
		}()
	}
	d.mcp.server.Leave()
	d.admission.Close()
	d.approvals.Close()
	d.resumable.Stop(false)
	d.runs.Stop(ctx)
	err := d.admission.Wait(ctx)
	d.resumable.Stop(true)
	return err
}

// An Aside describes requests to a model that are not part of a turn's own loop.
type Aside = turns.Aside

// Recover goes on with the scripts that earlier processes have not ended. In PostgreSQL it also goes
// on with turns of daemons that are gone, in the background; in SQLite it stores how far they came,
// before it returns. It removes the engines from the folder engines that no script needs. Empty:
// there is none.
func (d *Daemon) Recover(ctx context.Context, engines string) error {
	if d.leases != nil {
		d.leases.TakeOver(true)
	}
	if err := d.turns.GiveUpAll(ctx); err != nil {
		return err
	}
	return d.runs.Recover(ctx, engines)
}

// Aside returns the model m, named name, for such requests.
func (d *Daemon) Aside(a Aside, name string, m Model) agent.Model { return d.turns.Aside(a, name, m) }

// Handler returns the handler of all routes, with the checks of access.
func (d *Daemon) Handler() http.Handler {
	mux := http.NewServeMux()
	auth := map[string]openapi.Auth{}
	g := guard{d.log, d.current}
	for _, r := range d.routes() {
		mux.HandleFunc(r.Pattern(), g.wrap(r.Handle))
		auth[r.Pattern()] = r.Auth
	}
	return httpjson.Patient(&access.Check{
		Setup: d.current, Sessions: d.sessions, Clients: d.clients, Hosts: append([]string{"localhost", "127.0.0.1", "::1"}, d.cfg.Hosts...), Next: mux, Refuse: writeProblem,
		Auth: func(r *http.Request) openapi.Auth {
			_, pattern := mux.Handler(r)
			return auth[pattern]
		},
	})
}

// routes returns the routes of all subjects. Tests check the access rules of every one,
// and /openapi.json describes them.
func (d *Daemon) routes() []openapi.Route {
	h := d.cfg.Host
	clock := func() time.Time { return d.now() }
	return slices.Concat(
		(&system{h, d.store, d.current, d.admission, d.metrics, d.calls, clock, d.began, d.routes}).routes(),
		(&settings.Settings{Setup: d.current, Admission: d.admission, Editor: d.cfg.Edit, Version: d.cfg.Version, Log: d.log}).Routes(),
		d.chat.routes(),
		(&conversations{d.store, h, d.admission, d.log}).routes(),
		(&exports{d.store, d.log}).routes(),
		(&tools{h, d.store, d.current, d.admission, d.turns, d.metrics, d.calls, d.knows, d.log, clock}).routes(),
		d.runs.Routes(),
		(&profiles{d.current}).routes(),
		(&reloads{d.admission, d.Reload, d.cfg.Stop, d.cfg.HandOver}).routes(),
		d.plugins.Routes(),
		(&archives.Archives{Host: h, Log: d.log, Call: d.callOf, Sees: d.mcp.seesTool}).Routes(),
		(&results{h, d.store, d.turns, d.log, clock}).routes(),
		(&traces{d.store}).routes(),
		(&pending{d.approvals}).routes(),
		d.pulse.Routes(),
		d.models.Routes(),
		(&machine.Machine{About: d.cfg.About, Admission: d.admission, Log: d.log}).Routes(),
		(&session.Routes{Sessions: d.sessions, Setup: d.current, Bearers: d.mcp.bearers, Log: d.log}).List(),
		(&clienttokens.Routes{Tokens: d.clients, Revoked: d.mcp.revoked, Now: clock, Log: d.log}).List(),
		(&users{h, d.store, d.current, d.meter, d.calls, d.log}).routes(),
		(&completions{d.openai}).routes(),
		d.mcp.routes(),
		[]openapi.Route{newPage(d.cfg.Pages).route()}, // everything else, wrong methods of the routes above included
	)
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

// ReloadPlugins reads the plugin folders and the grants again, for a person, and
// returns what changed. Grants that cannot be read change nothing.
func (d *Daemon) ReloadPlugins(ctx context.Context) (host.Change, error) {
	return d.plugins.Reload(ctx)
}

// ServeMCP serves one MCP client over a stream of lines, as the operator, until
// in ends, ctx does or the Daemon stops.
func (d *Daemon) ServeMCP(ctx context.Context, in io.Reader, out io.Writer) error {
	return d.mcp.server.ServeStream(ctx, d.cfg.Principal, in, out)
}

// callOf returns the newest call whose result is an archived one, also of those that wait
// to be written.
func (d *Daemon) callOf(ctx context.Context, principal, uuid string) (store.Call, error) {
	d.calls.Flush()
	return d.store.CallOf(ctx, principal, uuid)
}

// knows reports whether a tool of that name exists, of the host or the agent.
func (d *Daemon) knows(name string) bool {
	if tool.IsBuiltIn(name) || d.scripts.Has(name) {
		return true
	}
	_, ok := d.cfg.Host.Tool(name)
	return ok
}
