package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/klauspost/compress/s2"

	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/limit"
)

const (
	insertTextSQL = `INSERT INTO result_texts (owner, digest, stored_at, stored_bytes, encoding, result_full, result_parts, result_raw)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	textIDSQL = "SELECT coalesce(max(id), 0) FROM result_texts WHERE owner = ? AND digest = ?"
	insertSQL = `INSERT INTO tool_result_archive (uuid, principal, conversation_id, thread_id, turn, call_id, tool_name,
	created_at, expires_at, result_sha256, result_length, result_lines, result_bytes, rules,
	text_id, query_summary, tool_input, result_summary, sources)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// identicalSQL selects the newest entries with the same text that may be identical to a
// new one. An index has them in this order, so its time does not grow with their number.
// Go compares the inputs that differ in their bytes, because the order of an object's
// members does not matter.
const identicalSQL = `SELECT uuid, nullif(tool_input, ?) FROM tool_result_archive
	WHERE text_id = (SELECT id FROM result_texts WHERE owner = ? AND digest = ?) AND conversation_id = ? AND thread_id = ? AND tool_name = ?
	AND expires_at IS NULL ORDER BY rowid DESC LIMIT 16`

const (
	// knownInputSQL selects an entry without its input, which the caller knows.
	knownInputSQL = "SELECT " + columnsBeforeInput + "NULL" + columnsAfterInput + " FROM tool_result_archive WHERE uuid = ? AND principal = ?"
	renewSQL      = "UPDATE tool_result_archive SET created_at = ? WHERE uuid = ? AND pruned_at IS NULL"
)

// renewAfter is the age from which PutOnce gives the entry that it returns the present
// time: retention would remove it earlier than an entry that is put now.
const renewAfter = time.Hour

// Put commits an entry and returns it completed: it fills in UUID, SHA256, the
// counts and Created, and Query, Summary and Sources where they are empty (nil). The
// row is synced to disk when Put returns; refer to it only then. The text is stored once
// for all entries of the principal with the same text, parts and raw bytes. An entry
// without principal or tool is an error. The error wraps ErrFull if the disk is full,
// read-only or failing.
func (s *SQLite) Put(ctx context.Context, e Entry) (Entry, error) {
	e, _, err := s.put(ctx, e, false)
	return e, err
}

// PutOnce is Put, unless the conversation and thread have an entry with the same tool,
// input, text and raw bytes: then it returns that entry as Find does, with again true.
// An entry with Parts or Expires is always put.
func (s *SQLite) PutOnce(ctx context.Context, e Entry) (_ Entry, again bool, err error) {
	return s.put(ctx, e, len(e.Parts) == 0 && e.Expires.IsZero())
}

// put commits an entry; if once is true, only if there is no identical one.
func (s *SQLite) put(ctx context.Context, e Entry, once bool) (_ Entry, again bool, err error) {
	const doing = "archiving a result"
	if e.Scope.Principal == "" || e.Tool == "" {
		return e, false, msg.Errorf("archiving a result: it needs a principal and a tool")
	}
	e, b, err := s.complete(e)
	if err != nil {
		return e, false, sqlite.Wrap(ctx, doing, err)
	}
	same := ""
	if once && !e.Later { // before the text is described; the transaction looks again
		same, err = identical(e, func() (*sql.Rows, error) { return s.findIdentical.QueryContext(ctx, identicalArgs(e, b)...) })
	}
	if err == nil && same == "" {
		if !e.Later {
			e = s.describe(e)
		}
		same, err = s.insert(ctx, e, b, once)
	}
	if err != nil || same == "" {
		return e, false, sqlite.Wrap(ctx, doing, err)
	}
	earlier, err := s.earlier(ctx, e, same)
	if err == ErrNotFound { // it was deleted in the meantime
		return s.put(ctx, e, false)
	}
	return earlier, err == nil, err
}

// insert commits an entry; if once is true, only if there is no identical one, whose id
// it returns.
func (s *SQLite) insert(ctx context.Context, e Entry, b body, once bool) (same string, err error) {
	full, encoding, size := s.storedText(e, b)
	summary, sources, err := descriptionColumns(e)
	if err != nil {
		return "", err
	}
	err = s.db.Commit(ctx, size, func(tx *sqlite.Batch) error {
		if once { // of two identical entries that are put at the same time, the second finds the first
			same, err = identical(e, func() (*sql.Rows, error) { return tx.Query(s.identicalTo, identicalArgs(e, b)...) })
			if err != nil || same != "" {
				return sqlite.Unchanged(err)
			}
		}
		id, err := tx.Int(s.textID, e.Scope.Principal, b.digest)
		if err == nil && id == 0 {
			id, err = tx.Int(s.insertText, e.Scope.Principal, b.digest, e.Created.UnixMilli(), size, encoding, full, b.parts, e.Raw)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(s.insertRow, e.UUID, e.Scope.Principal, e.Scope.Conversation, e.Thread, e.Turn, e.CallID, e.Tool,
			e.Created.UnixMilli(), sqlite.Millis(e.Expires), e.SHA256, e.Chars, e.Lines, e.Bytes, e.Rules,
			id, e.Query, string(e.Input), summary, sources)
		return err
	})
	return same, err
}

// minPackBytes is the length of the shortest text that storedText compresses: a page.
const minPackBytes = 4 << 10

// storedText returns the column result_full, its encoding, and the bytes of the row. The
// text of an entry that is described later is compressed at once: no reader waits for
// it, and writing its pages takes longer than compressing it.
func (s *SQLite) storedText(e Entry, b body) (full any, encoding, size int) {
	size = len(e.Full) + len(b.parts) + len(e.Raw)
	if e.Later && size == len(e.Full) && size >= minPackBytes {
		if z := s2.Encode(nil, bytesOf(e.Full)); len(z) < size*9/10 {
			return z, encodingS2, len(z)
		}
	}
	if s.db.InPostgres() { // its column has bytes
		return append([]byte{}, e.Full...), encodingPlain, size
	}
	return e.Full, encodingPlain, size
}

// identical returns the newest entry that is identical to e, of those that a query
// returns; empty if there is none.
func identical(e Entry, query func() (*sql.Rows, error)) (id string, err error) {
	rows, err := query()
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var other []byte // nil: the same bytes
		if err := rows.Scan(&id, &other); err != nil {
			return "", err
		}
		if other == nil || sameJSON(other, e.Input) {
			return id, nil
		}
	}
	return "", rows.Err()
}

// identicalArgs returns the arguments of identicalSQL.
func identicalArgs(e Entry, b body) []any {
	return []any{string(e.Input), e.Scope.Principal, b.digest, e.Scope.Conversation, e.Thread, e.Tool}
}

// earlier returns the entry that is identical to e, and renews it.
func (s *SQLite) earlier(ctx context.Context, e Entry, id string) (Entry, error) {
	const doing = "finding an archive"
	found, err := s.scanEntry(s.db.QueryRowContext(ctx, knownInputSQL, id, e.Scope.Principal))
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && found.Pruned:
		return Entry{}, ErrNotFound
	case err != nil:
		return Entry{}, sqlite.Wrap(ctx, doing, err)
	}
	if found.Input = e.Input; !e.Later {
		if found, err = s.withDescription(ctx, found); err != nil {
			return Entry{}, sqlite.Wrap(ctx, doing, err)
		}
	}
	if e.Created.Sub(found.Created) < renewAfter {
		return found, nil
	}
	found.Created = e.Created
	err = s.db.Commit(ctx, 0, func(tx *sqlite.Batch) error { return tx.ExecOne(s.renew, ErrNotFound, e.Created.UnixMilli(), id) })
	return found, wrapKnown(ctx, doing, err)
}

// A body is what the columns of result_texts hold beside the text and the raw bytes.
type body struct{ digest, parts []byte }

// complete fills in what Put promises, except summary and sources.
func (s *SQLite) complete(e Entry) (_ Entry, b body, err error) {
	id, err := uuid.NewV7() // ordered by time: its index grows at one end
	if err != nil {
		return e, b, err
	}
	if len(e.Parts) > 0 {
		if b.parts, err = json.Marshal(e.Parts); err != nil {
			return e, b, err
		}
	}
	sum := digest(e.Full)
	b.digest = sum
	if b.parts != nil || e.Raw != nil {
		h := sha256.New()
		fmt.Fprintf(h, "%x %d ", sum, len(b.parts)) // a hash does not fail
		h.Write(b.parts)
		h.Write(e.Raw)
		b.digest = h.Sum(nil)
	}
	e.UUID, e.SHA256 = id.String(), hex.EncodeToString(sum)
	e.Chars, e.Lines = limit.Count(e.Full)
	e.Bytes = len(e.Full)
	e.Created, e.Expires = sqlite.Truncate(s.now()), sqlite.Truncate(e.Expires)
	e.LastLoad, e.Loads, e.Pruned = time.Time{}, 0, false
	e.Input = storedInput(e.Input)
	if e.Query == "" {
		e.Query = describe.Query(e.Tool, e.Input)
	}
	e.Query = snippet.Clip(e.Query, describe.MaxQuery)
	e.Later = e.Later && (e.Summary == "" || e.Sources == nil)
	return e, b, nil
}

// digest returns the SHA-256 of a text.
func digest(text string) []byte {
	sum := sha256.Sum256(bytesOf(text))
	return sum[:]
}

// bytesOf returns the bytes of a text, which must not be modified. It does not copy them:
// a text may have 50 MiB.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
