package mcpclient

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/sdk/tool"
)

// Restart ends the connection and the program, connects again, and returns when the attempt
// has ended. Running calls fail, and say why. The error is that of ctx, or a
// *DownError if the server cannot be used.
func (s *Server) Restart(ctx context.Context) error {
	if len(s.cfg.Unset) > 0 {
		return &DownError{s.cfg.Name, s.Status().Why}
	}
	session, before, _ := s.now()
	attempts := 1
	if session != nil {
		attempts = 2 // the end of the connection counts as one
		s.again(session, tool.Textf("it is restarted by hand"))
	}
	for {
		session, tries, tried := s.now()
		switch {
		case tries-before >= attempts && session != nil:
			return nil
		case tries-before >= attempts:
			return &DownError{s.cfg.Name, s.Status().Why}
		}
		signal.One(s.retry) // asked for already
		if err := s.await(ctx, tried); err != nil {
			return err
		}
	}
}

// again ends a connection for a reason of ours; maintain connects again at once.
func (s *Server) again(session *mcp.ClientSession, why tool.Text) {
	s.mu.Lock()
	current := s.session == session && s.ending.IsZero()
	if current {
		s.ending = why
		s.cut()
	}
	running := s.running
	s.mu.Unlock()
	if current {
		signal.One(s.retry) // asked for already
		go func() {
			running.Wait() // the server is told that they are cancelled
			_ = session.Close()
		}()
	}
}

// whyEnded returns why a connection has ended: our reason if there is one.
func (s *Server) whyEnded(err error) error {
	s.mu.Lock()
	why := s.ending
	s.ending = tool.Text{}
	s.mu.Unlock()
	if !why.IsZero() {
		return &msg.Problem{Text: why}
	}
	return s.lost(err)
}

// A program that has lost what it works with, such as its own connection to a server, may
// answer each call with the same error for ever. These bound when it is restarted for that.
const (
	sameErrors = 3
	firstRest  = time.Minute // between two restarts without a success; it doubles
	longRest   = time.Hour
)

// A streak are errors of a program, each the same as the one before, without a success
// between. It is safe for concurrent use.
type streak struct {
	mu     sync.Mutex
	what   jsonrpc.Error
	n      int
	call   string // the first of them
	varied bool   // another call is among them: it is not that one alone that is wrong
	until  time.Time
	rest   time.Duration
}

// failed counts an error, and reports whether to restart the program.
func (k *streak) failed(err *jsonrpc.Error, call string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !ofTransport(err.Code) {
		return false
	}
	if err.Code != k.what.Code || err.Message != k.what.Message {
		k.what, k.n, k.call, k.varied = jsonrpc.Error{Code: err.Code, Message: err.Message}, 0, call, false
	}
	k.n++
	k.varied = k.varied || call != k.call
	if k.n < sameErrors || !k.varied || now.Before(k.until) {
		return false
	}
	k.rest = min(max(2*k.rest, firstRest), longRest)
	k.until, k.n, k.varied = now.Add(k.rest), 0, false
	return true
}

// answered ends the streak: the program works.
func (k *streak) answered() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n, k.varied, k.rest, k.until = 0, false, 0, time.Time{}
	k.what = jsonrpc.Error{}
}

// ofTransport reports whether a code may mean that a program cannot reach what it works with.
// The others are about the one call: its tool or its arguments.
func ofTransport(code int64) bool {
	return code == jsonrpc.CodeInternalError || code <= -32000 && code > -32100
}
