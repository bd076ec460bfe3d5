package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// MCP says what clients of the Model Context Protocol get.
type MCP struct {
	// Tools lists the tools that they see, nil: all; Deny wins over it.
	Tools, Deny []string
	// Listing and ToolsChars are as in mcpserver.Config. The default profile's pinned
	// tools are those of these clients too.
	Listing    mcpserver.Listing
	ToolsChars int
	// MaxSessions, MaxUserSessions, Idle and TaskAfter are as in mcpserver.Config.
	MaxSessions, MaxUserSessions int
	Idle, TaskAfter              time.Duration
	// StructuredBytes is as in mcpserver.Config.
	StructuredBytes int
	// Locale is the language of descriptions, notices and errors; empty: English.
	Locale tool.Locale
}

// mcpClients has the routes of the Model Context Protocol, and what its server needs.
type mcpClients struct {
	config    MCP
	server    *mcpserver.Server
	sessions  *storedSessions
	bearers   *access.Bearers
	current   *setup.Current
	admission *turns.Admission
	meter     *usage.Meter
	metrics   *telemetry.Metrics
	calls     *usage.CallLog
	known     func(tool string) bool
	log       hclog.Logger
}

func (m *mcpClients) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/mcp",
			Auth: openapi.Client, Handle: m.serveMCP,
			About: "The Model Context Protocol over HTTP: take a message",
			Other: true,
		},
		{
			Method: "GET", Path: "/mcp",
			Auth: openapi.Client, Handle: m.serveMCP,
			About: "The Model Context Protocol over HTTP: messages from the server",
			Other: true,
		},
		{
			Method: "DELETE", Path: "/mcp",
			Auth: openapi.Client, Handle: m.serveMCP,
			About: "The Model Context Protocol over HTTP: end a session",
			Other: true,
		},
		{
			Method: "GET", Path: "/api/mcp",
			Auth: openapi.Token, Handle: m.streamMCP,
			About: "For `weir mcp`: turn the connection into a stream of that protocol's messages",
			Other: true,
		},
		{
			Method: "GET", Path: "/api/mcp/clients",
			Auth: openapi.Operator, Handle: m.connected,
			About: "The MCP clients with an open session, the last used first",
			Gives: api.MCPClients{},
		},
	}
}

func (m *mcpClients) connected(w http.ResponseWriter, _ *http.Request) error {
	out := api.MCPClients{Clients: []api.MCPClient{}}
	for _, c := range m.server.Connected() {
		transport := "http"
		if c.Stream {
			transport = "stdio"
		}
		out.Clients = append(out.Clients, api.MCPClient{Principal: c.Principal, Name: c.Name, Version: c.Version, Transport: transport, Began: c.Began, Last: c.Last})
	}
	return httpjson.Answer(w, out)
}

// serve makes the server.
func (m *mcpClients) serve(h *host.Host, scripts *offer.Tools, version string, now func() time.Time) {
	m.server = mcpserver.New(mcpserver.Config{
		Host: h, Scripts: scripts, Version: version, Logger: m.log.Named("mcp"), Locale: m.config.Locale, Allow: m.config.Tools, Deny: m.config.Deny,
		Listing: m.config.Listing, ListingOf: m.listingOf, ClientOf: m.clientOf, StructuredBytes: m.config.StructuredBytes, Pinned: m.pinned, ToolsChars: m.config.ToolsChars, Structured: m.metrics.Structured, Searched: func(n int) { m.metrics.Searched("client", n) },
		MaxSessions: m.config.MaxSessions, MaxUserSessions: m.config.MaxUserSessions, Idle: m.config.Idle, TaskAfter: m.config.TaskAfter,
		Begin: m.admit, Sees: m.seesTool, LocaleOf: m.localeOf, Trace: m.startCall, TraceInner: m.startInner, Called: m.called, Card: card, Now: now, NewID: m.sessions.newID,
	})
	m.sessions.server = m.server
}

// revokeTime bounds how long sessions of revoked tokens are looked for.
const revokeTime = 5 * time.Second

// refresh ends what a change of the users no longer allows, and tells clients of other
// tools.
func (m *mcpClients) refresh() {
	m.revoked()
	m.server.Refresh()
}

// revoked ends what was begun with tokens that do not hold any more.
func (m *mcpClients) revoked() {
	m.bearers.Check()
	ctx, cancel := context.WithTimeout(context.Background(), revokeTime)
	defer cancel()
	if err := m.sessions.revoke(ctx, m.current); err != nil {
		m.log.Warn("sessions of revoked tokens are not deleted yet; nobody gets into them", "error", err)
	}
}

// seesTool reports whether a principal may call a tool.
func (m *mcpClients) seesTool(principal, name string) bool {
	return m.current.View(principal).User.Sees(name)
}

// listingOf is what a principal's own settings say of the list of tools.
func (m *mcpClients) listingOf(principal string) mcpserver.Listing {
	if u := m.current.View(principal).User; u != nil {
		return mcpserver.Listing(u.Listing)
	}
	return ""
}

// clientOf is what the settings say of the program of a request.
func (m *mcpClients) clientOf(from mcpserver.Sender) mcpserver.Client {
	c := m.current.State().Clients.Of(setup.Sender(from))
	return mcpserver.Client{Listing: mcpserver.Listing(c.Listing), Links: c.Links, Short: c.Structured == setup.StructuredShort, Bare: c.Meta != nil && !*c.Meta}
}

// pinned reports whether the default profile pins a tool, by the settings in force.
func (m *mcpClients) pinned(name string) bool {
	return slices.Contains(m.current.State().Profiles[setup.DefaultProfile].Agent.PinnedTools, name)
}

// localeOf is a principal's own language, or that of all clients.
func (m *mcpClients) localeOf(principal string) tool.Locale {
	if u := m.current.View(principal).User; u != nil && u.Locale != "" {
		return u.Locale
	}
	return m.config.Locale
}

// admit counts a call that is no turn, and refuses what is over a quota.
func (m *mcpClients) admit(principal string) (end func(), err error) {
	locale := m.localeOf(principal)
	request, err := m.meter.Begin(context.Background(), m.current.Account(principal, locale))
	if err != nil {
		return nil, refused(err, locale, m.log)
	}
	done, err := m.admission.Attend()
	if err != nil {
		request.End()
		return nil, refused(err, locale, m.log)
	}
	return func() { done(); request.End() }, nil
}

// refused returns the error that a model reads when its call may not begin. An
// internal error is logged.
func refused(err error, locale tool.Locale, log hclog.Logger) *tool.Error {
	if _, ok := errors.AsType[*api.Problem](err); !ok {
		log.Error("a call could not be counted", "error", err)
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

// called counts a call, and puts it down for the statistics.
func (m *mcpClients) called(c mcpserver.Call) {
	r := c.Result
	out := api.CountsOf(r)
	format := formatMCP
	if c.Inner {
		format = turns.FormatScript
	}
	m.metrics.ToolCalled("", format, out, r.Stats, c.Took)
	m.metrics.ApprovalDecided(out)
	if c.FoundRank > 0 {
		m.metrics.FoundCalled(c.FoundRank)
	}
	use := store.Call{
		Scope: archive.Scope{Principal: c.Principal, Conversation: c.Conversation}, CallID: r.CallID, Tool: api.Clip(r.Tool, 80), Format: format, Code: "ok",
		Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, View: store.ViewOf(r.Shown), Extra: store.ExtraOf(r), Duration: c.Took, Created: c.Began,
	}
	if r.Err != nil {
		use.Code = string(r.Err.Code)
	}
	m.calls.Add(use)
}

// formatMCP is how calls over the protocol are written, in metrics and statistics.
const formatMCP = "mcp"

func (m *mcpClients) serveMCP(w http.ResponseWriter, r *http.Request) error {
	r.Header.Del(mcpserver.ClientHeader)
	if client := access.Client(r); client != "" {
		r.Header.Set(mcpserver.ClientHeader, client)
	}
	if r.Method == http.MethodGet { // it listens, for as long as it likes
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		defer m.bearers.Add(r, stop)()
		r = r.WithContext(ctx)
	}
	if r.Header.Get(versionHeader) < stateless {
		return m.sessions.ServeHTTP(access.Principal(r), w, r)
	}
	m.server.ServeHTTP(access.Principal(r), w, r)
	return nil
}

// streamMCP turns the connection into a stream of lines, as a program has on its
// standard input and output. `weir mcp` comes this way to a running daemon.
func (m *mcpClients) streamMCP(w http.ResponseWriter, r *http.Request) error {
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
	defer m.bearers.Add(r, stop)()
	err = m.server.ServeStream(ctx, access.Principal(r), buf, conn)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		m.log.Debug("an MCP stream ended", "error", err)
	}
	return nil
}

// startInner starts the span of a call that a client's script makes.
func (m *mcpClients) startInner(ctx context.Context, c tool.Call) (context.Context, func(tool.Result, error)) {
	return m.current.State().Tracing.StartScriptCall(ctx, telemetry.Call{Call: c, Known: m.known(c.Tool)})
}

// startCall starts the span of a call over MCP.
func (m *mcpClients) startCall(ctx context.Context, c tool.Call, from mcpserver.Trace) (context.Context, func(tool.Result, error)) {
	t := m.current.State().Tracing
	if t.Tracer == nil {
		return ctx, nil
	}
	ctx, end := t.StartMCPCall(ctx, telemetry.Call{Call: c, Known: m.known(c.Tool)}, from.Parent, from.State)
	return ctx, func(r tool.Result, err error) {
		var out api.ToolCallResult
		if err == nil {
			out = api.ResultOf(r, 0, m.config.Locale)
		}
		end(r, out, err)
	}
}
