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

	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/store"
)

// maxHello bounds the message with which an MCP client introduces itself, in bytes.
const maxHello = 64 << 10

// sharedSessions are the sessions of MCP clients that any of several daemons goes on with:
// one that does not know a session introduces the client to its own server, with the
// client's message and the session's id.
type sharedSessions struct {
	store *store.Store
	relay relay
	serve func(principal string, w http.ResponseWriter, r *http.Request) // the server's

	mu   sync.RWMutex // held while a session is made
	next string       // the id of the one that is made, empty: a new one
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	stateless     = "2026-07-28" // the first revision of the protocol without sessions
)

// newID returns the id of a session that is made. s.mu is held.
func (s *sharedSessions) newID() string {
	if s.next != "" {
		return s.next
	}
	return uuid.NewString()
}

// begin ends here what ends on another daemon, and receives what that hands on.
func (s *sharedSessions) begin(ctx context.Context) error {
	s.relay = relay{s.store, uuid.NewString()}
	s.store.OnMCPEnd(func(principal, id string) {
		go s.send(context.Background(), principal, http.MethodDelete, id, nil)
	})
	return s.store.OnMail(ctx, s.relay.self, func(m store.Mail) {
		s.send(context.Background(), m.Principal, http.MethodPost, m.Session, m.Body) // 404 where the session is not known
	})
}

// ServeHTTP answers a request of the revisions of the protocol that have sessions.
func (s *sharedSessions) ServeHTTP(principal string, w http.ResponseWriter, r *http.Request) error {
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
		if err := s.know(r.Context(), principal, id); err != nil {
			return err
		}
		return s.relayed(principal, id, w, r)
	}
	s.serve(principal, w, r)
	return nil
}

// relayed serves a message of a session that this daemon knows.
func (s *sharedSessions) relayed(principal, id string, w http.ResponseWriter, r *http.Request) error {
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
	s.serve(principal, &naming{w, &s.relay}, r)
	return nil
}

// introduce answers a message without a session. Before the client has the id of its new
// session, every daemon can know it.
func (s *sharedSessions) introduce(principal string, w http.ResponseWriter, r *http.Request) error {
	var hello bytes.Buffer
	_, _ = io.CopyN(&hello, r.Body, maxHello) // the server reads the rest, or the error
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(hello.Bytes()), r.Body))
	got := &recorded{header: http.Header{}}
	s.mu.RLock()
	s.serve(principal, got, r)
	s.mu.RUnlock()
	if id := got.header.Get(sessionHeader); id != "" && hello.Len() < maxHello {
		if err := s.store.PutMCPSession(r.Context(), principal, id, hello.Bytes()); err != nil {
			return err
		}
	}
	got.copyTo(w)
	return nil
}

// know makes the session of another daemon, unless this one has it.
func (s *sharedSessions) know(ctx context.Context, principal, id string) error {
	const ping, begun = `{"jsonrpc":"2.0","id":"known","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ctx = context.WithoutCancel(ctx)
	known := func() bool {
		return s.send(ctx, principal, http.MethodPost, id, []byte(ping)).code != http.StatusNotFound
	}
	if known() {
		return nil
	}
	hello, err := s.store.MCPSession(ctx, principal, id)
	if err != nil || hello == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known() { // by another request meanwhile
		return nil
	}
	s.next = id
	s.send(ctx, principal, http.MethodPost, "", hello)
	s.next = ""
	s.send(ctx, principal, http.MethodPost, id, []byte(begun))
	return nil
}

// send sends a message to the server of this daemon.
func (s *sharedSessions) send(ctx context.Context, principal, method, id string, body []byte) *recorded {
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
	s.serve(principal, got, r)
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
