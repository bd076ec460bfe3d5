package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	notify "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// follow keeps a daemon's plugins up with their folders until ctx ends: by
// watching them, if that is wanted, and by the signal SIGHUP, which has it read
// its whole configuration again too.
func (a *app) follow(ctx context.Context) {
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
			tellManager(a.log, notify.SdNotifyReloading+"\n"+notify.SdNotifyMonotonicUsec())
			if _, err := a.daemon.Reload(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("nothing was reloaded", "error", err)
			}
			tellManager(a.log, notify.SdNotifyReady)
		}
	}
}

// watch watches the plugin folders, if that is wanted, until stop is called.
func (a *app) watch(ctx context.Context) (stop func()) {
	a.reloading.Lock()
	how := a.inForce.Plugins
	a.reloading.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	if *how.Watch {
		watching.Go(func() {
			if err := a.host.Watch(ctx, time.Duration(how.Poll)); err != nil && ctx.Err() == nil {
				a.log.Error("the plugin folders are not watched any more", "error", err)
			}
		})
	}
	return func() {
		cancel()
		watching.Wait()
	}
}

// reload reads tools.toml and .env anew and puts in force what can change while
// the daemon runs. A file with a fault changes nothing.
func (c *cli) reload(ctx context.Context, a *app) (daemon.ReloadReport, error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	p, err := c.findPaths()
	if err != nil {
		return daemon.ReloadReport{}, err
	}
	given, secrets, err := c.settings(p)
	if err != nil {
		return daemon.ReloadReport{}, refusedReload(err)
	}
	s := given.WithDefaults()
	models := c.models(s, secrets, a.log, &made{a.inForce, a.secrets.find, a.models, c.locale(a.inForce)})
	tracing := a.tracing
	if !reflect.DeepEqual(s.Telemetry, a.inForce.Telemetry) {
		if tracing, err = openTracing(s.Telemetry, secrets, a.log); err != nil {
			return daemon.ReloadReport{}, refusedReload(err)
		}
	}
	setup := daemon.Setup{Models: models, Profiles: s.Profiles(), Users: s.DaemonUsers(), Settings: s.Redacted(), MaxTurns: s.Server.MaxTurns, Tracing: tracing.forDaemon()}
	put := false
	defer func() {
		if old := a.tracing; tracing != old && put {
			a.tracing = tracing
			old.Retire()
		} else if tracing != old {
			tracing.Close()
		}
	}()
	cfg := s.Host(p, a.secrets.find, a.log, version())
	var held []string
	cfg.Servers, held = s.TrustedServers(c.source(), p)
	if err := errors.Join(setup.Check(), a.addSummary(&cfg, s, models), cfg.Live().Check()); err != nil {
		return daemon.ReloadReport{}, refusedReload(err)
	}
	before := a.inForce
	a.probeModels(s, models)
	a.secrets.set(secrets)
	change, err := a.host.Apply(ctx, cfg.Live())
	if err != nil {
		return daemon.ReloadReport{}, err
	}
	if err := a.daemon.Configure(setup); err != nil { // which Check has seen
		return daemon.ReloadReport{}, err
	}
	a.inForce, a.models, put = s, models, true
	a.log.SetLevel(c.level(s.Log))
	if !reflect.DeepEqual(before.Plugins, s.Plugins) {
		select {
		case a.rewatch <- struct{}{}:
		default: // it is going to be looked at
		}
	}
	out := daemon.ReloadReport{Change: change, Notes: []string{}}
	if len(held) > 0 {
		out.Notes = append(out.Notes, config.Untrusted(held, p))
	}
	out.Notes = append(out.Notes, config.Warnings(s, a.host)...)
	out.InForce, out.Restart = differences(before, s)
	c.tellReload(a, out)
	return out, nil
}

// refusedReload says that what was in force goes on.
func refusedReload(err error) error {
	return &daemon.Problem{Status: http.StatusConflict, Code: "config", Msg: msg.Of(err), Hint: tool.Textf("correct the file and reload again; what was in force until now goes on")}
}

// tellReload logs what a reload came to.
func (c *cli) tellReload(a *app, out daemon.ReloadReport) {
	a.log.Info("the configuration was read again", "in_force", out.InForce, "restart", out.Restart)
	if len(out.Restart) > 0 {
		a.log.Warn("some settings hold from the next start on", "settings", out.Restart)
	}
	for _, note := range out.Notes {
		a.log.Warn(note)
	}
	for name, m := range a.models {
		if b, ok := m.Model.(broken); ok {
			a.log.Warn("a model cannot be used", "model", name, "error", b.err)
		}
	}
}

// reloadCmd has the running daemon read its whole configuration again.
func (c *cli) reloadCmd() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running daemon read tools.toml, .env and the plugin folders again", Args: argCount(0, 0, "no arguments"),
		Long: "Have the running daemon read tools.toml, .env and the plugin folders again, and say what holds now and what\n" +
			"will not before a restart. Answers that are being given end under what they began with. A file with a fault\n" +
			"changes nothing. The signal SIGHUP does the same.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.daemon(cmd.Context())
			if err != nil {
				return err
			}
			var out daemon.ReloadReport
			if err := cl.Post(cmd.Context(), "/api/reload", struct{}{}, &out); err != nil {
				return err
			}
			if c.JSON {
				c.Print(out)
				return nil
			}
			for _, row := range []struct {
				what  string
				names []string
			}{{"in force", out.InForce}, {"restart", out.Restart}} {
				if len(row.names) > 0 {
					fmt.Fprintf(c.Out, "%s %s\n", c.Label(row.what, 8), strings.Join(row.names, " "))
				}
			}
			if len(out.Restart) > 0 {
				c.errf("weir: what stands behind restart holds when the daemon is started again\n")
			}
			for _, note := range out.Notes {
				c.errf("weir: %s\n", phrase(note))
			}
			switch {
			case !out.Change.Empty():
				c.showRows(out.Change)
			case len(out.InForce)+len(out.Restart) == 0:
				c.outf("nothing is different\n")
			}
			return nil
		},
	}
}

// daemon is the running daemon of the data folder.
func (c *cli) daemon(ctx context.Context) (*session, error) {
	p, err := c.findPaths()
	if err != nil {
		return nil, err
	}
	if cl := running(ctx, p); cl != nil {
		return cl, nil
	}
	return nil, usagef("start one with `weir serve`; every other command reads the files when it starts", "no daemon runs with the data folder %s", p.Data)
}

// reloadPluginsCmd has the running daemon read its plugin folders again.
func (c *cli) reloadPluginsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running daemon read the plugin folders again", Args: argCount(0, 0, "no arguments"),
		Long: "Have the running daemon read the plugin folders and the [grants] of tools.toml again and say what became\n" +
			"different. It watches the folders by itself ([plugins] watch), the file it does not; this also gives its\n" +
			"verdict at once on files that are still broken. `weir reload` reads all of tools.toml.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.daemon(cmd.Context())
			if err != nil {
				return err
			}
			var out struct {
				Change  host.Change   `json:"change"`
				Plugins []plugin.Info `json:"plugins"`
			}
			if err := cl.Post(cmd.Context(), "/api/plugins/reload", struct{}{}, &out); err != nil {
				return err
			}
			if c.JSON {
				c.Print(out)
				return nil
			}
			c.showChange(out.Change, out.Plugins)
			return nil
		},
	}
}

// showChange prints what a reload made different, and how to mend what it
// found broken.
func (c *cli) showChange(change host.Change, plugins []plugin.Info) {
	if change.Empty() {
		c.outf("nothing is different: %d plugins\n", len(plugins))
		return
	}
	c.showRows(change)
	for _, p := range plugins {
		if p.State != plugin.Ready {
			fmt.Fprintf(c.Out, "\n%s: %s\n", p.Name, c.text(p.Why))
			if p.Fix != "" {
				fmt.Fprintf(c.Out, "  → %s\n", c.text(p.Fix))
			}
		}
	}
}

func (c *cli) showRows(change host.Change) {
	for _, row := range []struct {
		what  string
		names []string
	}{{"added", change.Added}, {"changed", change.Changed}, {"removed", change.Removed}, {"waiting", change.Pending}, {"refused", change.Invalid}} {
		if len(row.names) > 0 {
			fmt.Fprintf(c.Out, "%s %s\n", c.Label(row.what, 8), strings.Join(row.names, " "))
		}
	}
}
