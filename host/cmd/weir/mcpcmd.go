package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/pipe"
)

func (c *cli) mcpCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the tools to an MCP client on standard input and output", Args: argCount(0, 0, "no arguments"),
		Long: "Speak the Model Context Protocol on standard input and output, until the input ends.\n" +
			"A running daemon answers; where none runs, this command opens the data folder itself and\n" +
			"further commands find it as they find a daemon. MCP over HTTP is at /mcp of the daemon.",
		Example: "  weir mcp config --client claude-desktop --write",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.mcp(cmd.Context()) },
	}
	cmd.AddCommand(c.mcpConfigCmd())
	return cmd
}

// mcp serves the client that started this process.
func (c *cli) mcp(ctx context.Context) error {
	in, out := c.In, c.Out
	if f, ok := out.(*os.File); ok && f == os.Stdout {
		// A stray line of any library would break the protocol.
		os.Stdout = os.Stderr
		defer func() { os.Stdout = f }()
		out = pipe.New(polled(f, os.O_WRONLY))
	}
	if f, ok := in.(*os.File); ok {
		in = pipe.New(polled(f, os.O_RDONLY))
	}
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	l, err := c.join(ctx, p)
	if err != nil {
		return err
	}
	defer func() { l.close() }()
	if l.app != nil {
		return served(ctx, l.app.daemon.ServeMCP(ctx, in, out))
	}
	b := newBridge(in, out)
	for {
		over, err := b.run(ctx, l)
		if over {
			return served(ctx, err)
		}
		// Whoever answered has gone. Another one may answer now, or this process does.
		l.close()
		c.errf("weir: the daemon has gone; looking for another one\n")
		if l, err = c.join(ctx, p); err != nil {
			l = &link{close: func() {}}
			return err
		}
	}
}

// served is how the command ends: a client that goes, or a signal, is its
// ordinary end.
func served(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// A link is whoever answers: a daemon, or this process.
type link struct {
	app   *app      // this process; nil: a daemon
	r     io.Reader // of a daemon
	w     io.WriteCloser
	close func()
}

// joinTime is how long a data folder may be in the hands of a command that is
// just starting or ending.
const joinTime = 20 * time.Second

// join finds a daemon, or becomes one. Clients start several of these commands
// at once, so that a lock held by another means: look again.
func (c *cli) join(ctx context.Context, p paths) (*link, error) {
	end := time.Now().Add(joinTime)
	c.stays = true
	for {
		if cl := running(ctx, p); cl != nil {
			s, err := cl.MCP(ctx)
			if err == nil {
				return &link{r: s.R, w: s.W, close: func() { _ = s.Close() }}, nil
			}
			if time.Now().After(end) || ctx.Err() != nil {
				return nil, err
			}
		} else {
			a, err := c.open(ctx)
			if err == nil {
				return c.host(ctx, a)
			}
			if _, busy := errors.AsType[*busyError](err); !busy || time.Now().After(end) || ctx.Err() != nil {
				return nil, err
			}
		}
		select {
		case <-time.After(lockTime / 5):
		case <-ctx.Done():
		}
	}
}

// serversTime is how long a client waits for its first answer because of MCP servers
// that have not answered: it would give up, and hears of tools that come later.
const serversTime = 10 * time.Second

// host makes this process the one that others find.
func (c *cli) host(ctx context.Context, a *app) (*link, error) {
	wait, over := context.WithTimeout(ctx, serversTime)
	err := a.host.WaitServers(wait)
	over()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.close()
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	go a.keepUp(ctx)
	go a.follow(ctx)
	l := &link{app: a, close: func() { stop(); a.close() }}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = announce(a.paths, "http://"+listener.Addr().String())
	}
	if err != nil {
		c.warn(a, "other weir commands will not find this one: "+err.Error())
		return l, nil
	}
	srv := &http.Server{Handler: a.daemon.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: a.log.StandardLogger(nil)}
	go func() { _ = srv.Serve(listener) }() // ends with http.ErrServerClosed
	l.close = func() {
		_ = os.Remove(a.paths.Address)
		stop()
		a.close()
		_ = srv.Close()
	}
	return l, nil
}
