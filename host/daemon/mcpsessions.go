package daemon

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
)

// maxHello bounds the message with which an MCP client introduces itself, in bytes.
const maxHello = 64 << 10

// storedSessions are the sessions of MCP clients over HTTP, with which a daemon goes on after a
// restart, after its server has ended one that was idle, and in place of another daemon: where
// the server does not know a session, they introduce the client to it again, with the client's
// message and the session's id.
type storedSessions struct {
	store  *store.Store
	relay  *relay // nil: there are no other daemons
	server *mcpserver.Server

	mu   sync.RWMutex // held while a session is made
	next string       // the id of the one that is made, empty: a new one
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	stateless     = "2026-07-28" // the first revision of the protocol without sessions
)

// newID returns the id of a session that is made. s.mu is held.
func (s *storedSessions) newID() string {
	if s.next != "" {
		return s.next
	}
	return uuid.NewString()
}

// begin ends here what ends on another daemon, and receives what that hands on, if there are
// other daemons.
func (s *storedSessions) begin(ctx context.Context) error {
	if !s.store.Shared() {
		return nil
	}
	s.relay = &relay{s.store, uuid.NewString()}
	s.store.OnMCPEnd(func(principal, id string) {
		go s.send(context.Background(), principal, http.MethodDelete, id, nil)
	})
	return s.store.OnMail(ctx, s.relay.self, func(m store.Mail) {
		s.send(context.Background(), m.Principal, http.MethodPost, m.Session, m.Body) // 404 where the session is not known
	})
}

// ServeHTTP answers a request of the revisions of the protocol that have sessions.
func (s *storedSessions) ServeHTTP(principal string, w http.ResponseWriter, r *http.Request) error {
	id := r.Header.Get(sessionHeader)
	switch {
	case id == "" && r.Method == http.MethodPost:
		return s.introduce(principal, w, r)
	case id == "":
	case r.Method == http.MethodDelete: // here first: the notice comes to this daemon, too
		got := s.send(r.Context(), principal, r.Method, id, nil)
		ended, err := s.store.EndMCPSession(r.Context(), principal, id)
		if ended {
			got = &recorded{code: http.StatusNoContent}
		}
		if err == nil {
			got.copyTo(w)
		}
		return err
	default:
		refused, err := s.know(r, principal, id)
		if err != nil {
			return err
		}
		if refused != nil {
			refused.copyTo(w)
			return nil
		}
		if s.relay != nil {
			return s.relayed(principal, id, w, r)
		}
	}
	s.server.ServeHTTP(principal, w, r)
	return nil
}

// relayed serves a message of a session that this daemon knows.
func (s *storedSessions) relayed(principal, id string, w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost {
		var body bytes.Buffer
		_, _ = io.CopyN(&body, r.Body, mcpserver.MaxMessage) // the server reads the rest, or the error
		b := body.Bytes()
		if len(b) < mcpserver.MaxMessage {
			var err error
			if b, err = s.relay.receive(r.Context(), principal, id, b); err != nil {
				return err
			}
			if b == nil {
				w.WriteHeader(http.StatusAccepted)
				return nil
			}
		}
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(b), r.Body)), -1
	}
	s.server.ServeHTTP(principal, &naming{w, s.relay}, r)
	return nil
}

// introduce answers a message without a session. The session is stored before the client has
// its id.
func (s *storedSessions) introduce(principal string, w http.ResponseWriter, r *http.Request) error {
	var hello bytes.Buffer
	_, _ = io.CopyN(&hello, r.Body, maxHello) // the server reads the rest, or the error
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(hello.Bytes()), r.Body))
	got := &recorded{header: http.Header{}}
	s.mu.RLock()
	s.server.ServeHTTP(principal, got, r)
	s.mu.RUnlock()
	if id := got.header.Get(sessionHeader); id != "" && hello.Len() < maxHello {
		if err := s.store.PutMCPSession(r.Context(), store.MCPSession{ID: id, Principal: principal, Token: access.TokenDigest(r), Hello: hello.Bytes()}); err != nil {
			return err
		}
	}
	got.copyTo(w)
	return nil
}

// know makes the session that a request is for, unless the server has it. refused is the
// server's answer if it takes no more sessions.
func (s *storedSessions) know(r *http.Request, principal, id string) (refused *recorded, err error) {
	const begun = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if s.server.Knows(principal, id) {
		return nil, nil
	}
	ctx := context.WithoutCancel(r.Context())
	hello, err := s.store.TakeMCPSession(ctx, principal, id, access.TokenDigest(r))
	if err != nil || hello == nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server.Knows(principal, id) { // by another request meanwhile
		return nil, nil
	}
	s.next = id
	got := s.send(ctx, principal, http.MethodPost, "", hello)
	s.next = ""
	if got.code >= http.StatusBadRequest {
		return got, nil
	}
	s.send(ctx, principal, http.MethodPost, id, []byte(begun))
	return nil, nil
}

// revoke ends the sessions of tokens that do not hold any more.
func (s *storedSessions) revoke(ctx context.Context, current *setup.Current) error {
	ended, err := s.store.RevokeMCPSessions(ctx, func(principal, token string) bool {
		own, ok := current.TokenDigest(principal)
		return ok && own == token
	})
	for _, one := range ended {
		s.send(ctx, one.Principal, http.MethodDelete, one.ID, nil)
	}
	return err
}

// send sends a message to the server of this daemon.
func (s *storedSessions) send(ctx context.Context, principal, method, id string, body []byte) *recorded {
	got := &recorded{header: http.Header{}}
	r, err := http.NewRequestWithContext(ctx, method, "/mcp", bytes.NewReader(body))
	if err != nil { // the method is constant
		return got
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		r.Header.Set(sessionHeader, id)
	}
	s.server.ServeHTTP(principal, got, r)
	return got
}

// recorded is a response that is not sent yet.
type recorded struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorded) Flush()                      {}
func (r *recorded) WriteHeader(code int) {
	r.code = cmp.Or(r.code, code)
}

func (r *recorded) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	if r.code != 0 {
		w.WriteHeader(r.code)
	}
	_, _ = w.Write(r.body.Bytes()) // the client is gone if this fails
}
