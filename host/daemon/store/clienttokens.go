package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// A ClientToken is a token that was made for a client program. Digest and Owner are digests,
// in hexadecimal: of the token, and of the principal's token that made it.
type ClientToken struct {
	Digest, Owner string
	Principal     string
	Client        string
	Created       time.Time
}

const clientTokenColumns = "digest, owner, principal, client, created_at"

// ClientToken returns the token with the digest; false: there is none.
func (s *Store) ClientToken(ctx context.Context, digest string) (t ClientToken, ok bool, err error) {
	t, err = scanClientToken(s.db.QueryRowContext(ctx, "SELECT "+clientTokenColumns+" FROM client_tokens WHERE digest = ?", digest))
	if errors.Is(err, sql.ErrNoRows) {
		return ClientToken{}, false, nil
	}
	return t, err == nil, wrap(ctx, "reading the tokens of clients", err)
}

// ClientTokens returns the tokens of a principal that a token with the digest owner made, the
// oldest first.
func (s *Store) ClientTokens(ctx context.Context, principal, owner string) (list []ClientToken, err error) {
	err = s.db.Each(ctx, "SELECT "+clientTokenColumns+" FROM client_tokens WHERE principal = ? AND owner = ? ORDER BY created_at, digest", []any{principal, owner}, func(row sqlite.Row) error {
		t, err := scanClientToken(row)
		list = append(list, t)
		return err
	})
	return list, wrap(ctx, "reading the tokens of clients", err)
}

// PutClientToken stores a new token, and deletes those of the principal that other tokens
// made, by which nobody gets in any more.
func (s *Store) PutClientToken(ctx context.Context, t ClientToken) error {
	return wrap(ctx, "storing the token of a client", s.db.Transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM client_tokens WHERE principal = ? AND owner <> ?", t.Principal, t.Owner); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO client_tokens ("+clientTokenColumns+") VALUES (?, ?, ?, ?, ?)", t.Digest, t.Owner, t.Principal, t.Client, t.Created.UnixMilli())
		return err
	}))
}

// DeleteClientTokens deletes tokens by their digests, and tells all daemons.
func (s *Store) DeleteClientTokens(ctx context.Context, digests ...string) error {
	return wrap(ctx, "deleting the tokens of clients", s.db.Transact(ctx, func(tx *sql.Tx) error {
		for _, d := range digests {
			if _, err := tx.ExecContext(ctx, "DELETE FROM client_tokens WHERE digest = ?", d); err != nil {
				return err
			}
		}
		return s.db.Notify(ctx, tx, clientTokensKind, "")
	}))
}

const clientTokensKind = "client-tokens" // of the notices that some were deleted

// OnClientTokens calls f when a daemon has deleted tokens of clients.
func (s *Store) OnClientTokens(f func()) { s.db.Wake(clientTokensKind, func(string) { f() }) }

func scanClientToken(row sqlite.Row) (t ClientToken, err error) {
	var created sql.NullInt64
	err = row.Scan(&t.Digest, &t.Owner, &t.Principal, &t.Client, &created)
	t.Created = sqlite.Time(created)
	return t, err
}
