package daemon

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/mcpserver"
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
	// Token opens the data routes. An empty one opens nothing.
	Token string
	// Hosts are further names, without port, by which the daemon may be
	// reached beside localhost and the loopback addresses.
	Hosts []string
	// Principal is who the token stands for; empty: "local".
	Principal string
	// Pages are the page's static files; nil: no page.
	Pages fs.FS
	// Settings is what /api/settings shows; it must hold no secret.
	Settings any
	// Grants reads what the plugins are granted anew, before a plugin is approved
	// and with each reload that a person asks for.
	// nil: the Host's stay as they are.
	Grants func() (map[string]host.Grant, error)
	// ResumeGrace is how long a turn goes on whose client has gone, if it said that
	// it comes back; 0: DefaultResumeGrace; negative: every turn ends with its
	// client.
	ResumeGrace time.Duration
	// MCP says what clients of that protocol get.
	MCP MCP
	// MaxTurns bounds the turns at once; 0: 256; negative: no bound.
	MaxTurns int
	Version  string
	Logger   hclog.Logger     // nil: silent
	Now      func() time.Time // nil: time.Now
}

// A Model is a chat model with what is known about it without asking it.
type Model struct {
	agent.Model
	Info agent.ModelInfo
	// Price is what its tokens cost; zero: unknown, and no cost is told.
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
	cfg   Config
	log   hclog.Logger
	now   func() time.Time
	slots chan struct{} // nil: no bound
	start time.Time
	beat  time.Duration // the longest silence of a stream
	// metrics count since start, for /metrics.
	metrics   *metrics
	approvals *broker
	lives     *lives
	mcp       *mcpserver.Server
	uses      *useLog // of calls that are no turn's

	mu    sync.Mutex
	busy  map[string]bool       // conversations in a turn
	modes map[string]agent.Mode // by model, where auto was tried and given up
	turns sync.WaitGroup
	drain bool
}

// New makes a Daemon; it starts nothing.
func New(cfg Config) (*Daemon, error) {
	if _, ok := cfg.Profiles["default"]; !ok {
		return nil, problem(http.StatusInternalServerError, "config", "", "there is no profile named default")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Profiles)) {
		if m := cfg.Profiles[name].Model; cfg.Models[m].Model == nil {
			return nil, problem(http.StatusInternalServerError, "config", "add [models."+m+"] to tools.toml, or name another",
				"the profile %s wants the model %q, which is not configured", name, m)
		}
	}
	cfg.Models = maps.Clone(cfg.Models)
	for name, m := range cfg.Models {
		if m.Estimator == nil {
			m.Estimator = new(agent.Estimator)
			cfg.Models[name] = m
		}
	}
	d := &Daemon{cfg: cfg, log: cfg.Logger, now: cfg.Now, busy: map[string]bool{}, modes: map[string]agent.Mode{}, approvals: newBroker(), lives: newLives()}
	if d.log == nil {
		d.log = hclog.NewNullLogger()
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.cfg.Principal == "" {
		d.cfg.Principal = "local"
	}
	if d.cfg.ResumeGrace == 0 {
		d.cfg.ResumeGrace = DefaultResumeGrace
	}
	switch {
	case cfg.MaxTurns == 0:
		d.slots = make(chan struct{}, 256)
	case cfg.MaxTurns > 0:
		d.slots = make(chan struct{}, cfg.MaxTurns)
	}
	d.start, d.beat = d.now(), heartbeat
	d.uses = newUseLog(cfg.Host.Archive(), d.log)
	d.mcp = d.newMCP()
	d.metrics = newMetrics(d.knows, func(ctx context.Context) (archive.Stats, error) { return d.cfg.Host.Archive().Stats(ctx) }, d.now, d.log)
	return d, nil
}

// Handler returns every route behind the checks of access.
func (d *Daemon) Handler() http.Handler {
	mux := http.NewServeMux()
	public := map[string]bool{}
	for _, r := range d.routes() {
		mux.HandleFunc(r.pattern(), d.guard(r.handle))
		public[r.pattern()] = r.public
	}
	return &access{
		token: d.cfg.Token,
		hosts: append([]string{"localhost", "127.0.0.1", "::1"}, d.cfg.Hosts...),
		next:  mux,
		public: func(r *http.Request) bool {
			_, pattern := mux.Handler(r)
			return public[pattern]
		},
	}
}

// Drain refuses new turns and calls, and what waits for a person, ends turns
// whose client has gone, and waits for the others, or for ctx. MCP clients are
// let go of then.
func (d *Daemon) Drain(ctx context.Context) error {
	defer d.uses.flush()
	defer d.mcp.Close()
	d.mu.Lock()
	d.drain = true
	d.mu.Unlock()
	d.approvals.stop()
	d.lives.abandon(false)
	done := make(chan struct{})
	go func() {
		d.turns.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		d.lives.abandon(true)
		return ctx.Err()
	}
}

// draining is the code of what a daemon that stops refuses.
const draining = "draining"

// enter takes a slot for one turn and the conversation's lock. The returned
// function gives both back.
func (d *Daemon) enter(conversation string) (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.drain:
		return nil, problem(http.StatusServiceUnavailable, draining, "ask again in a moment", "the daemon is shutting down")
	case d.busy[conversation]:
		return nil, busyProblem()
	}
	if d.slots != nil {
		select {
		case d.slots <- struct{}{}:
		default:
			return nil, problem(http.StatusServiceUnavailable, "overloaded", "ask again in a moment", "%d turns are running already", cap(d.slots))
		}
	}
	d.busy[conversation] = true
	d.turns.Add(1)
	return func() {
		d.mu.Lock()
		delete(d.busy, conversation)
		d.mu.Unlock()
		if d.slots != nil {
			<-d.slots
		}
		d.turns.Done()
	}, nil
}

// mode is how a model's tools are called: as the profile says, and where it
// leaves that open, as an earlier turn or the model's Native found out.
func (d *Daemon) mode(ctx context.Context, model string, prof agent.Config) agent.Mode {
	if prof.Mode != "" && prof.Mode != agent.ModeAuto || !prof.EnableToolCalling {
		return prof.Mode
	}
	d.mu.Lock()
	learnt, ok := d.modes[model]
	d.mu.Unlock()
	native := d.cfg.Models[model].Native
	if ok || native == nil {
		return learnt
	}
	works, known := native(ctx)
	if !known {
		return prof.Mode
	}
	found := agent.ModePrompt
	if works {
		found = agent.ModeNative
	}
	d.learn(model, found)
	return found
}

// learn keeps what a turn found out about a model until the daemon ends.
func (d *Daemon) learn(model string, m agent.Mode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modes[model] = m
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
