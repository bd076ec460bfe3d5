package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// ErrTooLarge says that an answer was over the size the caller takes.
var ErrTooLarge = errors.New("the answer is too large")

// A Refusal is the server's own word against a call: an unknown tool, arguments
// it does not take, something it wants to ask first.
type Refusal struct{ Msg string }

func (r *Refusal) Error() string { return r.Msg }

// A DownError says that the server cannot be reached.
type DownError struct{ Server, Why string }

func (e *DownError) Error() string {
	return fmt.Sprintf("the MCP server %s cannot be reached: %s", e.Server, e.Why)
}

// An UnusableError says that the server's answer to a call is none that can be read.
// The log says why: who reads it names types of Go.
type UnusableError struct{ Server string }

func (e *UnusableError) Error() string {
	return fmt.Sprintf("the answer of the MCP server %s cannot be used", e.Server)
}

// Call runs a tool and returns the server's whole answer as the JSON of an MCP
// tool result, at most max bytes. progress is called while it runs, never at the same
// time as itself, and may be nil. The error is ctx's own, a *Refusal, a
// *DownError, an *UnusableError or ErrTooLarge. A call of a server that is down tries
// to reach it once more, at once.
func (s *Server) Call(ctx context.Context, name string, args json.RawMessage, max int, progress func(done, total int, msg string)) ([]byte, error) {
	session, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	p := &mcp.CallToolParams{Name: name, Arguments: args, Meta: traceOf(ctx)}
	if progress != nil {
		token := s.progress.add(progress)
		defer s.progress.drop(token)
		p.SetProgressToken(token)
	}
	r, err := session.CallTool(ctx, p)
	if err != nil {
		return nil, s.failure(ctx, session, err)
	}
	if r.NeedsInput() {
		return nil, &Refusal{Msg: "it wants to ask a person or a model something first, which is not passed on"}
	}
	answer, err := json.Marshal(r)
	switch {
	case err != nil:
		return nil, &Refusal{Msg: "its answer is not valid JSON"}
	case len(answer) > max:
		return nil, ErrTooLarge
	}
	return answer, nil
}

// traceOf is the trace that a call belongs to, as the protocol hands it on; nil:
// there is none.
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

// ready returns the session. Without one it has the keeper try at once, and
// waits for that try or the one that is under way.
func (s *Server) ready(ctx context.Context) (*mcp.ClientSession, error) {
	_, before, _ := s.now()
	for {
		session, tries, turned := s.now()
		switch {
		case session != nil:
			return session, nil
		case tries > before:
			return nil, &DownError{s.cfg.Name, s.Status().Why}
		}
		select {
		case s.kick <- struct{}{}:
		default: // asked for already
		}
		if err := s.await(ctx, turned); err != nil {
			return nil, err
		}
	}
}

// await returns when a try has ended.
func (s *Server) await(ctx context.Context, turned chan struct{}) error {
	select {
	case <-turned:
		return nil
	case <-s.done:
		return &DownError{s.cfg.Name, "it is being closed"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) now() (session *mcp.ClientSession, tries int, turned chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session, s.tries, s.turned
}

// failure tells the server's refusals from a broken connection, which is given up.
func (s *Server) failure(ctx context.Context, session *mcp.ClientSession, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wire *jsonrpc.Error
	refused := errors.As(err, &wire)
	switch {
	case broken(err):
		go func() { _ = session.Close() }() // the keeper connects anew
		return &DownError{s.cfg.Name, reason(err)}
	case refused && wire.Message == notTaken:
		return &DownError{s.cfg.Name, reason(err)}
	case refused:
		return &Refusal{Msg: short(wire.Message, 500)}
	}
	s.log.Warn("an answer of another server cannot be used", "server", s.cfg.Name, "error", reason(err))
	return &UnusableError{s.cfg.Name}
}

// notTaken is the SDK's message where a request came to nothing, by a status that
// passes for example, and its connection goes on.
const notTaken = "rejected by transport"

// broken reports whether a call's error is its connection's. One call whose answer
// cannot be read is no reason to end the others.
func broken(err error) bool {
	var web *url.Error
	var file *fs.PathError
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &web) || errors.As(err, &file)
}

// reason is an error in one line, without the address that was asked: it may hold
// a key.
func reason(err error) string {
	var web *url.Error
	if errors.As(err, &web) {
		err = web.Err
	}
	return short(err.Error(), 300)
}

// reports passes progress on to the calls that asked for it.
type reports struct {
	next atomic.Int64
	mu   sync.Mutex
	to   map[string]func(done, total int, msg string)
}

func (r *reports) add(f func(done, total int, msg string)) string {
	token := fmt.Sprintf("weir-%d", r.next.Add(1))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[string]func(done, total int, msg string){}
	}
	r.to[token] = f
	return token
}

func (r *reports) drop(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, token)
}

// handle runs under the lock, so that no report comes after drop.
func (r *reports) handle(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
	token, ok := n.Params.ProgressToken.(string)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.to[token]; f != nil {
		f(int(n.Params.Progress), int(n.Params.Total), short(n.Params.Message, 500))
	}
}
