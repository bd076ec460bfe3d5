package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent/toolsearch"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A user is the protocol's server for one principal. It reaches only the sessions,
// tools and archives of that principal.
type user struct {
	s            *Server
	principal    string
	conversation string
	spoken       atomic.Pointer[host.Session] // in the user's language
	sdk          *mcp.Server
	// The revisions of the protocol until 2025 have sessions, the later ones do not.
	stateful, stateless http.Handler

	making int // sessions that are being made; s.mu guards it

	mu     sync.Mutex
	listed map[string]listed // by name, as clients see it
	search *search
}

// listed is a tool that clients know.
type listed struct {
	text    string // its description on the wire
	beside  string // members of it for which the SDK's Tool has no place
	headers bool   // a client copies arguments of it into headers
	promise
	calls bool // it calls other tools
}

func newUser(s *Server, principal string) *user {
	u := &user{s: s, principal: principal, conversation: Conversation + principal, listed: map[string]listed{}}
	u.spoken.Store(s.cfg.Host.Session(host.Principal(principal), u.conversation).In(u.locale()).AcrossConversations())
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	u.sdk = mcp.NewServer(s.self(), &mcp.ServerOptions{
		Instructions: textsIn(u.locale()).instructions,
		Logger:       silent,
		GetSessionID: s.cfg.NewID,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{}, Logging: &mcp.LoggingCapabilities{},
		},
	})
	u.sdk.AddReceivingMiddleware(u.watch)
	u.offerArchive()
	if err := u.offerTasks(); err != nil {
		s.log.Error("tasks cannot be offered to MCP clients", "error", err)
	}
	u.list()
	same := func(*http.Request) *mcp.Server { return u.sdk }
	// Host and Origin have been checked before, by the daemon's own rules.
	u.stateful = mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
		Logger: silent, MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: true,
	})
	u.stateless = mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
		Logger: silent, MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: true, Stateless: true, PropagateRequestCancellation: true,
	})
	return u
}

// self is what the server says of itself.
func (s *Server) self() *mcp.Implementation {
	return &mcp.Implementation{Name: "weir", Title: "weir", Version: s.cfg.Version}
}

// tools are where the user's calls go.
func (u *user) tools() *host.Session { return u.spoken.Load() }

// list offers the tools that there are now, in the language that the user has now.
// The SDK notifies clients that wait for changes.
func (u *user) list() {
	effects := map[string]plugin.Effect{}
	for _, t := range u.s.cfg.Host.Tools() {
		effects[t.Spec.Name] = t.Effect
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.spoken.Store(u.tools().In(u.locale()))
	specs := slices.DeleteFunc(append(u.tools().Tools(), u.s.cfg.Scripts.Specs(true)...), func(s tool.Spec) bool { return !u.offers(s.Name) })
	before := u.search != nil && u.searches(Client{})
	u.search = &search{tools: specs, ranks: map[string]int{}, short: map[string]bool{}, long: u.isLong(specs)}
	for _, spec := range u.searchList(specs) {
		u.search.short[spec.Name] = true
		if toolsearch.Is(spec.Name) {
			specs = append(specs, spec)
		}
	}
	if before != u.searches(Client{}) { // the SDK tells clients of what is added
		delete(u.listed, tool.FindTools)
	}
	now := map[string]listed{}
	for _, spec := range specs {
		if spec.Name == tool.LoadHistory {
			spec.Params = history.LoadOnce(u.locale())
		}
		t := toolOf(spec, effects[spec.Name], u.locale())
		beside := besideOf(spec)
		text, err := described(t, beside)
		if err != nil {
			u.s.log.Error("a tool cannot be described to MCP clients", "tool", spec.Name, "error", err)
			continue
		}
		if u.listed[spec.Name].text != string(text) {
			if err := u.add(t); err != nil {
				u.s.log.Error("a tool cannot be offered to MCP clients", "tool", spec.Name, "error", err)
				continue
			}
		}
		now[spec.Name] = listed{string(text), beside, strings.Contains(string(text), `"x-mcp-header"`), promiseOf(spec), spec.Name == tool.CallTool || u.s.cfg.Scripts.Has(spec.Name)}
	}
	for name := range u.listed {
		if _, ok := now[name]; !ok {
			u.sdk.RemoveTools(name)
		}
	}
	u.listed = now
}

// add hands a tool to the SDK, which panics at a schema that it does not take.
func (u *user) add(t *mcp.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	u.sdk.AddTool(t, u.call)
	return nil
}

// offers reports whether the operator lets clients see a tool.
func (s *Server) offers(name string) bool {
	return toolname.Seen(s.cfg.Allow, s.cfg.Deny, s.cfg.Host.Names(name))
}

// offers reports whether the user may see a tool.
func (u *user) offers(name string) bool {
	return u.s.offers(name) && (u.s.cfg.Sees == nil || u.s.cfg.Sees(u.principal, name))
}

// locale is the user's own language, or that of all.
func (u *user) locale() tool.Locale {
	if u.s.cfg.LocaleOf != nil {
		if l := u.s.cfg.LocaleOf(u.principal); l == tool.Zh {
			return l
		} else if l != "" {
			return tool.En
		}
	}
	return u.s.cfg.Locale
}

// plain reports whether a call can be made without the SDK.
func (u *user) plain(m message) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.listed[m.name]
	return u.lists(m.client, m.name) && !t.headers && !t.calls
}

// sizeKey tells clients how long a tool's results can be, in characters: some
// cut shorter what does not say so.
const sizeKey = "anthropic/maxResultSizeChars"

// toolOf describes a tool in the protocol's words.
func toolOf(s tool.Spec, effect plugin.Effect, l tool.Locale) *mcp.Tool {
	// What a tool can do is known where it runs in the sandbox; there its claim
	// adds nothing to having no powers at all.
	readOnly := s.Hints.ReadOnly || effect == plugin.EffectNone
	destructive, open := !readOnly, s.Hints.Network || effect == plugin.EffectNetwork
	out := &mcp.Tool{
		Name: s.Name, Description: s.Describe(l), InputSchema: schemaOf(s.Parameters(l)),
		Meta:        mcp.Meta{sizeKey: s.Output.MaxChars},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &destructive, IdempotentHint: s.Hints.Idempotent || readOnly, OpenWorldHint: &open},
	}
	if p := promiseOf(s); p.whole != nil {
		out.OutputSchema = p.whole
	}
	if r := s.Remote; r != nil {
		out.Title, out.Annotations.Title = r.Title, (&tool.Remote{Annotations: r.Annotations}).Name()
		var said map[string]any
		if json.Unmarshal(r.Meta, &said) == nil {
			delete(said, sizeKey) // the limit in force counts
			maps.Copy(out.Meta, said)
		}
		if r.Trusted { // see besideOf
			out.Annotations = nil
		}
	}
	return out
}

// besideOf returns what the server of a tool says of it that the SDK's Tool cannot hold, as
// members of JSON, each after a comma: its annotations hold false for what was not said.
func besideOf(s tool.Spec) string {
	r, out := s.Remote, ""
	if r == nil {
		return ""
	}
	add := func(name string, said json.RawMessage) {
		if len(said) > 0 {
			out += `,"` + name + `":` + string(said)
		}
	}
	if r.Trusted {
		add("annotations", r.Annotations)
	}
	add("execution", r.Execution)
	add("icons", r.Icons)
	return out
}

// described returns a tool on the wire.
func described(t *mcp.Tool, beside string) ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil || beside == "" {
		return text, err
	}
	return append(append(bytes.TrimSuffix(text, []byte("}")), beside...), '}'), nil
}

// A toolList is the SDK's list of tools, each as described returns it.
type toolList struct {
	*mcp.ListToolsResult
	tools []string
}

// MarshalJSON implements json.Marshaler.
func (l toolList) MarshalJSON() ([]byte, error) {
	rest := *l.ListToolsResult
	rest.Tools = nil
	text, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"tools":[`), strings.Join(l.tools, ",")...)
	out = append(out, ']')
	for name, value := range jsonscan.Members(string(text)) {
		if name != "tools" {
			out = append(append(jsonscan.AppendString(append(out, ','), name), ':'), value...)
		}
	}
	return append(out, '}'), nil
}

// schemaOf is a tool's schema, which the protocol wants to be an object's.
func schemaOf(params json.RawMessage) json.RawMessage {
	var head struct{ Type any }
	if json.Unmarshal(params, &head) == nil && head.Type == "object" {
		return params
	}
	return json.RawMessage(`{"type":"object"}`)
}

// watch sees what a client says of itself, and answers the list of archives,
// which is too long to be kept by the SDK.
func (u *user) watch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "resources/list" {
			p, _ := req.GetParams().(*mcp.ListResourcesParams)
			return u.archives(ctx, p)
		}
		if method == "tools/list" {
			u.s.settle(ctx)
		}
		client := u.s.clientOf(req)
		ctx = withClient(marked(ctx, req), client)
		call, ok := req.GetParams().(*mcp.CallToolParamsRaw)
		if ok {
			u.wrap(client, call)
			if fail := u.unlisted(client, call.Name); fail != nil {
				return nil, fail
			}
		}
		tasked := func(r mcp.Result) (mcp.Result, error) { return r, nil }
		if c, is := req.(*mcp.CallToolRequest); is && takesTasks(c.ProtocolVersion(), c.ClientCapabilities()) {
			ctx, tasked = u.leaving(ctx)
		}
		r, err := next(ctx, method, req)
		if ok && err == nil {
			return tasked(r)
		}
		if ok && u.offers(call.Name) {
			if fail := u.tools().Absent(call.Name); fail != nil { // the protocol's own error says nothing but that it is unknown
				return u.answer(client, tool.Result{Tool: call.Name, Err: fail}), nil
			}
		}
		ss, ok := req.GetSession().(*mcp.ServerSession)
		if err != nil || !ok {
			return r, err
		}
		switch method {
		case "tools/list":
			if l, ok := r.(*mcp.ListToolsResult); ok {
				if r, err = u.view(client, l); err != nil {
					return nil, err
				}
			}
		case "server/discover":
			if d, ok := r.(*mcp.DiscoverResult); ok && u.hasTasks() {
				d.Capabilities.AddExtension(tasksExtension, nil)
			}
		case "initialize":
			u.s.begun(u, ss, req, r)
		case "logging/setLevel":
			u.s.verbose(ss)
		}
		return r, err
	}
}

// unlisted is the error of a call of a tool that the SDK knows and the client does not; nil:
// the client knows it, or the SDK answers.
func (u *user) unlisted(c Client, name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.listed[name]; !ok || u.lists(c, name) {
		return nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

var _ mcp.Middleware = (*user)(nil).watch
