package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	notify "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/config/value"
	"github.com/weirhost/weir/host/internal/framing"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// closeTime bounds how long a stop waits for connections after the last answer.
const closeTime = 5 * time.Second

func serveCmd(c *cli) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "serve", SuggestFor: []string{"start", "run", "up", "daemon", "server"}, Short: "Run the daemon", Args: argCount(0, 0, "no arguments"),
		Long: "Run the daemon: the page, the API and the tools, until it is interrupted.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context(), addr) },
	}
	cmd.Flags().StringVar(&addr, "addr", "", c.helpf("listen on `HOST:PORT` (default: [server] addr, else %s)", config.DefaultAddr))
	return cmd
}

func (c *cli) serve(ctx context.Context, addr string) error {
	if addr != "" { // now: to open everything can take a minute
		if p := value.CheckAddr(addr); p != nil {
			return p
		}
	}
	o := c.options()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Quiet, o.Stays, o.Notice, o.Stop = false, true, nil, cancel // its log has the warnings
	a, release, err := c.takeFolder(ctx, o)
	if err != nil {
		return err
	}
	defer a.Close()
	defer release()
	addr = cmp.Or(addr, a.Settings.Server.Addr)
	l, err := listen(addr)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	if err := app.Announce(a.Paths, a.Address(url, "serve")); err != nil {
		a.Warn(msg.Of(err))
	}
	defer func() { _ = os.Remove(a.Paths.Address) }()
	release() // those who wait for a daemon find this one
	srv := a.HTTPServer()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(framing.Listener(l)) }()
	go a.Maintain(ctx)
	go a.Follow(ctx)
	c.banner(ctx, a, url)
	a.NotifyManager(notify.SdNotifyReady)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	a.NotifyManager(notify.SdNotifyStopping)
	c.errf("stopping: waiting for running answers\n")
	return stop(context.WithoutCancel(ctx), a, srv)
}

// takeFolder opens the data folder. It waits for commands that use it for a moment, and takes
// it over from a `weir mcp`; from another `weir serve` it does not. Until release is called,
// which may be twice, no `weir mcp` opens the folder.
func (c *cli) takeFolder(ctx context.Context, o app.Options) (a *app.App, release func(), err error) {
	claim := func() {}
	defer func() {
		if err != nil {
			claim()
		}
	}()
	asked := 0 // the last process that was asked for the folder
	for end := time.Now().Add(joinTime); ; {
		if a, err = c.open(ctx, o); err == nil {
			return a, claim, nil
		}
		if b, busy := errors.AsType[*app.BusyError](err); busy && b.Daemon {
			p, _ := c.findPaths() // open has found them
			if s := c.running(ctx, p); s != nil && s.at.PID != asked {
				if s.at.Command != "mcp" {
					return nil, nil, err
				}
				if asked == 0 {
					claim = sync.OnceFunc(app.Claim(ctx, p))
				}
				if no := s.Post(ctx, "/api/handover", o.Source.HandOver(), nil); no != nil {
					c.errf("weir: %v\n", msg.Of(no))
					return nil, nil, err
				}
				c.errf("weir: taking the data folder over from the MCP client's weir (process %d), whose running calls end first\n", s.at.PID)
				asked, c.waited = s.at.PID, true
				end = time.Now().Add(joinTime + c.drainTime())
			}
		}
		if !c.busy(ctx, err, end) {
			return nil, nil, err
		}
	}
}

// drainTime is how long running answers may take to end.
func (c *cli) drainTime() time.Duration {
	_, l, _ := c.settings() // without a file the defaults hold
	return time.Duration(l.Settings.WithDefaults().Server.Drain)
}

// stop ends a daemon: running answers have their time, then those that are left
// are cut off and say so, and the connections end.
func stop(ctx context.Context, a *app.App, srv *http.Server) error {
	drain, cancel := context.WithTimeout(ctx, time.Duration(a.Settings.Server.Drain))
	defer cancel()
	err := a.Daemon.Drain(drain)
	closing, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if srv.Shutdown(closing) != nil {
		_ = srv.Close() // clients that do not read
	}
	if err != nil {
		return msg.Errorf("some answers were still running and were cut off")
	}
	return nil
}

// listen opens the port.
func listen(addr string) (net.Listener, error) {
	addr = cmp.Or(addr, config.DefaultAddr)
	if p := value.CheckAddr(addr); p != nil {
		return nil, p
	}
	l, err := net.Listen("tcp", addr)
	if err != nil && !errors.Is(err, syscall.EADDRINUSE) {
		return nil, usagef("choose another address with --addr", "%s cannot be opened: %s", addr, cause(err))
	}
	if err != nil {
		return nil, usagef("stop the other program, or choose another port with --addr 127.0.0.1:8421", "%s cannot be opened: another program listens there", addr)
	}
	return l, nil
}

// cause is what is wrong with an address, without the address.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if sys, ok := errors.AsType[syscall.Errno](err); ok {
		return sys
	}
	return err
}

// banner says where everything is and what keeps tools out.
func (c *cli) banner(ctx context.Context, a *app.App, url string) {
	if c.JSON {
		c.Print(map[string]any{"url": url, "token_file": a.Paths.Token, "data": a.Paths.Data, "config": a.Paths.Config, "plugins": a.Host.Plugins()})
	}
	file := cmp.Or(a.Paths.Config, c.text("none found; the defaults hold"))
	fmt.Fprintf(c.Err, "\nweir %s\n", version())
	if term.IsTerminal(c.Err) {
		c.errf("  page    %s/#token=%s\n", url, a.Token)
	} else { // a file or a journal, which others may read
		c.errf("  page    %s (the token is in %s; `%s open` logs a browser in)\n", url, a.Paths.Token, os.Args[0])
	}
	c.errf("  config  %s\n  data    %s\n  plugins %s\n  files   %s\n", file, a.Paths.Data, a.Settings.Plugins.Folder[0].Path, a.Address(url, "serve").Workspace)
	c.models().ShowDefault(ctx, a)
	c.tellPlugins(a.Host.Plugins())
	for _, w := range a.Warnings() {
		c.Errf("  warning %s\n", w)
	}
	c.errf("  ask     %s ask \"What is 2^64 / 3?\"\n  stop    Ctrl-C, or %s stop\n\n", os.Args[0], os.Args[0])
}

// tellPlugins says how many tools there are, which plugins are broken, and how many
// wait.
func (c *cli) tellPlugins(plugins []plugin.Info) {
	var ready []string
	for _, p := range plugins {
		if p.State == plugin.Ready {
			ready = append(ready, p.Tools...)
		}
	}
	c.errf("  tools   %d ready: %s\n", len(ready), textOf(term.OneLine(plugincmd.Names(ready), 200)))
	waiting := 0
	few, left := plugincmd.Few(plugins)
	for _, p := range few {
		switch {
		case p.State == plugin.Pending || p.State == plugin.Ready && p.Pending != nil:
			waiting++
			continue
		case p.State == plugin.Ready || p.State == plugin.Disabled:
			continue
		}
		fmt.Fprintf(c.Err, "          %s %s: %s\n", c.Label(string(p.State), 8), p.Name, c.pluginCommands().Sentence(plugincmd.Why(p)))
		if fix := plugincmd.Fix(p); !fix.IsZero() {
			fmt.Fprintf(c.Err, "                   → %s\n", c.pluginCommands().Sentence(fix))
		}
	}
	if left > 0 {
		c.errf("          %d more are refused: `weir --json plugin list` lists them with the reasons\n", left)
	}
	if waiting > 0 {
		c.errf("  waiting %d; `%s plugin list` says for what\n", waiting, os.Args[0])
	}
}
