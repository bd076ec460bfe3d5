package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Notify is the statement that sends a text of at most 200 bytes to all who listen, when its
// transaction is committed.
const Notify = "SELECT pg_notify('weir ' || coalesce(current_schema(), ''), ?)"

const (
	quiet = 5 * time.Second // how long nothing may come before the server is asked
	again = time.Second     // between two attempts to connect
)

// Listen calls f with each text that is sent, on a connection of its own, until ctx ends.
// Texts are lost while there is no connection: f is called with "" at the beginning of each.
func (s *Server) Listen(ctx context.Context, f func(text string)) {
	for ctx.Err() == nil {
		_ = s.listen(ctx, f) // who waits for a text asks the database now and then as well
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

func (s *Server) listen(ctx context.Context, f func(text string)) error {
	c, err := pgx.ConnectConfig(ctx, s.cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), again)
		defer cancel()
		_ = c.Close(ctx) // it may be broken
	}()
	var schema string
	if err := c.QueryRow(ctx, "SELECT coalesce(current_schema(), '')").Scan(&schema); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{"weir " + schema}.Sanitize()); err != nil {
		return err
	}
	f("")
	for {
		wait, cancel := context.WithTimeout(ctx, quiet)
		n, err := c.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			f(n.Payload)
		case ctx.Err() != nil || c.IsClosed():
			return err
		default:
			ask, cancel := context.WithTimeout(ctx, answerTime)
			err := c.Ping(ask)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}
