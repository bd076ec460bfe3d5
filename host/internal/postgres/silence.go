package postgres

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A server finds out whether the database still answers. A statement may be long, so the
// time it takes says nothing; but when nothing has come for a while, another connection
// is asked whether there is a server, and whether it works on the statement.
type server struct {
	cfg *pgx.ConnConfig
	// silence is how long nothing may come before the server is asked.
	silence time.Duration
	// lost counts how often the server did not answer: older connections end then.
	lost atomic.Int64
}

// dial opens a connection that is watched.
func (s *server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := s.cfg.DialFunc(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: c, server: s, lost: s.lost.Load()}, nil
}

// busy reports whether the server works on the statement of a process of its own.
func (s *server) busy(process int64) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.silence)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, s.cfg)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == tooMany {
		return true, nil // it answers, and has no connection to spare
	}
	if err != nil {
		return false, err
	}
	defer c.Close(ctx)
	var busy bool
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state IN ('active', 'fastpath function call'))", pgx.QueryExecModeExec, process).Scan(&busy)
	return busy, err
}

// A watched connection ends when the server does not answer any more.
type watched struct {
	net.Conn
	server *server
	lost   int64
	// process is the server's, 0 while connecting: no answer to that takes long.
	process atomic.Int64
	writing atomic.Bool

	mu    sync.Mutex // guards until, and orders the deadlines
	until time.Time
}

// Write implements net.Conn.
func (w *watched) Write(b []byte) (int, error) {
	if w.lost != w.server.lost.Load() {
		w.Conn.Close()
	}
	w.writing.Store(true)
	defer w.writing.Store(false)
	return w.Conn.Write(b)
}

// Read implements net.Conn. It is called only while an answer is expected.
func (w *watched) Read(b []byte) (int, error) {
	for idle := 0; ; {
		if err := w.arm(); err != nil {
			return 0, err
		}
		n, err := w.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || w.ended() {
			return n, err
		}
		process := w.process.Load()
		if process == 0 {
			return 0, err
		}
		busy, err := w.server.busy(process)
		if busy || w.writing.Load() && err == nil {
			idle = 0
			continue
		}
		// What the server has answered may be on its way: it is asked twice.
		if idle++; err != nil || idle > 1 {
			w.server.lost.CompareAndSwap(w.lost, w.lost+1)
			w.Conn.Close() // which ends a Write too
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// arm sets the deadline of one Read: the caller's, or the next question to the server.
func (w *watched) arm() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := time.Now().Add(w.server.silence)
	if !w.until.IsZero() && w.until.Before(next) {
		next = w.until
	}
	return w.Conn.SetReadDeadline(next)
}

// ended reports whether the caller's deadline has passed.
func (w *watched) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.until.IsZero() && !time.Now().Before(w.until)
}

// SetDeadline implements net.Conn.
func (w *watched) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	return w.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (w *watched) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	return w.Conn.SetReadDeadline(t)
}
