// Package upstream connects to other MCP servers, whose tools the host offers next to
// the plugins' tools. A Set holds the connections of the current settings; Replace
// exchanges them and keeps those of unchanged servers. A Server counts its calls, so
// that a server which the operator removes is closed after its last call. A Tool
// runs the calls of one of its tools, in place of a plugin's module.
package upstream

import (
	"cmp"
	"context"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/plugin"
)

// A Set holds the connections to the current servers. It is safe for concurrent use.
type Set struct {
	version string
	log     hclog.Logger
	current atomic.Pointer[[]*Server]
	changed chan struct{}
	closing sync.WaitGroup

	mu     sync.Mutex // held by Replace, and by Close before it waits
	closed bool
}

// NewSet returns a Set without servers. version is the host's, for the servers.
func NewSet(version string, log hclog.Logger) *Set {
	return &Set{version: version, log: log, changed: make(chan struct{}, 1)}
}

// Changed returns a channel that receives a value after the tools of a server have
// changed.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// Servers returns the current servers, in the order of the settings. The slice must
// not be modified.
func (s *Set) Servers() []*Server {
	if list := s.current.Load(); list != nil {
		return *list
	}
	return nil
}

// Replace connects to new and changed servers and keeps the connections of the
// others. The caller must call retire when no snapshot uses the removed servers any
// more; it disconnects them after their last call. A closed Set connects to none.
func (s *Set) Replace(wanted []plugin.Server) (retire func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return func() {}
	}
	old := s.Servers()
	var next []*Server
	for _, w := range wanted {
		i := slices.IndexFunc(old, func(o *Server) bool { return reflect.DeepEqual(o.Settings, w) })
		if i >= 0 {
			next, old = append(next, old[i]), slices.Delete(slices.Clone(old), i, i+1)
			continue
		}
		next = append(next, s.open(w))
	}
	s.current.Store(&next)
	return func() {
		for _, o := range old {
			o.retire()
		}
	}
}

// Wait waits until every server has answered or failed for the first time, or ctx
// ends. The tools of a server are unknown before.
func (s *Set) Wait(ctx context.Context) {
	for _, server := range s.Servers() {
		server.client.Wait(ctx)
	}
}

// Restart starts a server again and returns when it has answered or failed. The
// error is that of ctx, or an *mcpclient.DownError. ok is false if there is no such
// server.
func (s *Set) Restart(ctx context.Context, name string) (ok bool, err error) {
	for _, server := range s.Servers() {
		if server.Settings.Name == name {
			return true, server.client.Restart(ctx)
		}
	}
	return false, nil
}

// Close ends every connection and waits for that.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, server := range s.Servers() {
		server.retire()
	}
	s.closing.Wait()
}

func (s *Set) open(w plugin.Server) *Server {
	s.closing.Add(1)
	return &Server{Settings: w, Slots: sched.NewUnshared(parallel(w.Parallel)), closed: s.closing.Done, client: mcpclient.Open(mcpclient.Config{
		Name: w.Name, Command: w.Command, Args: w.Args, Env: w.Env, Dir: w.Dir, URL: w.URL, Headers: w.Headers,
		Variables: w.Variables, Unset: w.Unset, Start: w.Start, Version: s.version, Logger: s.log,
		Changed: func() {
			signal.One(s.changed) // a value is waiting already
		},
	})}
}

// parallel returns how many calls of a server run at the same time, by its setting.
func parallel(setting int) int {
	if setting < 0 {
		return sched.Unbounded
	}
	return cmp.Or(setting, DefaultParallel)
}

// A Server is a server with its connection. It is safe for concurrent use.
type Server struct {
	Settings plugin.Server // must not be modified
	// Slots bounds the calls that run at the same time. They take none of those of guests.
	Slots  *sched.Limiter
	client *mcpclient.Server
	closed func()

	mu      sync.Mutex
	calls   int
	retired bool
}

// Status returns what is known of the server and its tools.
func (s *Server) Status() mcpclient.Status { return s.client.Status() }

// Allows reports whether the operator allows a tool, by its name on the server.
func (s *Server) Allows(name string) bool {
	// path.Match treats a slash as a separator; the name of a tool is not a path.
	plain := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	match := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(plain(p), plain(name)); return ok && err == nil })
	}
	return !match(s.Settings.Deny) && (len(s.Settings.Allow) == 0 || match(s.Settings.Allow))
}

// acquire begins a call; false: the server is retired.
func (s *Server) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.calls++
	return true
}

// release ends n calls, and closes a retired server after its last one.
func (s *Server) release(n int) {
	s.mu.Lock()
	s.calls -= n
	last := s.retired && s.calls == 0
	s.mu.Unlock()
	if last {
		go func() {
			s.client.Close()
			s.closed()
		}()
	}
}

// retire refuses new calls and closes the connection after the last one.
func (s *Server) retire() {
	s.mu.Lock()
	again := s.retired
	s.retired = true
	s.mu.Unlock()
	if !again {
		s.release(0)
	}
}
