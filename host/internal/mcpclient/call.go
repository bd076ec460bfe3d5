package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/sdk/tool"
)

// A Refusal is a call that the server refuses in a way that it has no words for.
// What it says itself, as an error of the protocol, is an answer.
type Refusal struct {
	Msg  string
	data json.RawMessage // of an error of the protocol; nil: none
}

func (r *Refusal) Error() string { return r.Msg }

// answer returns a refusal in the server's words as a result, as those are that tell of an
// error there: models read it whole.
func (r *Refusal) answer(max int) ([]byte, error) {
	out := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: r.Msg}}}
	if len(r.data) > 0 && string(r.data) != "null" {
		out.Content = append(out.Content, &mcp.TextContent{Text: string(r.data)})
	}
	return marshal(out, max)
}

// A DownError reports that the server cannot be used now.
type DownError struct {
	Server string
	Why    tool.Text
}

func (e *DownError) Error() string { return e.MsgText().String() }

// MsgText returns the sentence.
func (e *DownError) MsgText() tool.Text {
	return tool.Textf("the MCP server %s is down: %v", e.Server, e.Why)
}

// An UnusableError reports an answer that cannot be decoded. The log has the
// details, which name Go types.
type UnusableError struct{ Server string }

func (e *UnusableError) Error() string { return e.MsgText().String() }

// MsgText returns the sentence.
func (e *UnusableError) MsgText() tool.Text {
	return tool.Textf("the answer of the MCP server %s cannot be used", e.Server)
}

// Call calls a tool and returns the server's whole answer as the JSON of an MCP
// tool result, cut off after max bytes. During the call it calls progress, never
// concurrently, unless nil; progress must not block. The error is that of ctx, a *Refusal, a *DownError, an
// *UnusableError, ErrManyValues, ErrDeep or ErrLong. If the server is down, Call first tries to connect
// once more.
func (s *Server) Call(ctx context.Context, name string, args json.RawMessage, max int, progress func(done, total int, msg string)) ([]byte, error) {
	session, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	p := &mcp.CallToolParams{Name: name, Arguments: args, Meta: traceOf(ctx)}
	if progress != nil {
		token, end := s.progress.add(progress)
		defer end()
		p.SetProgressToken(token)
	}
	ctx = withAnswer(ctx)
	life, calling, done := s.within(ctx, session)
	r, err := session.CallTool(calling, p)
	done()
	if err != nil && life.Err() != nil && ctx.Err() == nil {
		return nil, s.whyLost(ctx, session, err)
	}
	if err != nil {
		s.count(session, err, name, args)
		err = s.failure(ctx, session, err)
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			return refusal.answer(max)
		}
		return nil, err
	}
	s.streak.answered()
	if r.NeedsInput() {
		return nil, &Refusal{Msg: "it wants to ask a person or a model something first, which is not passed on"}
	}
	if raw := rawIn(r.StructuredContent); raw != nil {
		r.StructuredContent = raw
	}
	return marshal(r, max)
}

// marshal returns a result as JSON, cut off after max bytes.
func marshal(r *mcp.CallToolResult, max int) ([]byte, error) {
	answer, err := json.Marshal(r)
	if len(answer) > max {
		r.Meta = nil // what is cut off begins with the content
		answer, err = json.Marshal(r)
	}
	if err != nil {
		return nil, &Refusal{Msg: "its answer is not valid JSON"}
	}
	return answer[:min(len(answer), max)], nil
}

// within begins a call of a session. It returns the life of the session, a context that ends
// with ctx or with that life, and what to call after the call. A program that does not read its
// input keeps a call in a write, which heeds no context: it is ended.
func (s *Server) within(ctx context.Context, session *mcp.ClientSession) (life, calling context.Context, done func()) {
	calling, end := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != session || !s.ending.IsZero() { // it ends
		end()
		return calling, calling, end
	}
	running, program, returned := s.running, s.program, make(chan struct{})
	running.Add(1)
	stop := context.AfterFunc(s.life, end)
	over := context.AfterFunc(calling, func() {
		select {
		case <-returned:
		case <-time.After(endTime):
			if program != nil { // HTTP heeds the context
				s.again(session, tool.Textf("it does not read its input, and is restarted"))
				program.end()
			}
		}
	})
	return s.life, calling, func() { stop(); over(); close(returned); end(); running.Done() }
}

// count restarts a program whose errors are always the same.
func (s *Server) count(session *mcp.ClientSession, err error, name string, args json.RawMessage) {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || s.cfg.URL != "" || broken(err) || tooMuch(wire.Message, err) != nil || wire.Message == inPlace(errUnusable) {
		return
	}
	if s.streak.failed(wire, name+" "+string(args), time.Now()) {
		s.again(session, tool.Textf("it answers each call with the same error, and is restarted: %s", short(s.masked(wire.Message), 300)))
	}
}

// traceOf returns the trace context of a call in the form of the protocol, or nil.
func traceOf(ctx context.Context) mcp.Meta {
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, trace)
	if len(trace) == 0 {
		return nil
	}
	out := mcp.Meta{}
	for name, v := range trace {
		out[name] = v
	}
	return out
}

// ready returns the session. Without one it requests an attempt to connect and
// waits for that attempt, or for the current one.
func (s *Server) ready(ctx context.Context) (*mcp.ClientSession, error) {
	if len(s.cfg.Unset) > 0 {
		return nil, &DownError{s.cfg.Name, s.Status().Why}
	}
	_, before, _ := s.now()
	for {
		session, tries, tried := s.now()
		switch {
		case session != nil:
			return session, nil
		case tries > before:
			return nil, &DownError{s.cfg.Name, s.Status().Why}
		}
		signal.One(s.retry) // asked for already
		if err := s.await(ctx, tried); err != nil {
			return nil, err
		}
	}
}

// await returns after the current attempt to connect.
func (s *Server) await(ctx context.Context, tried chan struct{}) error {
	select {
	case <-tried:
		return nil
	case <-s.done:
		return &DownError{s.cfg.Name, tool.Textf("it is being closed")}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) now() (session *mcp.ClientSession, tries int, tried chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session, s.tries, s.tried
}

// failure converts the error of a call. It closes a broken connection.
func (s *Server) failure(ctx context.Context, session *mcp.ClientSession, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wire *jsonrpc.Error
	refused, said := errors.As(err, &wire), ""
	if refused {
		said = wire.Message
	}
	why := tooMuch(said, err)
	switch {
	case broken(err):
		go func() { _ = session.Close() }() // maintain connects again
		return s.whyLost(ctx, session, err)
	case why != nil:
		return why
	case said == inPlace(errUnusable): // logged when it was read
		return &UnusableError{s.cfg.Name}
	case said == notTaken:
		return &DownError{s.cfg.Name, webWhy(ctx, err)}
	case refused:
		return &Refusal{Msg: said, data: wire.Data}
	}
	s.log.Warn("an answer of another server cannot be used", "server", s.cfg.Name, "error", reason(err))
	return &UnusableError{s.cfg.Name}
}

// whyLost returns the error of a call whose connection has ended. How a program ended is known
// when it has.
func (s *Server) whyLost(ctx context.Context, session *mcp.ClientSession, err error) error {
	if s.cfg.URL != "" && !errors.Is(err, context.Canceled) {
		return &DownError{s.cfg.Name, webWhy(ctx, err)}
	}
	if current, _, tried := s.now(); current == session {
		if err := s.await(ctx, tried); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &DownError{s.cfg.Name, s.why}
}

// webWhy returns why a request over HTTP has failed.
func webWhy(ctx context.Context, err error) tool.Text {
	if web := webReason(err); web != nil {
		return web.Text
	}
	if refused := answerOf(ctx).problem(); refused != nil {
		return refused.Text
	}
	return tool.Textf("the connection has ended")
}

// notTaken is the SDK's message for a request that failed while the connection
// stays usable, for example with a temporary HTTP status.
const notTaken = "rejected by transport"

// broken reports whether a call failed because of its connection. An answer that
// cannot be decoded does not break the connection, which serves other calls.
func broken(err error) bool {
	var web *url.Error
	var file *fs.PathError
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &web) || errors.As(err, &file)
}

// reason returns an error on one line, without the URL, which may contain a key.
func reason(err error) string {
	if web, ok := errors.AsType[*url.Error](err); ok {
		err = web.Err
	}
	return short(err.Error(), 300)
}
