package journal

import (
	"context"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// ErrFenced is the error of a write for a script that another process has taken over.
var ErrFenced = sqlite.ErrFenced

// kind is that of the notices of scripts; see sqlite.DB.Wake.
const kind = "scripts"

// owners are the statements of processes that share the tables. Without lives there is one.
type owners struct {
	lives                      string
	insert, claim, free, guard *sqlite.Statement
}

// Share lets several processes run scripts, each those that it owns. lives is the condition
// that the process script_owners.owner lives. The database must be Shared.
func (j *Journal) Share(ctx context.Context, lives string) error {
	j.owners.lives = lives
	return sqlite.Wrap(ctx, "opening the scripts", j.db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&j.owners.insert: "INSERT INTO script_owners (script_id, owner) VALUES (?, ?)",
		&j.owners.claim: `INSERT INTO script_owners (script_id, owner) SELECT id, ?2 FROM scripts WHERE id = ?1` + unfinished + `
			ON CONFLICT (script_id) DO UPDATE SET owner = excluded.owner, fence = script_owners.fence + 1
			WHERE script_owners.owner = excluded.owner OR NOT ` + lives + ` RETURNING fence`,
		&j.owners.free:  "UPDATE script_owners SET owner = '' WHERE script_id = ? AND fence = ?",
		&j.owners.guard: "SELECT 1 / (SELECT count(*) FROM script_owners WHERE script_id = ? AND fence = ?)",
	}))
}

// Claim makes a process the owner of a script, unless another that lives is, or the script
// has ended: then owned is false. Writes under the returned context fail with ErrFenced as
// soon as the script is claimed again. free ends the ownership.
func (j *Journal) Claim(ctx context.Context, id, owner string) (_ context.Context, free func() error, owned bool, err error) {
	var fence int64
	err = j.commit(ctx, "taking a script", 0, func(b *sqlite.Batch) error {
		owned = false
		rows, err := b.Query(j.owners.claim, id, owner)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&fence); err != nil {
				return err
			}
			owned = true
		}
		return rows.Err()
	})
	fenced := sqlite.Guarded(ctx, j.owners.guard, id, fence)
	return fenced, func() error {
		return j.commit(context.WithoutCancel(fenced), "leaving a script", 0, func(b *sqlite.Batch) error { return b.Run(j.owners.free, id, fence) })
	}, owned, err
}

// A Left is a script that runs, of which a process is the owner or may become it.
type Left struct {
	ID, Principal string
	// Decided says that a person has answered, and that the answer was not seen.
	Decided bool
}

// Left returns those of a process.
func (j *Journal) Left(ctx context.Context, owner string) (list []Left, err error) {
	list, err = sqlite.List(ctx, j.db, `SELECT id, principal, EXISTS (SELECT FROM script_wants w WHERE w.script_id = id AND w.question <> '' AND w.verdict <> '' AND w.state = 'asked')
		FROM scripts LEFT JOIN script_owners ON script_owners.script_id = id
		WHERE state = 'running' AND (owner IS NULL OR owner = ? OR NOT `+j.owners.lives+") ORDER BY created_at, id", []any{owner}, func(row sqlite.Row) (l Left, err error) {
		err = row.Scan(&l.ID, &l.Principal, &l.Decided)
		return l, err
	})
	return list, sqlite.Wrap(ctx, "reading the scripts", err)
}

// Wake calls f when a script that any process runs waits, was answered or has ended, as
// sqlite.DB.Wake does.
func (j *Journal) Wake(f func(id string)) (stop func()) { return j.db.Wake(kind, f) }
