package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// entryColumns are the columns that scanEntry reads, without the long ones.
const (
	entryColumns       = columnsBeforeInput + "tool_input" + columnsAfterInput
	columnsBeforeInput = `uuid, principal, conversation_id, thread_id, turn, call_id, tool_name, created_at, expires_at,
	last_loaded_at, load_count, pruned_at, result_sha256, result_length, result_lines, result_bytes, rules,
	query_summary, `
	columnsAfterInput = `, result_summary, sources`
)

const (
	// withTexts joins the texts; a pruned entry has none.
	withTexts = " FROM tool_result_archive LEFT JOIN result_texts ON id = text_id "
	getSQL    = "SELECT " + entryColumns + ", coalesce(encoding, 0), result_full, result_parts" + withTexts + `
	WHERE uuid = ? AND principal = ? AND (conversation_id = ? OR ?)`
	dropSQL = "DELETE FROM tool_result_archive WHERE uuid = ? AND principal = ? AND (conversation_id = ? OR ?)"
)

// Get returns an entry with its text and parts; Raw stays nil, see SQLite.Raw. An id
// that is unknown or another principal's is ErrNotFound. A pruned entry is
// ErrExpired, returned together with the rest of the entry, its tool and input
// among it. Get does not count a load.
func (s *SQLite) Get(ctx context.Context, sc Scope, uuid string) (Entry, error) {
	const doing = "reading an archive"
	t := textColumn{buffers: &s.buffers}
	var parts []byte
	row := s.get.QueryRowContext(ctx, uuid, sc.Principal, sc.Conversation, s.cfg().UserScope || sc.Everywhere)
	e, err := s.scanEntry(row, &t.encoding, &t, &parts)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, sqlite.Wrap(ctx, doing, err)
	}
	if e.Pruned {
		return e, ErrExpired
	}
	if t.err != nil {
		return Entry{}, damaged(ctx, doing, t.err)
	}
	e.Full = t.text
	if parts, err = decode(t.encoding, parts); err == nil && len(parts) > 0 {
		err = json.Unmarshal(parts, &e.Parts)
	}
	if err != nil {
		return Entry{}, damaged(ctx, doing, err)
	}
	if e.Later {
		full := e.Full
		e = s.described(ctx, e, full)
		e.Full = full
	}
	return e, nil
}

// damaged returns the error of a row whose content cannot be decoded.
func damaged(ctx context.Context, doing string, err error) error {
	return sqlite.Wrap(ctx, doing, msg.Errorf("%w: %v", ErrDamaged, err))
}

// Raw returns the bytes from which an entry was normalised, or those of its text if
// normalising changed nothing. Its errors are those of Get.
func (s *SQLite) Raw(ctx context.Context, sc Scope, uuid string) ([]byte, error) {
	e, err := s.Get(ctx, sc, uuid)
	if err != nil {
		return nil, err
	}
	raw, err := s.raw(ctx, sc, uuid)
	if err == nil && raw == nil {
		raw = []byte(e.Full)
	}
	return raw, err
}

// raw returns the column result_raw; nil if the text is the same.
func (s *SQLite) raw(ctx context.Context, sc Scope, uuid string) ([]byte, error) {
	const doing = "reading an archive"
	var encoding int
	var raw []byte
	where, args := s.within(sc, false)
	err := s.db.QueryRowContext(ctx, "SELECT encoding, result_raw"+withTexts+"WHERE uuid = ? AND pruned_at IS NULL AND "+where,
		append([]any{uuid}, args...)...).Scan(&encoding, &raw)
	if errors.Is(err, sql.ErrNoRows) { // pruned or deleted in the meantime
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, sqlite.Wrap(ctx, doing, err)
	}
	if raw, err = decode(encoding, raw); err != nil {
		return nil, damaged(ctx, doing, err)
	}
	return raw, nil
}

// Find returns an entry of any conversation of the principal, without its text: a
// caller that has only an id learns its Scope. Its errors are those of Get.
func (s *SQLite) Find(ctx context.Context, principal, uuid string) (Entry, error) {
	e, err := s.entryOf(ctx, "finding an archive", "uuid = ? AND principal = ?", uuid, principal)
	if err == nil && e.Pruned {
		err = ErrExpired
	}
	return e, err
}

// entryOf returns the one entry for which a condition holds, without its text, or
// ErrNotFound.
func (s *SQLite) entryOf(ctx context.Context, doing, where string, args ...any) (Entry, error) {
	e, err := s.scanEntry(s.db.QueryRowContext(ctx, "SELECT "+entryColumns+" FROM tool_result_archive WHERE "+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	if err == nil {
		e, err = s.withDescription(ctx, e)
	}
	return e, sqlite.Wrap(ctx, doing, err)
}

// Drop deletes one entry. The caller must know that nothing refers to it: no
// placeholder, notice or answer that a model or a person will read again. Later
// entries use the space; the text is overwritten at once. An id outside of the scope
// is ErrNotFound.
func (s *SQLite) Drop(ctx context.Context, sc Scope, uuid string) error {
	return wrapKnown(ctx, "dropping an archive", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		return b.ExecOne(s.drop, ErrNotFound, uuid, sc.Principal, sc.Conversation, s.cfg().UserScope)
	}))
}

// Delete deletes one entry on behalf of a person: unlike after Drop, nothing of it is
// left in the file or its log. What messages show of it stays until their
// conversation is deleted. Pruned entries are deleted too. An id outside of the scope
// is ErrNotFound.
func (s *SQLite) Delete(ctx context.Context, sc Scope, uuid string) error {
	if err := s.Drop(ctx, sc, uuid); err != nil {
		return err
	}
	return s.db.Reclaim(ctx, true)
}

// wrapKnown is sqlite.Wrap that leaves ErrNotFound as it is.
func wrapKnown(ctx context.Context, doing string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return err
	}
	return sqlite.Wrap(ctx, doing, err)
}

// scanEntry reads entryColumns, and the columns after them into more.
func (s *SQLite) scanEntry(row sqlite.Row, more ...any) (Entry, error) {
	var e Entry
	var created int64
	var expires, loaded, pruned sql.NullInt64
	var input, sources []byte
	var summary sql.NullString
	err := row.Scan(append([]any{&e.UUID, &e.Scope.Principal, &e.Scope.Conversation, &e.Thread, &e.Turn, &e.CallID, &e.Tool,
		&created, &expires, &loaded, &e.Loads, &pruned, &e.SHA256, &e.Chars, &e.Lines, &e.Bytes, &e.Rules,
		&e.Query, &input, &summary, &sources}, more...)...)
	if err != nil {
		return Entry{}, err
	}
	e.Created, e.Expires, e.LastLoad = time.UnixMilli(created).UTC(), sqlite.Time(expires), sqlite.Time(loaded)
	e.Input = input
	e.Pruned = pruned.Valid || expires.Valid && !s.now().Before(e.Expires)
	e.Summary, e.Later = summary.String, !e.Pruned && (!summary.Valid || sources == nil)
	if sources == nil || string(sources) == "[]" {
		return e, nil
	}
	return e, json.Unmarshal(sources, &e.Sources)
}
