package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/framing"
	"github.com/weirhost/weir/host/internal/mcpbridge"
	"github.com/weirhost/weir/host/internal/pipe"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func mcpCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the tools to an MCP client on standard input and output", Args: argCount(0, 0, "no arguments"),
		Long: "Speak the Model Context Protocol on standard input and output, until the input ends.\n" +
			"A running daemon answers; where none runs, this command opens the data folder itself and\n" +
			"further commands find it as they find a daemon. MCP over HTTP is at /mcp of the daemon.",
		Example: "  weir mcp install claude-desktop",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.mcp(cmd.Context()) },
	}
	cmd.AddCommand(mcpConfigCmd(c), mcpAddCmd(c), mcpRemoveCmd(c), mcpRestartCmd(c), mcpInstallCmd(c), mcpUninstallCmd(c))
	return cmd
}

// mcp serves the client that started this process.
func (c *cli) mcp(ctx context.Context) error {
	in, out := c.In, c.Out
	if f, ok := out.(*os.File); ok && f == os.Stdout {
		// A line that a library writes by mistake would break the protocol.
		os.Stdout = os.Stderr
		defer func() { os.Stdout = f }()
		out = pipe.New(mcpbridge.Pollable(f, os.O_WRONLY))
	}
	if f, ok := in.(*os.File); ok {
		in = pipe.New(mcpbridge.Pollable(f, os.O_RDONLY))
	}
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	join := func(ctx context.Context) (*mcpbridge.Peer, error) { return c.join(ctx, p) }
	return mcpbridge.Run(ctx, in, out, join, func() { c.errf("weir: the daemon has stopped; looking for another one\n") })
}

// joinTime bounds how long a command waits for another one that holds the lock of the
// data folder.
const joinTime = 20 * time.Second

// join connects to a daemon, or makes this process one. Clients start several of
// these commands at once: if another one holds the lock, join looks again.
func (c *cli) join(ctx context.Context, p config.Paths) (*mcpbridge.Peer, error) {
	end := time.Now().Add(joinTime)
	o := c.options()
	o.Stays = true
	leave := make(chan struct{})
	gone := sync.OnceFunc(func() { close(leave) })
	o.HandOver = func(to api.HandOver) error {
		err := o.Source.Accepts(to)
		if err == nil {
			gone()
		}
		return err
	}
	for {
		if cl := c.running(ctx, p); cl != nil {
			err := c.refused(cl)
			if err == nil {
				err = c.checkPlace(ctx, cl, "", false)
			}
			if err != nil {
				return nil, err
			}
			s, err := cl.MCP(ctx)
			if err == nil {
				return &mcpbridge.Peer{R: s.R, W: s.W, Close: func() { _ = s.Close() }}, nil
			}
			if time.Now().After(end) || ctx.Err() != nil {
				return nil, err
			}
		} else if app.Claimed(p) { // a daemon that starts, or fails, soon
			end = time.Now().Add(joinTime)
		} else {
			a, err := c.open(ctx, o)
			if err == nil {
				return c.host(ctx, a, leave)
			}
			if _, busy := errors.AsType[*app.BusyError](err); !busy || time.Now().After(end) || ctx.Err() != nil {
				return nil, err
			}
		}
		select {
		case <-time.After(app.LockTimeout / 5):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// serversTime bounds how long the first answer to a client waits for MCP servers: a
// client would give up, and it is notified of tools that come later.
const serversTime = 3 * time.Second

// host serves in this process, where other commands find it, until leave is closed.
func (c *cli) host(ctx context.Context, a *app.App, leave <-chan struct{}) (*mcpbridge.Peer, error) {
	wait, over := context.WithTimeout(ctx, serversTime)
	err := a.Host.WaitServers(wait)
	over()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.Close()
		return nil, err
	}
	c.sayMissing(a.Host)
	ctx, stop := context.WithCancel(ctx)
	go a.Maintain(ctx)
	go a.Follow(ctx)
	drain := time.Duration(a.Settings.Server.Drain)
	end := func() {
		select {
		case <-leave: // others' calls end first, too
			wait, over := context.WithTimeout(context.WithoutCancel(ctx), drain)
			defer over()
			_ = a.Daemon.Drain(wait) // those that are cut off say so
		default:
		}
		stop()
		a.Close()
	}
	l := &mcpbridge.Peer{Serve: a.Daemon.ServeMCP, Leave: leave, Grace: drain, Close: sync.OnceFunc(end)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = app.Announce(a.Paths, a.Address("http://"+listener.Addr().String(), "mcp"))
	}
	if err != nil {
		a.Warn(tool.Textf("other weir commands will not find this one: %v", err))
		return l, nil
	}
	srv := a.HTTPServer()
	go func() { _ = srv.Serve(framing.Listener(listener)) }() // ends with http.ErrServerClosed
	l.Close = sync.OnceFunc(func() {
		_ = os.Remove(a.Paths.Address)
		end()
		_ = srv.Close()
	})
	return l, nil
}

// sayMissing writes to standard error, which clients log, which MCP servers are not ready.
func (c *cli) sayMissing(h *host.Host) {
	missing, _ := h.MissingServers()
	for _, p := range h.Plugins() {
		if p.Kind == plugin.KindServer && slices.Contains(missing, p.Name) {
			c.Errf("weir: %v\n", tool.Textf("warning: %v", tool.Textf("the MCP server %s is not ready: %v", p.Name, p.Why)))
		}
	}
}

func mcpConfigCmd(c *cli) *cobra.Command {
	var client, file string
	var write, http bool
	var names []string
	for _, m := range mcpbridge.Clients() {
		names = append(names, m.Name)
	}
	cmd := &cobra.Command{
		Use: "config --client NAME", Short: "Print an MCP client's configuration", Args: argCount(0, 0, "no arguments"),
		Long: "Print what an MCP client needs to find weir; `weir mcp install` writes it into the client's own file.\n" +
			"Clients start weir from anywhere: the folder that the tools see as /workspace is the current one,\nunless --workspace names another.",
		Example: "  weir mcp config --client claude-desktop\n  weir mcp config --client vscode --http",
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.IndexFunc(mcpbridge.Clients(), func(m mcpbridge.Client) bool { return m.Name == client })
			if i < 0 {
				return usagef("", "--client takes one of: %s", strings.Join(names, ", "))
			}
			if write {
				return usagef("", "`weir mcp config` prints, and writes nothing").WithHint("`weir mcp install %s` writes it, and shows the change first", mcpbridge.Clients()[i].InstallName())
			}
			return c.configureClient(cmd.Context(), mcpbridge.Clients()[i], file, http)
		},
	}
	f := cmd.Flags()
	f.StringVar(&client, "client", "", c.helpf("the client: %s", strings.Join(names, ", ")))
	f.StringVar(&file, "file", "", "the client's `FILE` (default: where the client looks)")
	f.BoolVar(&write, "write", false, "gone: weir mcp install writes")
	_ = f.MarkHidden("write") // the flag is there
	f.BoolVar(&http, "http", false, "let the client reach the daemon by HTTP; the client's file then contains its token")
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

func (c *cli) configureClient(ctx context.Context, m mcpbridge.Client, file string, http bool) error {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	dirs, err := c.clientDirs()
	if err != nil {
		return err
	}
	var e mcpbridge.Entry
	if http {
		e, err = c.httpEntry(ctx, p, m)
	} else {
		e, err = c.stdioEntry(ctx, p, dirs, m)
	}
	if err != nil {
		return err
	}
	if file == "" {
		file = m.File(dirs)
	}
	c.printEntry(m, e, file)
	return nil
}

// clientDirs returns the folders in which programs of this machine keep their
// configuration.
func (c *cli) clientDirs() (mcpbridge.Dirs, error) {
	here, err := os.Getwd()
	d, ok := mcpbridge.DirsOf(c.Getenv, runtime.GOOS, here)
	if err != nil || !ok {
		return d, usagef("set HOME, or name the client's file with --file", "there is no home folder to look for the client's file in")
	}
	return d, nil
}

// stdioEntry lets the client start weir with the flags of this command.
func (c *cli) stdioEntry(ctx context.Context, p config.Paths, dirs mcpbridge.Dirs, m mcpbridge.Client) (mcpbridge.Entry, error) {
	workspace := cmp.Or(c.workspace, c.Getenv("WEIR_WORKSPACE"), dirs.Workspace)
	data := ""
	if c.data != "" {
		data = p.Data
	}
	want := config.Source{Config: p.Config, Plugins: c.plugins, Workspace: workspace}
	if s := c.running(ctx, p); s != nil && want.Refused(s.at) != nil {
		c.errf("weir: a daemon runs with the data folder %s, and its tools see %s; while it runs, the client cannot start weir as written here: add --data DIR, or %v\n", p.Data, s.at.Workspace, s.at.Stopping())
	}
	return m.StdioEntry([][2]string{{"--config", p.Config}, {"--data", data}, {"--plugins", c.plugins}, {"--workspace", workspace}})
}

// httpEntry lets the client reach the daemon.
func (c *cli) httpEntry(ctx context.Context, p config.Paths, m mcpbridge.Client) (mcpbridge.Entry, error) {
	if !m.HTTP {
		return mcpbridge.Entry{}, usagef("leave --http out: it starts weir itself then", "%s reaches no server by HTTP with a token", m.Name)
	}
	addr, err := c.listens(ctx, p)
	if err != nil {
		return mcpbridge.Entry{}, err
	}
	token, err := p.EnsureToken()
	if err != nil {
		return mcpbridge.Entry{}, err
	}
	return m.HTTPEntry(addr, token), nil
}

// listens returns the address of the running daemon, or else the one at which the next
// will listen.
func (c *cli) listens(ctx context.Context, p config.Paths) (string, error) {
	if s := c.running(ctx, p); s != nil {
		return strings.TrimPrefix(s.URL(), "http://"), nil
	}
	_, l, err := c.settings()
	return l.Settings.WithDefaults().Server.Addr, err
}

// printEntry prints the entry and the name of the file that it belongs to.
func (c *cli) printEntry(m mcpbridge.Client, e mcpbridge.Entry, file string) {
	if c.AsJSON(map[string]any{"client": m.Name, "file": file, "config": m.Document(e)}) {
		return
	}
	c.errf("put this into %s, or let `weir mcp install %s` write it:\n", file, m.InstallName())
	c.Print(m.Document(e))
}
