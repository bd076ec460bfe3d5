package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// MCP says what clients of the Model Context Protocol get.
type MCP struct {
	// Tools lists the tools that they see, nil: all; Deny wins over it.
	Tools, Deny []string
	// MaxSessions, MaxUserSessions and Idle are as in mcpserver.Config.
	MaxSessions, MaxUserSessions int
	Idle                         time.Duration
	// Locale is the language of descriptions, notices and errors; empty: English.
	Locale tool.Locale
}

func (d *Daemon) newMCP() *mcpserver.Server {
	c := d.cfg.MCP
	return mcpserver.New(mcpserver.Config{
		Host: d.cfg.Host, Version: d.cfg.Version, Logger: d.log.Named("mcp"), Locale: c.Locale, Allow: c.Tools, Deny: c.Deny,
		MaxSessions: c.MaxSessions, MaxUserSessions: c.MaxUserSessions, Idle: c.Idle, Begin: d.admit, Sees: d.seesTool, LocaleOf: d.localeOfMCP, Trace: d.startMCPCall, Called: d.calledByMCP, Card: card, Now: d.now,
	})
}

// seesTool reports whether a principal may call a tool.
func (d *Daemon) seesTool(principal, name string) bool {
	return d.current.View(principal).User.Sees(name)
}

// localeOfMCP is a principal's own language, or that of all clients.
func (d *Daemon) localeOfMCP(principal string) tool.Locale {
	if u := d.current.View(principal).User; u != nil && u.Locale != "" {
		return u.Locale
	}
	return d.cfg.MCP.Locale
}

// mcpConversation and the principal's name make the id of the conversation that
// keeps what is called by the protocol.
const mcpConversation = mcpserver.Conversation

// admit counts a call that is no turn, and refuses what is over a quota.
func (d *Daemon) admit(principal string) (end func(), err error) {
	locale := d.localeOfMCP(principal)
	request, err := d.meter.Begin(context.Background(), d.current.Account(principal, locale))
	if err != nil {
		return nil, d.refused(err, locale)
	}
	done, err := d.gate.Attend()
	if err != nil {
		request.End()
		return nil, d.refused(err, locale)
	}
	return func() { done(); request.End() }, nil
}

// refused returns the error that a model reads when its call may not begin. An
// internal error is logged.
func (d *Daemon) refused(err error, locale tool.Locale) *tool.Error {
	if _, ok := errors.AsType[*api.Problem](err); !ok {
		d.log.Error("a call could not be counted", "error", err)
	}
	p, code := asProblem(err).In(locale), tool.Failed
	if p.Quota != nil {
		code = tool.RateLimited
	}
	return tool.NewError(code, p.Msg, p.Hint)
}

// card is what a client shows its person about a request.
func card(r approval.Request) string {
	args := approvals.FormatArgs(r.Args)
	return limit.Visible(r.Tool) + "\n" + limit.Visible(r.Why) + "\n" + args
}

// calledByMCP counts a call, and puts it down for the statistics.
func (d *Daemon) calledByMCP(c mcpserver.Call) {
	r := c.Result
	out := api.CountsOf(r)
	d.metrics.ToolCalled("", formatMCP, out, r.Stats, c.Took)
	d.metrics.ApprovalDecided(out)
	use := store.Call{
		Scope: archive.Scope{Principal: c.Principal, Conversation: c.Conversation}, CallID: r.CallID, Tool: api.Clip(r.Tool, 80), Format: formatMCP, Code: "ok",
		Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, Duration: c.Took, Created: c.Began,
	}
	if r.Err != nil {
		use.Code = string(r.Err.Code)
	}
	d.calls.Add(use)
}

// How calls that no model wrote are written, in metrics and statistics: by the
// protocol, and by a person.
const (
	formatMCP = "mcp"
	formatAPI = "api"
)

func (d *Daemon) serveMCP(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodGet { // it listens, for as long as it likes
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		defer d.bear(r, stop)()
		r = r.WithContext(ctx)
	}
	d.mcp.ServeHTTP(d.principal(r), w, r)
	return nil
}

// streamMCP turns the connection into a stream of lines, as a program has on its
// standard input and output. `weir mcp` comes this way to a running daemon.
func (d *Daemon) streamMCP(w http.ResponseWriter, r *http.Request) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), api.StreamProtocol) {
		return api.Problemf(http.StatusUpgradeRequired, "no_upgrade", "MCP over HTTP is at /mcp", "this route is for `weir mcp`, which asks for a stream")
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Time{}) // the server's own are for requests
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n\r\n"); err != nil {
		return nil // the client has gone
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	defer d.bear(r, stop)()
	err = d.mcp.ServeStream(ctx, d.principal(r), buf, conn)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		d.log.Debug("an MCP stream ended", "error", err)
	}
	return nil
}

// ServeMCP serves one MCP client over a stream of lines, as the operator, until
// in ends, ctx does or the Daemon stops.
func (d *Daemon) ServeMCP(ctx context.Context, in io.Reader, out io.Writer) error {
	return d.mcp.ServeStream(ctx, d.cfg.Principal, in, out)
}

// startMCPCall starts the span of a call over MCP.
func (d *Daemon) startMCPCall(ctx context.Context, c tool.Call, from mcpserver.Trace) (context.Context, func(tool.Result, error)) {
	t := d.current.State().Tracing
	if t.Tracer == nil {
		return ctx, nil
	}
	ctx, end := t.StartMCPCall(ctx, telemetry.Call{Call: c, Known: d.knows(c.Tool)}, from.Parent, from.State)
	return ctx, func(r tool.Result, err error) {
		var out api.ToolCallResult
		if err == nil {
			out = api.ResultOf(r, 0, d.cfg.MCP.Locale)
		}
		end(r, out, err)
	}
}
