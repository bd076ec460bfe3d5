package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is one client that has introduced itself.
type session struct {
	user   *user
	sdk    *mcp.ServerSession
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	began  time.Time
	line   func([]byte) // writes a message to the other end of a stream; nil: it is no stream

	mu      sync.Mutex
	open    bool // it has been answered, and may call
	elicits bool // it can ask a person
	logs    bool // it has requested log messages
	batches bool // it may send several messages as one
	busy    int  // requests and streams of it that are open
	last    time.Time
	calls   map[string]*running // without the SDK, by the request's id
}

func (s *Server) newSession(u *user, sdk *mcp.ServerSession) *session {
	now := s.now()
	x := &session{user: u, sdk: sdk, began: now, last: now, calls: map[string]*running{}}
	x.ctx, x.cancel = context.WithCancel(s.ctx)
	return x
}

// begun takes note of a client that has introduced itself. One that came over
// HTTP has a session from now on.
func (s *Server) begun(u *user, sdk *mcp.ServerSession, req mcp.Request, r mcp.Result) {
	p, ok := req.GetParams().(*mcp.InitializeParams)
	if !ok {
		return
	}
	s.mu.Lock()
	x := s.streams[sdk]
	if x == nil && sdk.ID() != "" {
		x = s.newSession(u, sdk)
		if s.goesLocked(func() { s.outlive(x) }) {
			s.sessions[sdk.ID()] = x
		} else {
			go x.close()
		}
	}
	s.mu.Unlock()
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open, x.elicits = true, p.Capabilities != nil && p.Capabilities.Elicitation != nil
	if r, ok := r.(*mcp.InitializeResult); ok {
		x.batches = r.ProtocolVersion < batchless
	}
}

// outlive forgets a session when it has ended.
func (s *Server) outlive(x *session) {
	_ = x.sdk.Wait() // however it ended
	x.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, x.sdk.ID())
}

// of returns the session that the SDK calls so, nil: it has none, or has ended.
func (s *Server) of(sdk *mcp.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.streams[sdk], s.sessions[sdk.ID()])
}

// within returns a context that also ends with the session: the SDK does not cancel
// calls when a session closes, but waits for them.
func (s *Server) within(ctx context.Context, sdk *mcp.ServerSession) (context.Context, func()) {
	x := s.of(sdk)
	if x == nil {
		return ctx, func() {}
	}
	ctx, end := context.WithCancel(ctx)
	stop := context.AfterFunc(x.ctx, end)
	return ctx, func() { stop(); end() }
}

// verbose records that a client has requested log messages.
func (s *Server) verbose(sdk *mcp.ServerSession) {
	if x := s.of(sdk); x != nil {
		x.mu.Lock()
		x.logs = true
		x.mu.Unlock()
	}
}

// find returns a user's session over HTTP, nil: there is none. It is in use until done
// is called, from the moment on in which it is found: it could be ended for idleness.
func (s *Server) find(u *user, id string) (x *session, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil && x.user == u {
		return x, x.use(s.now)
	}
	return nil, nil
}

// Knows reports whether a principal has an open session over HTTP, which counts as used now.
func (s *Server) Knows(principal, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	if x == nil || x.user.principal != principal {
		return false
	}
	x.use(s.now)()
	return true
}

// room makes room for one more session of a user's; false: all are in use. made
// must be called when the session is there, or will not be.
func (s *Server) room(u *user) (made func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	all := func(*session) bool { return true }
	own := func(x *session) bool { return x.user == u }
	if !s.below(s.cfg.MaxUserSessions, u.making, own) || !s.below(s.cfg.MaxSessions, s.making, all) {
		return nil, false
	}
	s.making++
	u.making++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.making--
		u.making--
	}, true
}

// below makes room below a bound on those sessions, of which so many are being
// made; false: all are in use. s.mu is held.
func (s *Server) below(most, making int, those func(*session) bool) bool {
	if most <= 0 {
		return true
	}
	there := making
	for _, x := range s.sessions {
		if those(x) {
			there++
		}
	}
	for ; there >= most; there-- {
		x := s.idlest(those)
		if x == nil {
			return false
		}
		delete(s.sessions, x.sdk.ID())
		s.goesLocked(x.close)
	}
	return true
}

// inUse is how long a session counts as in use after its last request.
const inUse = time.Minute

// idlest returns the idle session whose last use is the longest ago; nil if all are
// in use. The caller holds s.mu.
func (s *Server) idlest(those func(*session) bool) *session {
	var found *session
	at := s.now().Add(-inUse)
	for _, x := range s.sessions {
		if !those(x) {
			continue
		}
		if last, idle := x.idle(); idle && last.Before(at) {
			found, at = x, last
		}
	}
	return found
}

// sweep ends unused sessions.
func (s *Server) sweep() {
	tick := time.NewTicker(max(s.cfg.Idle/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		s.EndIdle()
	}
}

// EndIdle ends the sessions over HTTP that have been idle for too long.
func (s *Server) EndIdle() {
	for _, x := range s.old() {
		x.close()
	}
}

// old removes and returns the sessions that have been idle for too long.
func (s *Server) old() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []*session
	for id, x := range s.sessions {
		if last, idle := x.idle(); idle && s.now().Sub(last) >= s.cfg.Idle {
			old = append(old, x)
			delete(s.sessions, id)
		}
	}
	return old
}

// use marks the session as used until the returned function is called.
func (x *session) use(now func() time.Time) func() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy++
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.busy--
		x.last = now()
	}
}

func (x *session) idle() (last time.Time, idle bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last, x.busy == 0
}

// close ends the session and its calls.
func (x *session) close() {
	x.cancel()
	_ = x.sdk.Close() // it is over, whatever the connection says
}

// takes reports whether a call can bypass the SDK: it sends no messages and asks no
// questions while it runs.
func (x *session) takes(m message) bool {
	x.mu.Lock()
	ready, elicits := x.open && !x.logs, x.elicits
	x.mu.Unlock()
	return ready && x.user.plain(m) && !(elicits && x.user.tools().MayAsk(m.name))
}

// A running is a call of a session without the SDK.
type running struct {
	session *session
	id      string          // the request's
	ctx     context.Context // ends with the session
	cancel  context.CancelFunc
}

// begin registers a call so the client can cancel it. end must be called after it.
func (x *session) begin(r *running, id string) {
	r.session, r.id = x, id
	r.ctx, r.cancel = context.WithCancel(x.ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls[id] = r
}

// end forgets a call that is over.
func (r *running) end() {
	r.cancel()
	x := r.session
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.calls[r.id] == r { // a client may have used the id again
		delete(x.calls, r.id)
	}
}

// stop ends a call that runs without the SDK; false: there is none.
func (x *session) stop(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, ok := x.calls[id]
	if ok {
		r.cancel()
	}
	return ok
}

// knows reports whether the SDK speaks a revision of the protocol that has
// sessions.
func knows(version string) bool {
	return version < stateless && slices.Contains(mcp.SupportedProtocolVersions(), version)
}

// stateless is the first revision of the protocol without sessions.
const stateless = "2026-07-28"

// batchless is the first revision of the protocol without batches.
const batchless = "2025-06-18"
