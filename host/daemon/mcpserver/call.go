package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// call runs a tool for the SDK, which can tell the client how it gets on, and
// ask its person.
func (u *user) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, done := u.s.within(ctx, req.Session)
	defer done()
	session := u.tools()
	ask := asker{u: u, req: req}
	if token := req.Params.GetProgressToken(); token != nil {
		ask.progress = &reporter{send: func(p mcp.ProgressNotificationParams) {
			p.ProgressToken = token
			_ = req.Session.NotifyProgress(ctx, &p) // a client that has gone is noticed with the answer
		}}
		session = session.Reporting(ask.progress.report)
		defer ask.progress.begin(u.s.saysEvery, textsIn(u.locale()).runs)()
	}
	if ask.possible(ctx) {
		session = session.Asking(&ask)
	}
	r, err := u.run(ctx, session, clientIn(ctx), req.Params.Name, req.Params.Arguments, traceOf(req), &ask)
	if err != nil {
		return nil, err
	}
	if ask.wanted != nil {
		return &mcp.CallToolResult{InputRequests: ask.wanted}, nil
	}
	u.tell(ctx, req.Session, r)
	return u.answer(clientIn(ctx), r), nil
}

// run makes a call and says what came of it to whoever counts calls. ask may be nil.
func (u *user) run(ctx context.Context, session *host.Session, client Client, name string, args json.RawMessage, from Trace, ask *asker) (tool.Result, error) {
	if begin := u.s.cfg.Begin; begin != nil {
		end, err := begin(u.principal)
		if refused, ok := errors.AsType[*tool.Error](err); ok {
			return tool.Result{Tool: name, Err: refused}, nil
		}
		if err != nil {
			return tool.Result{Tool: name, Err: tool.Errorf(tool.Failed, "", "%s", err)}, nil
		}
		defer u.finally(ctx, end)
	}
	began, c := u.s.now(), tool.Call{ID: u.s.callID(), Tool: name, Args: args}
	c, answered := u.resolve(ctx, client, c)
	ctx, end := u.trace(ctx, c, from)
	var r tool.Result
	var err error
	switch {
	case answered != nil:
		r = *answered
	case u.s.cfg.Scripts.Has(c.Tool):
		r, err = u.script(ctx, session, c, ask)
	default:
		r, err = session.Call(ctx, c)
	}
	end(r, err)
	if err != nil || ask != nil && ask.wanted != nil { // it is going to be made again, with the answer
		return r, err
	}
	if f := u.s.cfg.Called; f != nil {
		f(Call{u.principal, u.conversation, r, began, u.s.now().Sub(began), u.rank(r.Tool), false})
	}
	return r, nil
}

// trace starts the trace of a call.
func (u *user) trace(ctx context.Context, c tool.Call, from Trace) (context.Context, func(tool.Result, error)) {
	if f := u.s.cfg.Trace; f != nil {
		if ctx, end := f(ctx, c, from); end != nil {
			return ctx, end
		}
	}
	return ctx, func(tool.Result, error) {}
}

// traceOf is the trace that a request brings, in its own words or else in those
// of the HTTP request that it came with.
func traceOf(req *mcp.CallToolRequest) Trace {
	var out Trace
	if req.Extra != nil && req.Extra.Header != nil {
		out = headerTrace(req.Extra.Header)
	}
	if parent, ok := req.Params.Meta[traceKey].(string); ok {
		state, _ := req.Params.Meta[stateKey].(string)
		out = Trace{parent, state}
	}
	return out
}

// The keys of a trace, in a request's _meta and in HTTP's headers.
const (
	traceKey = "traceparent"
	stateKey = "tracestate"
)

func headerTrace(h http.Header) Trace { return Trace{h.Get(traceKey), h.Get(stateKey)} }

// The keys of what a result tells programs, beside its text for the model.
const (
	errorKey   = "weir/error"   // a tool.Error
	archiveKey = "weir/archive" // the uuid of the archived whole
)

// answer puts a result into the protocol's form: the shown text with its notice,
// the parts that are not text, and for clients that show it a link to the whole where
// something of it is not shown.
func (u *user) answer(c Client, r tool.Result) *mcp.CallToolResult {
	structured, tooLong := u.structured(c, r)
	out := &mcp.CallToolResult{Content: u.contents(c, r, structured != nil), StructuredContent: structured}
	if tooLong {
		r.Err = u.tooLong(r)
		out.Content = append([]mcp.Content{&mcp.TextContent{Text: r.Err.Msg + "; " + r.Err.Hint}}, out.Content...)
	}
	if r.Err != nil {
		out.IsError = true
	}
	if !c.Bare {
		out.Meta = metaOf(r)
	}
	var said map[string]any
	if len(r.Meta) > 0 && json.Unmarshal(r.Meta, &said) == nil {
		maps.DeleteFunc(said, func(key string, _ any) bool { return strings.HasPrefix(key, protocolPrefix) })
		if maps.Copy(said, out.Meta); len(said) > 0 {
			out.Meta = said
		}
	}
	if r.Ref == nil {
		return out
	}
	if c.Links && r.Shown.Cut() {
		out.Content = append(out.Content, &mcp.ResourceLink{
			URI: archiveURI(r.Ref.UUID), Name: r.Tool, MIMEType: textType, Size: new(int64(len(r.Whole()))),
			Description: fmt.Sprintf(textsIn(u.locale()).whole, r.Tool, r.Shown.TotalChars, r.Shown.TotalLines),
		})
	}
	return out
}

// metaOf is what a result tells programs; nil: nothing.
func metaOf(r tool.Result) mcp.Meta {
	out := mcp.Meta{}
	if r.Err != nil {
		out[errorKey] = r.Err
	}
	if r.Ref != nil {
		out[archiveKey] = r.Ref.UUID
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// protocolPrefix begins the keys of _meta with which the two ends of a connection speak of
// themselves.
const protocolPrefix = "io.modelcontextprotocol/"

// tooLong is the failure of a call whose structured answer is not passed on.
func (u *user) tooLong(r tool.Result) *tool.Error {
	fail := tool.Errorf(tool.TooLarge, "raise structured_bytes below [mcp] in tools.toml, or ask for less at once",
		"the structured answer of %s has %d bytes and is not passed on; the maximum is %d", r.Tool, len(r.Structured), u.s.cfg.StructuredBytes)
	if r.Ref != nil {
		fail = tool.Errorf(tool.TooLarge, "ask for less at once, raise structured_bytes below [mcp] in tools.toml, or load a part with load_tool_history",
			"the structured answer of %s has %d bytes and is not passed on; the maximum is %d; it is archived as %s", r.Tool, len(r.Structured), u.s.cfg.StructuredBytes, r.Ref.UUID)
	}
	return msg.ToolError(u.locale(), fail)
}

// A reporter passes a tool's progress on to the client that asked for it. It is safe for
// concurrent use.
type reporter struct {
	send func(mcp.ProgressNotificationParams)

	mu    sync.Mutex // held while it sends: a client takes numbers that grow only
	last  float64
	begun bool
	what  string // what the call does
	said  bool   // the tool has said something since the last look
}

// report passes on what a tool says. The protocol wants numbers that grow: of a tool that does
// not know how much there is, each report counts as one more; of another, what does not grow
// is dropped.
func (p *reporter) report(h host.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := float64(h.Done)
	if p.begun && done <= p.last {
		if h.Total > 0 {
			return
		}
		done = p.last + 1
	}
	p.begun, p.last, p.said = true, done, true
	p.send(mcp.ProgressNotificationParams{Progress: done, Total: float64(h.Total), Message: h.Msg})
}

// saysEvery is how often a client that wants to know hears of its call: clients give up calls
// of which they hear nothing, most of them after a minute.
const saysEvery = 10 * time.Second

// aliveStep is by how much the number grows while the tool says nothing: so little that the
// tool's own numbers are larger afterwards.
const aliveStep = 1e-6

// begin says what the call does whenever nothing else was said of it for a time, until stop
// returns.
func (p *reporter) begin(every time.Duration, what string) (stop func()) {
	p.does(what)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.alive()
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// does sets what the call does, and returns what it did before.
func (p *reporter) does(what string) (before string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.what = p.what, what
	return before
}

// alive says what the call does, unless something was said since it was called last.
func (p *reporter) alive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said {
		p.said = false
		return
	}
	p.begun, p.last = true, p.last+aliveStep
	p.send(mcp.ProgressNotificationParams{Progress: p.last, Message: p.what})
}

// tell logs a result to a client that has asked for it.
func (u *user) tell(ctx context.Context, to *mcp.ServerSession, r tool.Result) {
	level := mcp.LoggingLevel("debug")
	switch {
	case r.Err != nil:
		level = "warning"
	case r.Shown.Cut():
		level = "info"
	}
	_ = to.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "weir", Data: limit.Line(r)}) // the answer matters more
}
