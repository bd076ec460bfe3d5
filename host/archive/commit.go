package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// The bounds of one transaction: how many writes it holds, and how many bytes of
// texts before no further write is added.
const (
	maxJobs     = 256
	maxJobBytes = 8 << 20
)

// A job is one write on its way to the disk. Many callers' jobs are committed
// together: a sync takes milliseconds, whatever it syncs.
type job struct {
	do    func(*batch) error
	bytes int
	err   error
	leads bool
	// turn is told once: true to lead, false when the job is done.
	turn chan bool
}

// A line is where jobs wait. The first that comes leads: it commits all that
// wait with it, and hands over to the first that came in the meantime. So
// nobody waits for more than two syncs, and no goroutine is kept.
type line struct {
	mu      sync.Mutex
	waiting []*job
	led     bool
}

// join adds a job and reports whether it leads.
func (l *line) join(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, j)
	j.leads = !l.led
	l.led = true
	return j.leads
}

// leave takes a job out that nobody has taken yet; false: it is too late.
func (l *line) leave(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, j)
	if i < 0 || j.leads {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// take returns the jobs of the next transaction.
func (l *line) take() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, bytes := 0, 0
	for n < len(l.waiting) && n < maxJobs && (n == 0 || bytes < maxJobBytes) {
		bytes += l.waiting[n].bytes
		n++
	}
	jobs := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return jobs
}

// pass hands over to the next that waits, if there is one.
func (l *line) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.led = len(l.waiting) > 0; l.led {
		l.waiting[0].leads = true
		l.waiting[0].turn <- true
	}
}

// commit runs do in a transaction that others may share, and returns when it is
// synced to disk. do may be run again, after a transaction that failed because
// of another job; it must not have changed anything when it returns errNothing
// or ErrNotFound. bytes is about how much it writes. A job that was begun is
// finished even when ctx ends.
func (s *Store) commit(ctx context.Context, bytes int, do func(*batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, bytes: bytes, turn: make(chan bool, 1)}
	if !s.line.join(j) {
		var leads bool
		select {
		case leads = <-j.turn:
		case <-ctx.Done():
			if s.line.leave(j) {
				return ctx.Err()
			}
			leads = <-j.turn
		}
		if !leads {
			return j.err
		}
	}
	jobs := s.line.take()
	defer func() {
		s.line.pass()
		for _, other := range jobs {
			if other != j {
				other.turn <- false
			}
		}
	}()
	for _, one := range jobs {
		one.err = errUncommitted // unless it is
	}
	s.transact(jobs)
	return j.err
}

// errNothing is what a job answers that found nothing to do.
var errNothing = errors.New("nothing was changed")

// errUncommitted is what is left of a job whose transaction panicked.
var errUncommitted = errors.New("the write was not made")

// transact commits jobs together, or each by itself when one of them spoils it
// for all.
func (s *Store) transact(jobs []*job) {
	if s.together(jobs) == nil {
		return
	}
	for i := range jobs {
		if err := s.together(jobs[i : i+1]); err != nil {
			jobs[i].err = err
		}
	}
}

// together commits jobs in one transaction. The errors of jobs that changed
// nothing are theirs alone; another one is returned, and nothing is committed.
func (s *Store) together(jobs []*job) error {
	tx, err := s.write.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_ = tx.Rollback() // the first error is the one to tell
		}
	}()
	b := &batch{s: s, tx: tx}
	for _, j := range jobs {
		j.err = j.do(b)
		if errors.Is(j.err, errNothing) {
			j.err = nil
		}
		if j.err != nil && !errors.Is(j.err, ErrNotFound) {
			return j.err
		}
	}
	if b.traced { // once for all of them
		if err := b.exec(dropTraces, MaxTraces); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	committed = true
	return nil
}

// A batch is a transaction that jobs write in. It is used by one goroutine.
type batch struct {
	s     *Store
	tx    *sql.Tx
	stmts [statements]*sql.Stmt
	// traced says that a trace was written, so that the oldest may have to go.
	traced bool
}

// A statement is one that is prepared once.
type statement int

// The statements of the writer.
const (
	insertEntry statement = iota
	sameEntry
	dropEntry
	countLoad
	insertConversation
	touchConversation
	hasConversation
	renameConversation
	lastMessage
	deleteMessages
	insertMessage
	insertUse
	insertUses
	insertTurn
	addDay
	addCostOfDay
	setRecent
	deleteMarks
	insertMark
	insertTrace
	dropTraces
	statements
)

// texts are the statements in SQL.
func (n statement) text() string {
	return [statements]string{
		insertEntry: insertSQL,
		sameEntry:   sameSQL,
		dropEntry:   "DELETE FROM tool_result_archive WHERE uuid = ? AND principal = ? AND (conversation_id = ? OR ?)",
		countLoad: `UPDATE tool_result_archive SET load_count = load_count + 1, last_loaded_at = ?
			WHERE uuid = ? AND principal = ? AND (conversation_id = ? OR ?)`,
		insertConversation: `INSERT INTO conversations (id, principal, title, profile, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		touchConversation:  "UPDATE conversations SET updated_at = ? WHERE id = ? AND principal = ?",
		hasConversation:    "SELECT count(*) FROM conversations WHERE id = ? AND principal = ?",
		renameConversation: "UPDATE conversations SET title = ? WHERE id = ? AND principal = ?",
		lastMessage:        "SELECT coalesce(max(seq), 0) FROM messages WHERE conversation_id = ?",
		deleteMessages:     "DELETE FROM messages WHERE conversation_id = ? AND seq >= ?",
		insertMessage: `INSERT INTO messages (conversation_id, seq, turn, role, model, created_at, content, thinking, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		insertUse:  insertUseText(),
		insertUses: insertAlikeText(usesAtOnce),
		insertTurn: `INSERT INTO turns (conversation_id, turn, model, reason, created_at, duration_us, prompt_tokens, completion_tokens,
			cached_prompt_tokens, cache_write_tokens, cost, currency) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		addDay: `INSERT INTO usage_days (principal, day, requests, refused, prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (principal, day) DO UPDATE SET requests = requests + excluded.requests, refused = refused + excluded.refused,
			prompt_tokens = prompt_tokens + excluded.prompt_tokens, completion_tokens = completion_tokens + excluded.completion_tokens`,
		addCostOfDay: `INSERT INTO usage_costs (principal, day, currency, amount) VALUES (?, ?, ?, ?)
			ON CONFLICT (principal, day, currency) DO UPDATE SET amount = amount + excluded.amount`,
		setRecent:   "INSERT INTO usage_recent (principal, times) VALUES (?, ?) ON CONFLICT (principal) DO UPDATE SET times = excluded.times",
		deleteMarks: "DELETE FROM conversation_marks WHERE conversation_id = ?",
		insertMark:  "INSERT INTO conversation_marks (principal, mark, conversation_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		insertTrace: "INSERT INTO traces (conversation_id, turn, created_at, body) VALUES (?, ?, ?, ?)",
		dropTraces:  "DELETE FROM traces WHERE id <= (SELECT max(id) FROM traces) - ?",
	}[n]
}

// prepare prepares the writer's statements.
func (s *Store) prepare(ctx context.Context) error {
	for n := range statements {
		var err error
		if s.stmts[n], err = s.write.PrepareContext(ctx, n.text()); err != nil {
			return fmt.Errorf("statement %d: %w", n, err)
		}
	}
	return nil
}

func (b *batch) stmt(n statement) *sql.Stmt {
	if b.stmts[n] == nil {
		b.stmts[n] = b.tx.Stmt(b.s.stmts[n])
	}
	return b.stmts[n]
}

func (b *batch) exec(n statement, args ...any) error {
	_, err := b.stmt(n).Exec(args...)
	return err
}

// touch is exec for a statement that answers ErrNotFound when it finds no row.
func (b *batch) touch(n statement, args ...any) error {
	res, err := b.stmt(n).Exec(args...)
	if err != nil {
		return err
	}
	return touched(res)
}

// number reads one number.
func (b *batch) number(n statement, args ...any) (int, error) {
	var out int
	err := b.stmt(n).QueryRow(args...).Scan(&out)
	return out, err
}
