package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/script/journal"
)

// The errors of this package. ErrFull and ErrClosed are those of the archive.
var (
	// ErrNotFound is the error of an id that the principal does not have.
	ErrNotFound = errors.New("no such conversation")
	ErrFull     = sqlite.ErrFull
	ErrClosed   = sqlite.ErrClosed
)

//go:embed migrations
var migrations embed.FS

// Schema returns the tables of conversations and usage.
func Schema() sqlite.Schema { return sqlite.Embedded("conversations", migrations) }

// A Store holds conversations and usage. It is safe for concurrent use. Writes that
// come at the same time are synced to disk together; reads do not wait for them.
type Store struct {
	results *archive.SQLite
	db      *sqlite.DB

	insertConversation, touchConversation, updateConversation *sqlite.Statement
	renameConversation, deleteMessages                        *sqlite.Statement
	insertMessages                                            sqlite.Inserts
	insertCall, insertCalls                                   *sqlite.Statement
	insertTurn, insertTrace, deleteOldTraces                  *sqlite.Statement
	addDay, addCost, addFold, setRecent                       *sqlite.Statement
	admission, setRunning, endRunning, dropRunning            *sqlite.Statement
	deleteFingerprints, insertFingerprint                     *sqlite.Statement
	messages                                                  *sql.Stmt
	runs                                                      runStatements
	passed                                                    passedStatements

	traces    atomic.Int64  // that were stored
	approvals signal.Signal // of changes of their table, where it is shared
}

// Open returns a Store whose tables are in the file of an archive, and brings these
// tables up to date. results must be an *archive.SQLite; it must be closed after the
// last call of the Store, which itself needs no closing.
func Open(ctx context.Context, results archive.Store) (*Store, error) {
	a, ok := results.(*archive.SQLite)
	if !ok {
		return nil, msg.Errorf("conversations are stored in the file of the archive, and this archive has no file")
	}
	s := &Store{results: a, db: a.DB()}
	for _, tables := range []sqlite.Schema{Schema(), journal.Schema()} { // a conversation is deleted with its scripts
		if err := s.db.Migrate(ctx, tables); err != nil {
			return nil, err
		}
	}
	a.Also(s.PrunePassed)
	err := s.db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&s.insertConversation: `INSERT INTO conversations (id, principal, title, profile, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		&s.touchConversation: `UPDATE conversations SET updated_at = ? WHERE id = ? AND principal = ?
			RETURNING (SELECT coalesce(max(seq), 0) FROM messages WHERE conversation_id = conversations.id)`,
		&s.updateConversation: "UPDATE conversations SET updated_at = ? WHERE id = ? AND principal = ?",
		&s.renameConversation: "UPDATE conversations SET title = ? WHERE id = ? AND principal = ?",
		&s.deleteMessages:     "DELETE FROM messages WHERE conversation_id = ? AND seq >= ?",
		&s.insertCall:         insertCallSQL(),
		&s.insertCalls:        insertCallsSQL("?", callsPerStatement),
		&s.insertTurn: `INSERT INTO turns (conversation_id, turn, model, reason, created_at, duration_us, prompt_tokens, completion_tokens,
			cached_prompt_tokens, cache_write_tokens, cost, currency) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&s.insertTrace:     "INSERT INTO traces (conversation_id, turn, created_at, body) VALUES (?, ?, ?, ?)",
		&s.deleteOldTraces: "DELETE FROM traces WHERE id <= (SELECT max(id) FROM traces) - ?",
		&s.addDay: `INSERT INTO usage_days (principal, day, requests, refused, prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (principal, day) DO UPDATE SET requests = usage_days.requests + excluded.requests, refused = usage_days.refused + excluded.refused,
			prompt_tokens = usage_days.prompt_tokens + excluded.prompt_tokens, completion_tokens = usage_days.completion_tokens + excluded.completion_tokens`,
		&s.addCost: `INSERT INTO usage_costs (principal, day, currency, amount) VALUES (?, ?, ?, ?)
			ON CONFLICT (principal, day, currency) DO UPDATE SET amount = usage_costs.amount + excluded.amount`,
		&s.addFold:            addFoldSQL,
		&s.setRecent:          "INSERT INTO usage_recent (principal, times) VALUES (?, ?) ON CONFLICT (principal) DO UPDATE SET times = excluded.times",
		&s.deleteFingerprints: "DELETE FROM conversation_fingerprints WHERE conversation_id = ?",
		&s.insertFingerprint:  "INSERT INTO conversation_fingerprints (principal, fingerprint, conversation_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
	})
	if err == nil {
		s.insertMessages, err = s.db.PrepareInserts(ctx, "messages (conversation_id, seq, turn, role, model, created_at, content, thinking, body)", 9)
	}
	if err == nil && s.Shared() {
		s.db.Wake(approvalsKind, func(string) { s.approvals.Send() })
		err = s.prepareShared(ctx)
	}
	if err == nil {
		s.messages, err = s.db.PrepareRead(ctx, messagesSQL)
	}
	if err == nil {
		err = s.prepareRuns(ctx)
	}
	if err == nil {
		err = s.preparePassed(ctx)
	}
	return s, sqlite.Wrap(ctx, "opening the conversations", err)
}

// Ping returns an error if the database does not answer.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Key returns the key of the installation, which is in the same file, for the operator's token.
func (s *Store) Key(ctx context.Context, token string) (*installkey.Key, error) {
	return installkey.Open(ctx, s.db, token)
}

// Scripts returns the tables of scripts, which are in the same file. A nil now means
// time.Now.
func (s *Store) Scripts(ctx context.Context, now func() time.Time) (*journal.Journal, error) {
	j, err := journal.Open(ctx, s.db, now)
	if err == nil && s.Shared() {
		err = j.Share(ctx, "EXISTS (SELECT FROM daemons WHERE daemons.id = script_owners.owner AND NOT "+dead+")")
	}
	return j, err
}

// now returns the time, rounded to what a column stores.
func (s *Store) now() time.Time { return sqlite.Truncate(s.results.Now()) }

// wrap is sqlite.Wrap that leaves ErrNotFound as it is.
func wrap(ctx context.Context, doing string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound
	}
	return sqlite.Wrap(ctx, doing, err)
}
