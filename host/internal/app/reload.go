package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"sync"
	"syscall"
	"time"

	notify "github.com/coreos/go-systemd/v22/daemon"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Follow keeps a running daemon up to date until ctx ends: with the plugin folders,
// which it watches unless the settings say otherwise, and with the configuration,
// which it reads again at the signal SIGHUP.
func (a *App) Follow(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	stop := a.watch(ctx)
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.rewatch:
			stop()
			stop = a.watch(ctx)
		case <-hup:
			a.NotifyManager(notify.SdNotifyReloading + "\n" + notify.SdNotifyMonotonicUsec())
			if _, err := a.Daemon.Reload(ctx); err != nil && ctx.Err() == nil {
				a.Log.Error("nothing was reloaded", "error", err)
			}
			a.NotifyManager(notify.SdNotifyReady)
		}
	}
}

// NotifyManager sends a state to systemd if it started this process and asks for
// states.
func (a *App) NotifyManager(state string) {
	if _, err := notify.SdNotify(false, state); err != nil {
		a.Log.Warn("systemd cannot be notified", "state", state, "error", err)
	}
}

// watch watches the plugin folders until stop is called, unless the settings say
// otherwise.
func (a *App) watch(ctx context.Context) (stop func()) {
	a.mu.Lock()
	plugins := a.inForce.Plugins
	a.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	if *plugins.Watch {
		watching.Go(func() {
			if err := a.Host.Watch(ctx, time.Duration(plugins.Poll)); err != nil && ctx.Err() == nil {
				a.Log.Error("the plugin folders are not watched any more", "error", err)
			}
		})
	}
	return func() {
		cancel()
		watching.Wait()
	}
}

// Reload reads tools.toml and .env again and applies what can change while the
// daemon runs. If the configuration has a fault, nothing changes.
func (a *App) Reload(ctx context.Context) (daemon.ReloadReport, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, loaded, err := a.load()
	if err != nil {
		return daemon.ReloadReport{}, refused(err)
	}
	next, err := a.prepare(p, loaded)
	if err != nil {
		return daemon.ReloadReport{}, refused(err)
	}
	before := a.inForce
	change, err := a.apply(ctx, next, loaded.Secrets)
	if err != nil {
		return daemon.ReloadReport{}, err
	}
	out := daemon.ReloadReport{Change: change, Notes: []tool.Text{}}
	if err := a.readFrom(p.Config); err != nil {
		out.Notes = append(out.Notes, msg.Of(err))
	}
	if !loaded.Skipped.IsZero() {
		out.Notes = append(out.Notes, loaded.Skipped)
	}
	out.Notes = append(out.Notes, a.hostWarnings(next.settings, next.untrusted)...)
	out.InForce, out.Restart = Diff(before, next.settings)
	a.logReload(out)
	out.Notes = append(out.Notes, a.Host.Problems()...) // the host has logged them
	return out, nil
}

// A pending is a checked configuration that is not applied yet.
type pending struct {
	settings     config.Settings
	setup        daemon.Setup
	hostSettings host.Settings
	untrusted    []string
	tracing      *tracing
}

// prepare makes everything that the settings describe, and checks it.
func (a *App) prepare(p config.Paths, loaded config.Loaded) (_ *pending, err error) {
	s := loaded.Settings.WithDefaults()
	before := &previous{a.inForce, a.env.lookup, a.models}
	models := newModels(s, loaded.Secrets, a.Log, a.options.ModelHTTP, before)
	tracing := a.tracing
	if !reflect.DeepEqual(s.Telemetry, a.inForce.Telemetry) {
		if tracing, err = openTracing(s.Telemetry, loaded.Secrets, a.Log, a.options.Version); err != nil {
			return nil, err
		}
	}
	setup := daemon.Setup{
		Models: models, Profiles: s.Profiles(), Users: s.DaemonUsers(), Clients: s.DaemonClients(), Settings: s.Redacted(), MaxTurns: s.Server.MaxTurns,
		Tracing: tracing.forDaemon(), Scripts: s.Scripts,
	}
	cfg, untrusted, err := a.hostConfig(s, p, models)
	hostSettings := cfg.Settings
	if err := errors.Join(setup.Check(), err, hostSettings.Check()); err != nil {
		a.discard(tracing)
		return nil, err
	}
	a.probeModels(s, models)
	return &pending{s, setup, hostSettings, untrusted, tracing}, nil
}

// apply applies a checked configuration.
func (a *App) apply(ctx context.Context, next *pending, env config.Lookup) (host.Change, error) {
	a.env.set(env)
	change, err := a.Host.Apply(ctx, next.hostSettings)
	if err == nil {
		err = a.Daemon.Configure(next.setup) // prepare has checked it
	}
	if err != nil {
		a.discard(next.tracing)
		return change, err
	}
	if old := a.tracing; old != next.tracing {
		a.tracing = next.tracing
		old.Retire()
	}
	rewatch := !reflect.DeepEqual(a.inForce.Plugins, next.settings.Plugins)
	a.inForce, a.models = next.settings, next.setup.Models
	a.Log.SetLevel(a.options.level(next.settings.Log))
	if rewatch {
		select {
		case a.rewatch <- struct{}{}:
		default: // one is waiting already
		}
	}
	return change, nil
}

// discard closes a tracer that was opened for a reload and is not used.
func (a *App) discard(t *tracing) {
	if t != a.tracing {
		t.close()
	}
}

// refused returns the error of a reload that changed nothing.
func refused(err error) error {
	return &api.Problem{Status: http.StatusConflict, Code: "config", Msg: msg.Of(err), Hint: tool.Textf("correct the file and reload again; the settings until now stay in force")}
}

// logReload logs what a reload changed.
func (a *App) logReload(out daemon.ReloadReport) {
	a.Log.Info("the configuration was read again", "in_force", out.InForce, "restart", out.Restart)
	if len(out.Restart) > 0 {
		a.Log.Warn("some settings apply from the next start", "settings", out.Restart)
	}
	for _, note := range out.Notes {
		a.Log.Warn(note.String())
	}
	for name, m := range a.models {
		if err := Unusable(m.Model); err != nil {
			a.Log.Warn("a model cannot be used", "model", name, "error", err)
		}
	}
}
