package archive

import (
	"context"
	"database/sql"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// The methods of this file are for package daemon/store: its tables are in the same
// file, and a conversation is deleted together with its results in one transaction.

// DB returns the database of the archive. Its owner is the archive, which closes it.
func (s *SQLite) DB() *sqlite.DB { return s.db }

// Now returns the time by the clock of the archive.
func (s *SQLite) Now() time.Time { return s.now() }

// Also has Maintain call f too. It must be called before Run.
func (s *SQLite) Also(f func(context.Context) error) { s.also = f }

// Retention returns how long texts are kept, and how many bytes of them one principal can have
// at most. 0: there is no bound.
func (s *SQLite) Retention() (age time.Duration, bytes int64) {
	c := s.cfg()
	if bytes = max(c.MaxBytes, 0); c.MaxBytesPerPrincipal > 0 && (bytes == 0 || c.MaxBytesPerPrincipal < bytes) {
		bytes = c.MaxBytesPerPrincipal
	}
	return max(c.MaxAge, 0), bytes
}

// Size is the number of results and the bytes of their texts on disk. A text that several
// results have counts once, and not at all in the size of a deletion that leaves one of
// them.
type Size struct {
	Results int
	Bytes   int64
}

// DeleteConversationIn deletes the results of a conversation within a transaction
// and returns their size.
func (s *SQLite) DeleteConversationIn(ctx context.Context, tx *sql.Tx, sc Scope) (Size, error) {
	return deleteIn(ctx, tx, sc.Principal, "conversation_id = ? AND principal = ?", sc.Conversation, sc.Principal)
}

// DeletePrincipalIn deletes all results of a principal within a transaction and
// returns their size.
func (s *SQLite) DeletePrincipalIn(ctx context.Context, tx *sql.Tx, principal string) (Size, error) {
	return deleteIn(ctx, tx, principal, "principal = ?", principal)
}

func deleteIn(ctx context.Context, tx *sql.Tx, principal, where string, args ...any) (Size, error) {
	before, err := textBytes(ctx, tx, principal)
	if err != nil {
		return Size{}, err
	}
	res, err := tx.ExecContext(ctx, "DELETE FROM tool_result_archive WHERE "+where, args...)
	if err != nil {
		return Size{}, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return Size{}, err
	}
	after, err := textBytes(ctx, tx, principal)
	return Size{int(n), before - after}, err
}

// textBytes returns the bytes that the texts of a principal use on disk.
func textBytes(ctx context.Context, q sqlite.Querier, principal string) (bytes int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT coalesce((SELECT bytes FROM result_sizes WHERE owner = ?), 0)", principal).Scan(&bytes)
	return bytes, err
}

// PrincipalSize returns the size of all results of a principal.
func (s *SQLite) PrincipalSize(ctx context.Context, principal string) (out Size, err error) {
	if out.Bytes, err = textBytes(ctx, s.db, principal); err == nil {
		err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM tool_result_archive WHERE principal = ?", principal).Scan(&out.Results)
	}
	return out, sqlite.Wrap(ctx, "counting archives", err)
}

// Usage returns the bytes that the results of a principal use on disk, and when
// retention removes the oldest text; the zero time if it removes none.
func (s *SQLite) Usage(ctx context.Context, principal string) (bytes int64, freeAt time.Time, err error) {
	const doing = "counting archives"
	if bytes, err = textBytes(ctx, s.db, principal); err != nil {
		return 0, time.Time{}, sqlite.Wrap(ctx, doing, err)
	}
	age := s.cfg().MaxAge
	if age <= 0 {
		return bytes, time.Time{}, nil
	}
	var oldest sql.NullInt64
	err = s.db.QueryRowContext(ctx, "SELECT (SELECT created_at FROM tool_result_archive WHERE principal = ? AND pruned_at IS NULL ORDER BY created_at LIMIT 1)", principal).Scan(&oldest)
	if err != nil || !oldest.Valid {
		return bytes, time.Time{}, sqlite.Wrap(ctx, doing, err)
	}
	return bytes, time.UnixMilli(oldest.Int64).Add(age), nil
}

// Stats are the sums over the archives of all principals.
type Stats struct {
	// Archives is the number of texts that are kept, Pruned of those that were removed.
	Archives, Pruned int
	// TextBytes is the length of the kept texts, result by result. StoredBytes is what
	// they use on disk with parts and raw bytes, each text of a principal once.
	// FileBytes is the size of the file.
	TextBytes, StoredBytes, FileBytes int64
}

// Stats returns the sums over the archives of all principals.
func (s *SQLite) Stats(ctx context.Context) (out Stats, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE pruned_at IS NULL), count(pruned_at),
		coalesce(sum(result_bytes) FILTER (WHERE pruned_at IS NULL), 0), (SELECT coalesce(sum(stored_bytes), 0) FROM result_texts) FROM tool_result_archive`).
		Scan(&out.Archives, &out.Pruned, &out.TextBytes, &out.StoredBytes)
	if err == nil {
		out.FileBytes, err = s.db.FileBytes(ctx)
	}
	return out, sqlite.Wrap(ctx, "reading statistics", err)
}

// Each calls f for the entries of a conversation, oldest first, pruned ones
// included: with texts and raw bytes if whole is true, otherwise without both. The
// texts are read one by one, so that a slow f does not hold a snapshot of the file.
func (s *SQLite) Each(ctx context.Context, sc Scope, whole bool, f func(Entry) error) error {
	ids, err := sqlite.List(ctx, s.db, "SELECT uuid FROM tool_result_archive WHERE conversation_id = ? AND principal = ? ORDER BY created_at, uuid",
		[]any{sc.Conversation, sc.Principal}, sqlite.Text)
	if err != nil {
		return sqlite.Wrap(ctx, "reading archives", err)
	}
	for _, id := range ids {
		e, err := s.export(ctx, sc, id, whole)
		if err == ErrNotFound {
			continue // deleted in the meantime
		}
		if err != nil {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

// export returns one entry of a conversation for Each.
func (s *SQLite) export(ctx context.Context, sc Scope, id string, whole bool) (Entry, error) {
	if !whole {
		return s.entryOf(ctx, "reading archives", "uuid = ? AND conversation_id = ? AND principal = ?", id, sc.Conversation, sc.Principal)
	}
	e, err := s.Get(ctx, sc, id)
	if err == ErrExpired {
		return e, nil
	}
	if err == nil {
		e.Raw, err = s.raw(ctx, sc, id)
	}
	return e, err
}

// Info is what Examine found.
type Info struct {
	Bytes   int64     // of the file and its log
	Results int       // rows, pruned ones included
	Newest  time.Time // of the newest result; zero if there is none
}

// Examine reads the file of an archive from one end to the other without changing
// it, also while a process has it open. Its errors are those of Open; if ctx ends
// first, the file is not read to the end. A file that does not exist is
// fs.ErrNotExist. others are schemas of the same file, whose versions are compared, too.
func Examine(ctx context.Context, path string, others ...sqlite.Schema) (out Info, err error) {
	out.Bytes, err = sqlite.Examine(ctx, path, append([]sqlite.Schema{Schema()}, others...), func(q sqlite.Querier) error { return out.count(ctx, q) })
	return out, err
}

// ExamineDatabase connects to a PostgreSQL database, also while a process uses it, and
// counts what it has. others are as in Examine.
func ExamineDatabase(ctx context.Context, url string, others ...sqlite.Schema) (out Info, err error) {
	db, err := sqlite.Open(ctx, sqlite.Options{URL: url, ReadOnly: true}, Schema())
	if err != nil {
		return out, err
	}
	defer db.Close()
	if err := db.Refuse(ctx, others...); err != nil {
		return out, err
	}
	if err := out.count(ctx, db); err != nil {
		return out, sqlite.Wrap(ctx, "counting archives", err)
	}
	out.Bytes, err = db.FileBytes(ctx)
	return out, err
}

func (i *Info) count(ctx context.Context, q sqlite.Querier) error {
	var newest int64
	err := q.QueryRowContext(ctx, "SELECT count(*), coalesce(max(created_at), 0) FROM tool_result_archive").Scan(&i.Results, &newest)
	if newest > 0 {
		i.Newest = time.UnixMilli(newest)
	}
	return err
}

// Snapshot writes a consistent copy of the file of an archive to a new file of mode
// 0600, also while a process has it open; its writers do not wait. Its errors are
// those of Examine; an existing file at to is fs.ErrExist.
func Snapshot(ctx context.Context, path, to string) error { return sqlite.Snapshot(ctx, path, to) }
