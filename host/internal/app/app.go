package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/daemon/plugins"
	"github.com/weirhost/weir/host/daemon/web"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// Options say what to open.
type Options struct {
	// Source finds the configuration. Reload reads it again.
	Source config.Source
	// Version is the version of the program.
	Version string
	// Log receives the log. Nil: there is none.
	Log io.Writer
	// Quiet limits the log to errors. It is for commands that a person reads.
	Quiet bool
	// Verbose logs everything.
	Verbose bool
	// Stays is for a process that runs longer than one command: it compiles
	// plugins in the background and collects garbage less often.
	Stays bool
	// Stop ends the process when an operator asks over the API. Nil: it is refused.
	Stop func()
	// HandOver has the process leave the data folder to a `weir serve`, as of daemon.Config.
	HandOver func(to api.HandOver) error
	// ModelHTTP asks the models; nil: the default client. Tests lead the address of a
	// hosted service to a server of their own.
	ModelHTTP *http.Client
	// Notice receives the sentences for a person while the App opens: its warnings,
	// and what takes long. If nil, warnings go to the log.
	Notice func(tool.Text)
}

// An App is an open host with its models and its daemon. It is safe for concurrent
// use.
type App struct {
	Paths    config.Paths
	Settings config.Settings // at the start, with defaults and without secrets
	Token    string          // of the operator
	Host     *host.Host
	Daemon   *daemon.Daemon
	Log      hclog.Logger

	options Options
	env     *environment
	native  *nativeCache
	wrote   *verdicts // which models write scripts
	lock    *flock.Flock
	opened  chan struct{} // closed when Daemon is set
	rewatch chan struct{} // receives when the way to watch the plugin folders changes

	editing sync.Mutex // held while tools.toml is read and written

	script scriptEngine

	mu       sync.Mutex // guards the fields below; a reload holds it
	inForce  config.Settings
	models   map[string]daemon.Model
	tracing  *tracing
	warnings []tool.Text
	url      string // where the daemon listens; empty: unknown
	command  string // that started it
	file     string // that the configuration was read from last; empty: none
}

// precompileDelay is how long the plugin folders must be unchanged before plugins
// are compiled that no call has used yet. Files come in groups, and a start has
// other things to do first.
const precompileDelay = 2 * time.Second

// gcPercent makes a daemon collect garbage half as often as Go's default does: a
// daemon retains little, and the garbage of a turn is not worth a collection of its
// own. Open sets it at the end. Most memory of a start is garbage, and would else
// determine the largest size that an idle daemon ever has.
const gcPercent = 200

// Open reads the configuration and opens everything. It fails with a *BusyError if
// another process uses the data folder. The caller must close the App.
func Open(ctx context.Context, o Options) (_ *App, err error) {
	p, err := o.Source.Paths()
	if err != nil {
		return nil, err
	}
	loaded, err := o.Source.Load(p)
	if err == nil {
		err = loaded.Err()
	}
	if err != nil {
		return nil, err
	}
	s := loaded.Settings.WithDefaults()
	a := &App{
		Paths: p, Settings: s.Redacted(), Log: o.Logger(s.Log), options: o, inForce: s, file: p.Config,
		env: newEnvironment(loaded.Secrets), opened: make(chan struct{}), rewatch: make(chan struct{}, 1),
	}
	book := &plugins.Logbook{}
	if l, ok := a.Log.(hclog.InterceptLogger); ok && o.Stays {
		l.RegisterSink(book)
	}
	a.native, a.wrote = newNativeCache(p, a.Log), scriptVerdicts(p)
	if a.Token, err = p.EnsureToken(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if a.lock, err = Lock(ctx, p); err != nil {
		return nil, err
	}
	if o.Stays {
		a.makeFolder(s)
	}
	a.reportSkipped(loaded)
	if a.tracing, err = openTracing(s.Telemetry, loaded.Secrets, a.Log, o.Version); err != nil {
		return nil, err
	}
	a.models = newModels(s, loaded.Secrets, a.Log, o.ModelHTTP, nil)
	a.probeModels(s, a.models)
	if err := a.openHost(ctx, s); err != nil {
		return nil, err
	}
	a.Daemon, err = daemon.New(daemon.Config{
		Host: a.Host, Models: a.models, Profiles: s.Profiles(), Users: s.DaemonUsers(), Clients: s.DaemonClients(), Token: a.Token, Hosts: s.Server.Hosts,
		Book: book, Grant: a.grant, Grants: a.grants, Edit: a, Scripts: a.scripts, ScriptSettings: s.Scripts, About: a, FindModels: a.findModels, AddModel: a.AddModel, TestModel: a.testModel, Reload: a.Reload, Stop: o.Stop, HandOver: o.HandOver, MCP: s.MCPServer(a.language(s)), Pages: web.Files(), Settings: a.Settings,
		MaxTurns: s.Server.MaxTurns, Tracing: a.tracing.forDaemon(), ResumeGrace: time.Duration(s.Server.Grace),
		Lease: a.Paths.Lease(), Version: o.Version, Logger: a.Log.Named("daemon"),
	})
	if err == nil {
		close(a.opened)
		if o.Stays {
			err = a.Daemon.Recover(ctx, a.enginesFolder())
		}
	}
	if o.Stays && o.Source.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return a, err
}

// Address describes the running daemon, which command started, to other commands.
func (a *App) Address(url, command string) client.Address {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.url, a.command = url, command
	return a.addressAt()
}

// addressAt is called with mu held.
func (a *App) addressAt() client.Address {
	p := a.Paths
	p.Config = a.file
	at := a.options.Source.Running(p, a.env.lookup)
	at.URL, at.PID, at.Command = a.url, os.Getpid(), a.command
	return at
}

// Announce leaves the address for the command line. Of a file that could not be written
// whole nothing is left; a daemon serves the page and the API all the same.
func Announce(p config.Paths, at client.Address) error {
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.Address, b, 0o600); err != nil {
		_ = os.Remove(p.Address)
		return msg.Errorf("the address file %s cannot be written (%s): other weir commands will not find this daemon; free some space or check the folder's permissions, and start it again",
			p.Address, msg.Reason(err))
	}
	return nil
}

// readFrom notes from which file the configuration was read last: a daemon may have been
// started before there was one. Other commands read it from the address file.
func (a *App) readFrom(file string) error {
	if a.file == file {
		return nil
	}
	a.file = file
	if a.url == "" {
		return nil
	}
	return Announce(a.Paths, a.addressAt())
}

// paths returns the paths, with the configuration that was read last.
func (a *App) paths() config.Paths {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.Paths
	p.Config = a.file
	return p
}

// openHost opens the host, and warns of what in the settings has no effect.
func (a *App) openHost(ctx context.Context, s config.Settings) (err error) {
	cfg, untrusted, err := a.hostConfig(s, a.Paths, a.models)
	if err != nil {
		return err
	}
	if a.options.Stays {
		cfg.PrecompileDelay = precompileDelay
	}
	if notice := a.options.Notice; notice != nil {
		cfg.Asking = func(name string) {
			notice(tool.Textf("asking %s which tools it has; this takes seconds, once", name))
		}
	}
	if a.Host, err = host.Open(ctx, cfg); err != nil {
		return config.OpenProblem(a.Paths, err)
	}
	for _, w := range a.hostWarnings(s, untrusted) {
		a.Warn(w)
	}
	if w := config.NotIsolated(s.Sandbox, cfg); !w.IsZero() {
		a.Warn(w)
	}
	return nil
}

// hostConfig returns the host's part of the settings, and the names of the servers
// that are not started before a person trusts them.
func (a *App) hostConfig(s config.Settings, p config.Paths, models map[string]daemon.Model) (cfg host.Config, untrusted []string, err error) {
	cfg = s.Host(p, a.env.lookup, a.Log, a.options.Version)
	cfg.Servers, untrusted = s.TrustedServers(a.options.Source, p)
	cfg.Held = untrusted
	return cfg, untrusted, a.addSummarizer(&cfg, s, models)
}

// hostWarnings returns what in the settings fits nothing that the host has.
func (a *App) hostWarnings(s config.Settings, untrusted []string) []tool.Text {
	var out []tool.Text
	if len(untrusted) > 0 {
		out = append(out, config.Untrusted(untrusted, a.Paths))
	}
	out = append(out, config.Warnings(s, a.Host)...)
	return append(out, offer.Problems(s.Scripts, func(name string) bool { _, ok := a.Host.Tool(name); return ok })...)
}

// grants returns the grants of the configuration as it is now. A configuration file
// that was created after the start is found as at a start.
func (a *App) grants() (map[string]plugin.Grant, error) {
	p, l, err := a.load()
	if err != nil {
		return nil, err
	}
	return l.Settings.WithDefaults().Host(p, l.Secrets, a.Log, a.options.Version).Grants, nil
}

// load reads the configuration again.
func (a *App) load() (config.Paths, config.Loaded, error) {
	p, err := a.options.Source.Paths()
	if err != nil {
		return p, config.Loaded{}, err
	}
	l, err := a.options.Source.Load(p)
	a.reportSkipped(l)
	return p, l, errors.Join(err, l.Err())
}

// makeFolder makes the plugin folder that is there by default: a person who starts a daemon
// for the first time can put plugins into it.
func (a *App) makeFolder(s config.Settings) {
	for _, f := range s.Plugins.Folder {
		if f.Path == filepath.Join(a.Paths.Data, "plugins") {
			_ = os.Mkdir(f.Path, 0o700) // the scan says what is wrong with it
		}
	}
}

// reportSkipped reports an .env that was not read.
func (a *App) reportSkipped(l config.Loaded) {
	switch {
	case l.Skipped.IsZero():
	case a.options.Notice != nil:
		a.options.Notice(l.Skipped)
	default:
		a.Log.Warn(l.Skipped.String())
	}
}

// language returns the language for people.
func (a *App) language(s config.Settings) tool.Locale { return s.Language(a.options.Source.Env) }

// Warn adds a warning: something that a person should know and that does not keep
// the App from running.
func (a *App) Warn(w tool.Text) {
	a.mu.Lock()
	a.warnings = append(a.warnings, w)
	a.mu.Unlock()
	if a.options.Notice != nil {
		a.options.Notice(tool.Textf("warning: %v", w))
		return
	}
	a.Log.Warn(w.String())
}

// Warnings returns the warnings so far.
func (a *App) Warnings() []tool.Text {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.warnings)
}

// ModelError returns why a configured model cannot be used. Nil: it can, or there is
// no such model.
func (a *App) ModelError(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Unusable(a.models[name].Model)
}

// Lookup finds a variable of the environment, or of .env as it was read last.
func (a *App) Lookup(name string) (string, bool) { return a.env.lookup(name) }

// HTTPServer returns a server of the daemon's API and pages. It is not started.
func (a *App) HTTPServer() *http.Server {
	return &http.Server{
		Handler: a.Daemon.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: a.Log.StandardLogger(nil),
	}
}

// storeTimeout bounds how long Close waits until answers that were cut off are
// stored.
const storeTimeout = 5 * time.Second

// Close ends running answers and closes everything. It waits for a reload that is
// in progress.
func (a *App) Close() {
	if a.Daemon != nil {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		defer cancel()
		if a.Daemon.Drain(ctx) != nil {
			a.Log.Error("closing: an answer was still running and is not stored")
		}
	}
	a.mu.Lock()
	a.tracing.close()
	a.mu.Unlock()
	if err := a.script.close(); err != nil {
		a.Log.Error("closing", "error", err)
	}
	if a.Host != nil {
		if err := a.Host.Close(); err != nil {
			a.Log.Error("closing", "error", err)
		}
	}
	if a.lock != nil {
		_ = a.lock.Unlock() // the file stays: removing it would race with the next owner
	}
}

// maintenance is the time between two runs of the archive's maintenance.
const maintenance = 10 * time.Minute

// Maintain compresses and prunes the archive until ctx ends.
func (a *App) Maintain(ctx context.Context) {
	if err := a.Host.Archive().Run(ctx, maintenance); err != nil && ctx.Err() == nil {
		a.Log.Error("the maintenance of the archive has stopped", "error", err)
	}
}

// Logger returns the log that the options and the settings describe.
func (o Options) Logger(s config.LogSettings) hclog.Logger {
	if o.Log == nil {
		return hclog.NewNullLogger()
	}
	return hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "weir", Level: o.level(s), Output: o.Log, JSONFormat: s.Format == "json"})
}

func (o Options) level(s config.LogSettings) hclog.Level {
	level := hclog.LevelFromString(s.Level)
	if o.Quiet && !o.Verbose && level < hclog.Error {
		return hclog.Error
	}
	if o.Verbose && level > hclog.Debug {
		return hclog.Debug
	}
	return level
}
