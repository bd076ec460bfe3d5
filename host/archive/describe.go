package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// describe fills in the summary and the sources of an entry with its text, where they
// are missing.
func (s *SQLite) describe(e Entry) Entry {
	if e.Summary == "" && s.cfg().SummaryChars > 0 {
		e.Summary = describe.Summarize(e.Full, s.cfg().SummaryChars)
	}
	if e.Sources == nil {
		e.Sources = describe.Sources(e.Full)
	}
	if len(e.Sources) == 0 {
		e.Sources = nil // as a reader will receive it
	}
	e.Later = false
	return e
}

// descriptionColumns returns the columns of an entry that its description fills; NULL
// for what the first reader is to find.
func descriptionColumns(e Entry) (summary, sources sql.NullString, err error) {
	summary = sql.NullString{String: e.Summary, Valid: e.Summary != "" || !e.Later}
	switch {
	case len(e.Sources) > 0:
		raw, err := json.Marshal(e.Sources)
		return summary, sql.NullString{String: string(raw), Valid: true}, err
	case e.Sources != nil || !e.Later:
		sources = sql.NullString{String: "[]", Valid: true}
	}
	return summary, sources, nil
}

const describedSQL = `UPDATE tool_result_archive SET result_summary = coalesce(result_summary, ?), sources = coalesce(sources, ?)
	WHERE uuid = ? AND pruned_at IS NULL`

// described returns an entry that was put with Later as if it had been described then,
// and stores the description. full is its text.
func (s *SQLite) described(ctx context.Context, e Entry, full string) Entry {
	if !e.Later {
		return e
	}
	e.Full = full
	e = s.describe(e)
	e.Full = ""
	summary, sources, err := descriptionColumns(e)
	if err == nil {
		err = s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
			return b.Run(s.setDescription, summary, sources, e.UUID)
		})
	}
	if err != nil { // the next reader describes it again
		s.log.Debug("a description was not stored", "uuid", e.UUID, "error", err)
	}
	return e
}

// withDescription is described for an entry without its text.
func (s *SQLite) withDescription(ctx context.Context, e Entry) (Entry, error) {
	if !e.Later {
		return e, nil
	}
	t := textColumn{buffers: &s.buffers}
	err := s.db.QueryRowContext(ctx, "SELECT encoding, result_full FROM tool_result_archive JOIN result_texts ON id = text_id WHERE uuid = ?", e.UUID).Scan(&t.encoding, &t)
	switch {
	case errors.Is(err, sql.ErrNoRows) || t.err != nil: // pruned meanwhile, or damaged, as Get says
		e.Later = false
		return e, nil
	case err != nil:
		return e, err
	}
	return s.described(ctx, e, t.text), nil
}

// maxDescribed bounds the entries that one List with a Query describes.
const maxDescribed = 1000

// describeAll describes the newest entries of a scope that are not described yet, so that
// a query finds the words of their summaries.
func (s *SQLite) describeAll(ctx context.Context, where string, args []any) error {
	list, err := sqlite.List(ctx, s.db, "SELECT "+entryColumns+" FROM tool_result_archive WHERE "+where+
		" AND result_summary IS NULL AND pruned_at IS NULL ORDER BY created_at DESC, uuid DESC LIMIT ?", append(args, maxDescribed),
		func(row sqlite.Row) (Entry, error) { return s.scanEntry(row) })
	if err != nil {
		return err
	}
	for _, e := range list {
		if _, err := s.withDescription(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
