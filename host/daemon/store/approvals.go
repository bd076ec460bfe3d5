package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/limit"
)

// approvalsKind is the kind of their notices.
const approvalsKind = "approvals"

// An ApprovalRow is a call that waits, or waited, for a person.
type ApprovalRow struct {
	ID, Principal string
	// Same is the digest of the call, and Asker the process that waits.
	Same, Asker    string
	Asked, Expires time.Time
	// Body is the request, and Answer that of a person, as JSON.
	Body, Answer []byte
	// Outcome is a sentence that says why it is settled; empty: it is not.
	Outcome string
}

// Approvals are the calls that wait for a person on all daemons that share the tables.
type Approvals struct{ s *Store }

// Approvals returns those of a Store that is Shared.
func (s *Store) Approvals() Approvals { return Approvals{s} }

const approvalColumns = "id, principal, same, asker, asked_at, expires_at, body, outcome, answer"

func scanApproval(row sqlite.Row) (r ApprovalRow, err error) {
	var asked, expires sql.NullInt64
	err = row.Scan(&r.ID, &r.Principal, &r.Same, &r.Asker, &asked, &expires, &r.Body, &r.Outcome, &r.Answer)
	r.Asked, r.Expires = sqlite.Time(asked), sqlite.Time(expires)
	return r, err
}

// Add implements approvals.Store.
func (w Approvals) Add(ctx context.Context, r ApprovalRow, most, mostOfPrincipal int) (out ApprovalRow, added bool, err error) {
	err = w.s.db.Transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM approvals WHERE expires_at <= "+clockSQL+" - 3600000"); err != nil {
			return err
		}
		// A daemon that died asked, and this one makes the call in its place.
		out, err = scanApproval(tx.QueryRowContext(ctx, "UPDATE approvals SET asker = ?1 WHERE principal = ?2 AND same = ?3 AND asker <> ?1 AND (answer <> '' OR outcome = '' AND expires_at > "+clockSQL+
			") RETURNING "+approvalColumns, r.Asker, r.Principal, r.Same))
		if added = err == nil; err != sql.ErrNoRows {
			return err
		}
		var all, own int
		if err := tx.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE principal = ?) FROM approvals WHERE outcome = '' AND expires_at > "+clockSQL, r.Principal).
			Scan(&all, &own); err != nil || all >= most || own >= mostOfPrincipal {
			return err
		}
		out, err = scanApproval(tx.QueryRowContext(ctx, "INSERT INTO approvals ("+approvalColumns+") VALUES (?, ?, ?, ?, "+clockSQL+", "+clockSQL+" + ?, ?, '', '') RETURNING "+approvalColumns,
			r.ID, r.Principal, r.Same, r.Asker, r.Expires.Sub(r.Asked).Milliseconds(), r.Body))
		if added = err == nil; err != nil {
			return err
		}
		return w.s.db.Notify(ctx, tx, approvalsKind, r.ID)
	})
	return out, added, wrap(ctx, "asking a person", err)
}

// Settle implements approvals.Store.
func (w Approvals) Settle(ctx context.Context, principal, id, outcome string, answer []byte) (settled bool, err error) {
	err = w.s.db.Transact(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "UPDATE approvals SET outcome = ?, answer = ?, body = '' WHERE id = ? AND principal = ? AND outcome = '' AND (expires_at > "+clockSQL+" OR ?)",
			outcome, append([]byte{}, answer...), id, principal, answer == nil)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if settled = n > 0; err != nil || n == 0 {
			return err
		}
		return w.s.db.Notify(ctx, tx, approvalsKind, id)
	})
	return settled, wrap(ctx, "answering a request", err)
}

// Get implements approvals.Store.
func (w Approvals) Get(ctx context.Context, principal, id string) (r ApprovalRow, found bool, err error) {
	r, err = scanApproval(w.s.db.QueryRowContext(ctx, "SELECT "+approvalColumns+" FROM approvals WHERE id = ? AND principal = ?", id, principal))
	if err == sql.ErrNoRows {
		return r, false, nil
	}
	return r, err == nil, wrap(ctx, "reading the requests", err)
}

// List implements approvals.Store.
func (w Approvals) List(ctx context.Context, principal string) (list []ApprovalRow, err error) {
	list, err = sqlite.List(ctx, w.s.db, "SELECT "+approvalColumns+" FROM approvals WHERE principal = ? AND outcome = '' AND expires_at > "+clockSQL+" ORDER BY asked_at, id",
		[]any{principal}, scanApproval)
	return list, wrap(ctx, "reading the requests", err)
}

// deleteApprovals deletes what waits for a person in a conversation, and what they answered.
func (s *Store) deleteApprovals(ctx context.Context, tx *sql.Tx, sc archive.Scope) error {
	if !s.Shared() {
		return nil
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM approvals WHERE principal = ? AND CASE WHEN outcome = '' THEN CAST(convert_from(body, 'UTF8') AS json) ->> 'conversation_id' = ? ELSE FALSE END",
		sc.Principal, limit.Visible(sc.Conversation))
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM answers WHERE principal = ? AND conversation = ?", sc.Principal, sc.Conversation)
	}
	if err == nil {
		err = s.db.Notify(ctx, tx, approvalsKind, "")
	}
	return err
}

// Changed implements approvals.Store.
func (w Approvals) Changed() <-chan struct{} { return w.s.approvals.Next() }
