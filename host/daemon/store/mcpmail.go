package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

const (
	mailTime = time.Minute // how long a message waits for its daemon, which reads it at once
	maxMail  = 1000        // messages of a principal: clients may make up what they answer
	mcpMail  = "mcp-mail"  // the kind of the notice that there is a message
)

// Mail is a message of an MCP client, from one daemon to another.
type Mail struct {
	Sender, Target     string // names of daemons; an empty Target is all others
	Principal, Session string
	Body               []byte
}

// SendMail stores a message, unless there is no such session, or too many, and wakes its daemon.
func (s *Store) SendMail(ctx context.Context, m Mail) error {
	return wrap(ctx, "storing a message", s.db.Transact(ctx, func(tx *sql.Tx) error {
		var room bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM mcp_sessions WHERE id = ? AND principal = ?) AND (SELECT count(*) FROM mcp_mail WHERE principal = ?) < ?", m.Session, m.Principal, m.Principal, maxMail).Scan(&room); err != nil || !room {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO mcp_mail (sender, target, principal, session, created_at, body) VALUES (?, ?, ?, ?, "+clockSQL+", ?)", m.Sender, m.Target, m.Principal, m.Session, m.Body); err != nil {
			return err
		}
		return s.db.Notify(ctx, tx, mcpMail, m.Target)
	}))
}

// OnMail calls f with each message for a daemon, in order, until the database is closed.
func (s *Store) OnMail(ctx context.Context, self string, f func(Mail)) error {
	var mu sync.Mutex
	var read int64
	if err := s.db.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM mcp_mail").Scan(&read); err != nil {
		return wrap(ctx, "reading the messages", err)
	}
	ctx = context.WithoutCancel(ctx)
	receive := func() {
		mu.Lock()
		defer mu.Unlock()
		for range 25 { // the database may be away for a moment
			err := s.db.Each(ctx, "SELECT seq, sender, principal, session, body FROM mcp_mail WHERE seq > ? AND (target = ? OR target = '' AND sender <> ?) ORDER BY seq", []any{read, self, self}, func(row sqlite.Row) error {
				m := Mail{Target: self}
				err := row.Scan(&read, &m.Sender, &m.Principal, &m.Session, &m.Body)
				if err == nil {
					f(m)
				}
				return err
			})
			if err == nil || errors.Is(err, ErrClosed) {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	s.db.Wake(mcpMail, func(to string) {
		if to == "" || to == self {
			go receive()
		}
	})
	return nil
}
