package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

const insertSQL = `INSERT INTO tool_result_archive (uuid, principal, conversation_id, thread_id, turn, call_id, tool_name,
	created_at, expires_at, result_sha256, result_length, result_lines, result_bytes, stored_bytes, rules,
	query_summary, tool_input, result_summary, sources, result_full, result_parts, result_raw)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// sameSQL finds candidates; whether an input that is not the same to the byte is the
// same is decided in Go, because the order of an object's members does not matter. Without the name
// of the index SQLite prefers one that is already in the order asked for, and
// walks through the whole conversation.
const sameSQL = `SELECT uuid, conversation_id, nullif(tool_input, ?) FROM tool_result_archive INDEXED BY tool_result_archive_sha256
	WHERE result_sha256 = ? AND principal = ? AND (conversation_id = ? OR ?) AND tool_name = ?
	AND pruned_at IS NULL AND coalesce(expires_at > ?, 1) ORDER BY created_at DESC, uuid DESC LIMIT 16`

// entryColumns are the columns that scanEntry reads, without the long ones.
const (
	entryColumns = beforeInput + "tool_input" + behindInput
	beforeInput  = `uuid, principal, conversation_id, thread_id, turn, call_id, tool_name, created_at, expires_at,
	last_loaded_at, load_count, pruned_at, result_sha256, result_length, result_lines, result_bytes, rules,
	query_summary, `
	behindInput = `, result_summary, sources`
)

// againSQL is what Find reads, but for the input, which is known.
const againSQL = "SELECT " + beforeInput + "NULL" + behindInput + " FROM tool_result_archive WHERE uuid = ? AND principal = ?"

const getSQL = `SELECT ` + entryColumns + `, encoding, result_full, result_parts FROM tool_result_archive
	WHERE uuid = ? AND principal = ? AND (conversation_id = ? OR ?)`

// Put commits e and returns it completed: UUID, SHA256, the counts and Created
// are filled in, and Query, Summary and Sources where they are empty (nil).
// The row is synced to disk when Put returns; before that e must not be
// referred to. An e without a principal or a tool is refused. The error wraps
// ErrFull when the disk is full, read-only or failing.
func (s *Store) Put(ctx context.Context, e Entry) (Entry, error) {
	return s.put(ctx, e, false)
}

// PutOnce is Put, unless SameAs would name an entry of the very same Scope: then
// nothing is written, again is true, and that one is returned as Find does. An e
// with parts, or with a Scope that is Everywhere, is put always.
func (s *Store) PutOnce(ctx context.Context, e Entry) (_ Entry, again bool, err error) {
	done, err := s.put(ctx, e, len(e.Parts) == 0 && !e.Scope.Everywhere)
	if err != nil || done.UUID != "" {
		return done, false, err
	}
	earlier, err := s.scanEntry(s.read.QueryRowContext(ctx, againSQL, done.SameAs, e.Scope.Principal))
	if err == nil && !earlier.Pruned {
		earlier.Input = done.Input
		return earlier, true, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return e, false, wrap(ctx, "finding an archive", err)
	}
	done, err = s.put(ctx, e, false) // it went in between
	return done, false, err
}

// put commits e, or answers an entry without a UUID when it has to be there once
// and is.
func (s *Store) put(ctx context.Context, e Entry, once bool) (Entry, error) {
	const doing = "archiving a result"
	if e.Scope.Principal == "" || e.Tool == "" {
		return e, errors.New(doing + ": it needs a principal and a tool")
	}
	// What the text is about is worked out beside everything else: it takes as
	// long as the rest of the preparation.
	told, about := e, description{}
	var describing sync.WaitGroup
	describing.Go(func() { about = s.describe(told) })
	defer describing.Wait()
	e, err := s.complete(e)
	if err != nil {
		return e, fmt.Errorf("%s: %w", doing, err)
	}
	var parts []byte
	if len(e.Parts) > 0 {
		if parts, err = json.Marshal(e.Parts); err != nil {
			return e, fmt.Errorf("%s: %w", doing, err)
		}
	}
	describing.Wait()
	if about.err != nil {
		return e, fmt.Errorf("%s: %w", doing, about.err)
	}
	e.Summary, e.Sources = about.summary, about.sources
	// The search stands in front of the insert and in its transaction, so that of
	// two at the same time the second finds the first.
	e.SameAs = ""
	size := len(e.Full) + len(parts) + len(e.Raw)
	done := e
	err = s.commit(ctx, size, func(b *batch) error {
		var conversation string
		if done.SameAs, conversation, err = b.identical(e); err != nil {
			return err
		}
		if done.UUID = e.UUID; once && done.SameAs != "" && conversation == e.Scope.Conversation {
			done.UUID = ""
			return errNothing
		}
		return b.exec(insertEntry, e.UUID, e.Scope.Principal, e.Scope.Conversation, e.Thread, e.Turn, e.CallID, e.Tool,
			e.Created.UnixMilli(), nullTime(e.Expires), e.SHA256, e.Chars, e.Lines, e.Bytes, size, e.Rules,
			e.Query, string(e.Input), e.Summary, about.column, e.Full, parts, e.Raw)
	})
	return done, wrap(ctx, doing, err)
}

// complete fills in what Put promises, but for summary and sources.
func (s *Store) complete(e Entry) (Entry, error) {
	id, err := uuid.NewV7() // ordered by time, so that its index grows at one end
	if err != nil {
		return e, err
	}
	e.UUID, e.SHA256 = id.String(), digest(e.Full)
	e.Chars, e.Lines = limit.Count(e.Full)
	e.Bytes = len(e.Full)
	e.Created, e.Expires = stored(s.now()), stored(e.Expires)
	e.LastLoad, e.Loads, e.Pruned, e.SameAs = time.Time{}, 0, false, ""
	e.Input = storedInput(e.Input)
	if e.Query == "" {
		e.Query = QuerySummary(e.Tool, e.Input)
	}
	e.Query = clip(e.Query, maxQuery)
	return e, nil
}

// digest is the sha256 of a text, in hex; it makes no copy of the text.
func digest(text string) string {
	sum := sha256.New()
	_, _ = io.Copy(sum, struct{ io.Reader }{strings.NewReader(text)}) // neither fails
	return hex.EncodeToString(sum.Sum(nil))
}

// A description is what a placeholder tells of a text.
type description struct {
	summary string
	sources []tool.Source
	column  string // sources as JSON
	err     error
}

// describe takes what the caller says and finds out the rest.
func (s *Store) describe(e Entry) description {
	d := description{summary: e.Summary, sources: e.Sources, column: "[]"}
	if d.summary == "" && s.cfg().SummaryChars > 0 {
		d.summary = Summarise(e.Full, s.cfg().SummaryChars)
	}
	if d.sources == nil {
		d.sources = Sources(e.Full)
	}
	if len(d.sources) == 0 {
		d.sources = nil // as a reader will get it
		return d
	}
	column, err := json.Marshal(d.sources)
	d.column, d.err = string(column), err
	return d
}

// identical finds the newest entry of e's scope that came from the same call
// and has the same text, and says whose it is.
func (b *batch) identical(e Entry) (id, conversation string, err error) {
	rows, err := b.stmt(sameEntry).Query(string(e.Input), e.SHA256, e.Scope.Principal, e.Scope.Conversation, b.s.cfg().UserScope, e.Tool, e.Created.UnixMilli())
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	for rows.Next() {
		var other []byte // nil: the same
		if err := rows.Scan(&id, &conversation, &other); err != nil {
			return "", "", err
		}
		if other == nil || sameJSON(other, e.Input) {
			return id, conversation, nil
		}
	}
	return "", "", rows.Err()
}

// Get returns an entry with its text and parts; Raw stays nil, see Store.Raw.
// It answers ErrNotFound for an id that is unknown or another's, and ErrExpired
// together with what is left of the entry (its tool and input among it) for one
// that was pruned. It does not count as a load.
func (s *Store) Get(ctx context.Context, sc Scope, uuid string) (Entry, error) {
	const doing = "reading an archive"
	t := text{dec: s.dec, spare: &s.spare}
	var parts []byte
	row := s.get.QueryRowContext(ctx, uuid, sc.Principal, sc.Conversation, s.cfg().UserScope || sc.Everywhere)
	e, err := s.scanEntry(row, &t.encoding, &t, &parts)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, wrap(ctx, doing, err)
	}
	if e.Pruned {
		return e, ErrExpired
	}
	if t.err != nil {
		return Entry{}, fmt.Errorf("%s: %w: %w", doing, ErrDamaged, t.err)
	}
	e.Full = t.str
	if parts, err = unpack(s.dec, t.encoding, parts); err == nil && len(parts) > 0 {
		err = json.Unmarshal(parts, &e.Parts)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w: %w", doing, ErrDamaged, err)
	}
	return e, nil
}

// Raw returns the bytes an entry was normalised from, or those of its text
// when normalising changed nothing. Its errors are those of Get.
func (s *Store) Raw(ctx context.Context, sc Scope, uuid string) ([]byte, error) {
	e, err := s.Get(ctx, sc, uuid)
	if err != nil {
		return nil, err
	}
	var encoding int
	var raw []byte
	where, args := s.within(sc, false)
	err = s.read.QueryRowContext(ctx, "SELECT encoding, result_raw FROM tool_result_archive WHERE uuid = ? AND pruned_at IS NULL AND "+where,
		append([]any{uuid}, args...)...).Scan(&encoding, &raw)
	if errors.Is(err, sql.ErrNoRows) { // pruned or deleted in between
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, wrap(ctx, "reading an archive", err)
	}
	if raw == nil {
		return []byte(e.Full), nil
	}
	if raw, err = unpack(s.dec, encoding, raw); err != nil {
		return nil, fmt.Errorf("reading an archive: %w: %w", ErrDamaged, err)
	}
	return raw, nil
}

// Find returns an entry of any conversation of the principal, without its
// text, so that someone who has an id alone learns its Scope. Its errors are
// those of Get.
func (s *Store) Find(ctx context.Context, principal, uuid string) (Entry, error) {
	e, err := s.scanEntry(s.read.QueryRowContext(ctx,
		"SELECT "+entryColumns+" FROM tool_result_archive WHERE uuid = ? AND principal = ?", uuid, principal))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Entry{}, ErrNotFound
	case err != nil:
		return Entry{}, wrap(ctx, "finding an archive", err)
	case e.Pruned:
		return e, ErrExpired
	}
	return e, nil
}

// Drop deletes one entry. The caller has made sure that nothing refers to it:
// no placeholder, notice or answer that the model or a person will read again.
// It answers ErrNotFound like Get. The space is used again by later entries;
// the text itself is overwritten at once.
func (s *Store) Drop(ctx context.Context, sc Scope, uuid string) error {
	return wrap(ctx, "dropping an archive", s.commit(ctx, 0, func(b *batch) error { return b.drop(sc, uuid) }))
}

func (b *batch) drop(sc Scope, uuid string) error {
	return b.touch(dropEntry, uuid, sc.Principal, sc.Conversation, b.s.cfg().UserScope)
}

// touched answers ErrNotFound for a statement that found no row.
func touched(res sql.Result) error {
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// scanner is one row, of a query for one or for many.
type scanner interface{ Scan(dest ...any) error }

// scanEntry reads entryColumns, and after them the columns that more names.
func (s *Store) scanEntry(row scanner, more ...any) (Entry, error) {
	var e Entry
	var created int64
	var expires, loaded, pruned sql.NullInt64
	var input, sources []byte
	err := row.Scan(append([]any{&e.UUID, &e.Scope.Principal, &e.Scope.Conversation, &e.Thread, &e.Turn, &e.CallID, &e.Tool,
		&created, &expires, &loaded, &e.Loads, &pruned, &e.SHA256, &e.Chars, &e.Lines, &e.Bytes, &e.Rules,
		&e.Query, &input, &e.Summary, &sources}, more...)...)
	if err != nil {
		return Entry{}, err
	}
	e.Created, e.Expires, e.LastLoad = time.UnixMilli(created).UTC(), timeOf(expires), timeOf(loaded)
	e.Input = input
	e.Pruned = pruned.Valid || expires.Valid && !s.now().Before(e.Expires)
	if string(sources) == "[]" {
		return e, nil
	}
	return e, json.Unmarshal(sources, &e.Sources)
}

// countLines counts newlines, plus one for an unended last line.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// stored rounds a time to what a column holds, so that what Put returns is
// what Get will return. The zero time stays zero.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

func nullTime(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

func timeOf(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

// storedInput makes input fit a JSON column: without white space, {} for
// nothing, and a JSON string for what is not JSON.
func storedInput(input json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(input)) == 0 {
		return json.RawMessage("{}")
	}
	if len(input) >= longInput {
		if packed, ok := compactLong(input, longInput/4); ok {
			return packed
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, input) == nil {
		return b.Bytes()
	}
	quoted, err := json.Marshal(string(input))
	if err != nil { // a Go string always marshals
		return json.RawMessage("{}")
	}
	return quoted
}

// longInput is from how many bytes on most of an input is taken to be long strings.
const longInput = 256 << 10

// compactLong is json.Compact for an input whose length is that of a few strings, of
// at least long bytes: it reads what is between them. ok is false when it is not JSON.
func compactLong(input json.RawMessage, long int) (packed json.RawMessage, ok bool) {
	text := string(input)
	var rest, out bytes.Buffer
	out.Grow(len(text))
	last := 0
	for begin, end := range jsonscan.Long(text, long) {
		between := text[last : begin-1]
		rest.WriteString(between + `""`)
		tighten(&out, between)
		out.WriteString(text[begin-1 : end+1])
		last = end + 1
	}
	rest.WriteString(text[last:])
	tighten(&out, text[last:])
	return out.Bytes(), json.Valid(rest.Bytes())
}

// tighten appends a stretch of JSON that ends in no string, without white space.
func tighten(to *bytes.Buffer, json string) {
	for len(json) > 0 {
		switch n := strings.IndexAny(json, "\" \t\r\n"); {
		case n < 0:
			to.WriteString(json)
			return
		case json[n] == '"':
			end := jsonscan.StringEnd(json, n)
			to.WriteString(json[:end])
			json = json[end:]
		default:
			to.WriteString(json[:n])
			json = json[n+1:]
		}
	}
}

// sameJSON compares two JSON texts without regard to the order of members.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ca, errA := canonical(a)
	cb, errB := canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}

func canonical(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
