package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

const insertSQL = `INSERT INTO tool_result_archive (uuid, principal, conversation_id, thread_id, turn, call_id, tool_name,
	created_at, expires_at, result_sha256, result_length, result_lines, result_bytes, stored_bytes, rules,
	query_summary, tool_input, result_summary, sources, result_full, result_parts, result_raw)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// identicalSQL selects the entries that may be identical to a new one. Go compares
// the inputs that differ in their bytes, because the order of an object's members
// does not matter. Without the name of the index SQLite prefers one that is already
// in the requested order, and walks through the whole conversation.
const identicalSQL = `SELECT uuid, CASE thread_id WHEN ? THEN conversation_id ELSE '' END, nullif(tool_input, ?) FROM tool_result_archive INDEXED BY tool_result_archive_sha256
	WHERE result_sha256 = ? AND principal = ? AND (conversation_id = ? OR ?) AND tool_name = ?
	AND pruned_at IS NULL AND coalesce(expires_at > ?, 1) ORDER BY thread_id = ? DESC, created_at DESC, uuid DESC LIMIT 16`

// knownInputSQL is findSQL without the input, which the caller knows.
const knownInputSQL = "SELECT " + columnsBeforeInput + "NULL" + columnsAfterInput + " FROM tool_result_archive WHERE uuid = ? AND principal = ?"

// Put commits an entry and returns it completed: it fills in UUID, SHA256, the
// counts and Created, and Query, Summary and Sources where they are empty (nil). The
// row is synced to disk when Put returns; refer to it only then. An entry without
// principal or tool is an error. The error wraps ErrFull if the disk is full,
// read-only or failing.
func (s *SQLite) Put(ctx context.Context, e Entry) (Entry, error) {
	return s.put(ctx, e, false)
}

// PutOnce is Put, unless SameAs would name an entry of exactly the same Scope and Thread: then
// it writes nothing and returns that entry as Find does, with again true. An entry
// with parts, or with a Scope that is Everywhere, is always put.
func (s *SQLite) PutOnce(ctx context.Context, e Entry) (_ Entry, again bool, err error) {
	done, err := s.put(ctx, e, len(e.Parts) == 0 && !e.Scope.Everywhere)
	if err != nil || done.UUID != "" {
		return done, false, err
	}
	earlier, err := s.scanEntry(s.db.QueryRowContext(ctx, knownInputSQL, done.SameAs, e.Scope.Principal))
	if err == nil && !earlier.Pruned {
		earlier.Input = done.Input
		return earlier, true, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return e, false, sqlite.Wrap(ctx, "finding an archive", err)
	}
	done, err = s.put(ctx, e, false) // the earlier entry was deleted in the meantime
	return done, false, err
}

// put commits an entry. If once is true and the scope has an identical entry, put
// writes nothing and returns an entry without UUID.
func (s *SQLite) put(ctx context.Context, e Entry, once bool) (Entry, error) {
	const doing = "archiving a result"
	if e.Scope.Principal == "" || e.Tool == "" {
		return e, msg.Errorf("archiving a result: it needs a principal and a tool")
	}
	// The description takes as long as the rest of the preparation, so it runs
	// concurrently.
	given, about := e, description{}
	var describing sync.WaitGroup
	describing.Go(func() { about = s.describe(given) })
	defer describing.Wait()
	e, err := s.complete(e)
	if err != nil {
		return e, sqlite.Wrap(ctx, doing, err)
	}
	var parts []byte
	if len(e.Parts) > 0 {
		if parts, err = json.Marshal(e.Parts); err != nil {
			return e, sqlite.Wrap(ctx, doing, err)
		}
	}
	describing.Wait()
	if about.err != nil {
		return e, sqlite.Wrap(ctx, doing, about.err)
	}
	e.Summary, e.Sources = about.summary, about.sources
	// The search is in the transaction of the insert: of two identical entries that
	// are put at the same time, the second finds the first.
	e.SameAs = ""
	size := len(e.Full) + len(parts) + len(e.Raw)
	done := e
	err = s.db.Commit(ctx, size, func(b *sqlite.Batch) error {
		var conversation string
		if done.SameAs, conversation, err = s.identical(b, e); err != nil {
			return err
		}
		if done.UUID = e.UUID; once && done.SameAs != "" && conversation == e.Scope.Conversation {
			done.UUID = ""
			return sqlite.Unchanged(nil)
		}
		_, err := b.Exec(s.insert, e.UUID, e.Scope.Principal, e.Scope.Conversation, e.Thread, e.Turn, e.CallID, e.Tool,
			e.Created.UnixMilli(), sqlite.Millis(e.Expires), e.SHA256, e.Chars, e.Lines, e.Bytes, size, e.Rules,
			e.Query, string(e.Input), e.Summary, about.column, e.Full, parts, e.Raw)
		return err
	})
	return done, sqlite.Wrap(ctx, doing, err)
}

// complete fills in what Put promises, except summary and sources.
func (s *SQLite) complete(e Entry) (Entry, error) {
	id, err := uuid.NewV7() // ordered by time: its index grows at one end
	if err != nil {
		return e, err
	}
	e.UUID, e.SHA256 = id.String(), digest(e.Full)
	e.Chars, e.Lines = limit.Count(e.Full)
	e.Bytes = len(e.Full)
	e.Created, e.Expires = sqlite.Truncate(s.now()), sqlite.Truncate(e.Expires)
	e.LastLoad, e.Loads, e.Pruned, e.SameAs = time.Time{}, 0, false, ""
	e.Input = storedInput(e.Input)
	if e.Query == "" {
		e.Query = describe.Query(e.Tool, e.Input)
	}
	e.Query = snippet.Clip(e.Query, describe.MaxQuery)
	return e, nil
}

// digest returns the SHA-256 of a text in hexadecimal. It does not copy the text.
func digest(text string) string {
	sum := sha256.New()
	_, _ = io.Copy(sum, struct{ io.Reader }{strings.NewReader(text)}) // neither fails
	return hex.EncodeToString(sum.Sum(nil))
}

// A description is what a placeholder shows of a text.
type description struct {
	summary string
	sources []tool.Source
	column  string // sources as JSON
	err     error
}

// describe returns the caller's summary and sources, and finds those that are missing.
func (s *SQLite) describe(e Entry) description {
	d := description{summary: e.Summary, sources: e.Sources, column: "[]"}
	if d.summary == "" && s.cfg().SummaryChars > 0 {
		d.summary = describe.Summarize(e.Full, s.cfg().SummaryChars)
	}
	if d.sources == nil {
		d.sources = describe.Sources(e.Full)
	}
	if len(d.sources) == 0 {
		d.sources = nil // as a reader will receive it
		return d
	}
	column, err := json.Marshal(d.sources)
	d.column, d.err = string(column), err
	return d
}

// identical returns the newest entry of e's scope with the same call and the same
// text, and its conversation; empty if there is none.
func (s *SQLite) identical(b *sqlite.Batch, e Entry) (id, conversation string, err error) {
	rows, err := b.Query(s.identicalTo, e.Thread, string(e.Input), e.SHA256, e.Scope.Principal, e.Scope.Conversation, s.cfg().UserScope, e.Tool, e.Created.UnixMilli(), e.Thread)
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	for rows.Next() {
		var other []byte // nil: the same bytes
		if err := rows.Scan(&id, &conversation, &other); err != nil {
			return "", "", err
		}
		if other == nil || sameJSON(other, e.Input) {
			return id, conversation, nil
		}
	}
	return "", "", rows.Err()
}
