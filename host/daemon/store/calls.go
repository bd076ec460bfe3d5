package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/tooluse"
	"github.com/weirhost/weir/sdk/tool"
)

// MalformedCode is the prefix of the Code of a text that was meant as a call but could
// not be parsed; the reason follows. It is a call of no tool.
const MalformedCode = "malformed:"

// A Call is one row of the call log, from which the statistics are made.
type Call struct {
	Scope    archive.Scope
	Turn     int
	CallID   string
	Tool     string
	Model    string // that made the call; may be empty
	Format   string // in which the model wrote the call
	Code     string // ok, a tool.Code, or MalformedCode and the reason
	Layer    string // the limit that cut the result; empty: none
	Produced int    // characters
	Shown    int    // characters
	UUID     string // of the archived result; empty: none
	// View is the tool.View of a cut result as JSON, without its Text, which
	// limit.Restore cuts from the archived whole again; empty: the result was not cut.
	View string
	// Extra is an Extra as JSON; empty: there is none.
	Extra    string
	Duration time.Duration
	Created  time.Time
}

// ViewOf returns the View of a call whose result is shown as v.
func ViewOf(v tool.View) string {
	if !v.Cut() {
		return ""
	}
	v.Text = ""
	b, _ := json.Marshal(v) // plain data
	return string(b)
}

// Cut returns what the result was cut to, without its text, and whether it was cut.
func (c Call) Cut() (v tool.View, ok bool) {
	return v, c.View != "" && json.Unmarshal([]byte(c.View), &v) == nil
}

// Refused reports whether the call was refused before its tool ran.
func (c Call) Refused() bool {
	return slices.Contains(refused(), tool.Code(c.Code)) && !c.More().Ran || strings.HasPrefix(c.Code, MalformedCode)
}

// An Extra is what a call's card shows besides its result.
type Extra struct {
	Approval     *tool.Approval `json:"approval,omitempty"`
	SummaryModel string         `json:"summary_model,omitempty"` // that wrote what is shown
	// Ran says that the tool itself failed with a code of calls that are refused before
	// they run: what it answered may have a text of a granted folder.
	Ran bool `json:"ran,omitempty"`
}

// ExtraOf returns the Extra of a call with the result r.
func ExtraOf(r tool.Result) string {
	e := Extra{Approval: r.Approval, Ran: r.Err != nil && r.Stats.RawBytes > 0 && slices.Contains(refused(), r.Err.Code)}
	if r.Shown.Summarized && r.Summary != nil {
		e.SummaryModel = r.Summary.Model
	}
	if e == (Extra{}) {
		return ""
	}
	b, _ := json.Marshal(e) // plain data
	return string(b)
}

// More returns the Extra of a call.
func (c Call) More() (e Extra) {
	if c.Extra != "" {
		_ = json.Unmarshal([]byte(c.Extra), &e) // what this package wrote
	}
	return e
}

// LogCalls appends to the call log, all calls or none. Created is set to the current
// time where it is zero.
func (s *Store) LogCalls(ctx context.Context, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	return wrap(ctx, "logging calls", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error { return s.log(b, calls, s.now()) }))
}

// callsPerStatement is the number of calls that one statement inserts if there are as
// many: most of the time of an insert is the same for one row and for many.
const callsPerStatement = 64

// The columns of a call: those that consecutive calls of one tool usually have in
// common come first.
const (
	callColumns   = "principal, conversation_id, archive_uuid, turn, tool_name, model, format, code, cut_by, call_id, produced, shown, extra, duration_us, created_at, view"
	commonColumns = 9
	ownColumns    = 7
)

// insertCallSQL returns the statement that inserts one call.
func insertCallSQL() string {
	const own = "(SELECT view FROM tool_calls WHERE archive_uuid = ?3 AND principal || '' = ?1 AND conversation_id || '' = ?2 AND " + indexed + ")"
	return insertCallsSQL("coalesce(nullif(?, "+own+"), '=')", 1)
}

// insertCallsSQL returns the statement that inserts calls whose common columns are equal,
// with the expression of a view.
func insertCallsSQL(view string, rows int) string {
	row := "(" + numberedParameters(commonColumns) + ", " + parameters(ownColumns-1) + ", " + view + ")"
	return "INSERT INTO tool_calls (" + callColumns + ") VALUES " + strings.Repeat(row+", ", rows-1) + row
}

// indexed selects the newest of the calls with a result that have a view of their own. Beside
// it, names are joined with an empty text, so that the index of conversations is not used.
const indexed = "archive_uuid <> '' AND view <> '=' ORDER BY id DESC LIMIT 1"

func parameters(n int) string { return strings.Repeat("?, ", n-1) + "?" }

func numberedParameters(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "?%d, ", i+1)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func (s *Store) log(b *sqlite.Batch, calls []Call, now time.Time) error {
	for len(calls) > 0 {
		n, statement := 1, s.insertCall
		if calls[0].UUID == "" && similar(calls) >= callsPerStatement {
			n, statement = callsPerStatement, s.insertCalls
		}
		c := calls[0]
		args := make([]any, 0, commonColumns+ownColumns*n)
		args = append(args, c.Scope.Principal, c.Scope.Conversation, c.UUID, c.Turn, c.Tool, c.Model, c.Format, c.Code, c.Layer)
		for _, c := range calls[:n] {
			if c.Created.IsZero() {
				c.Created = now
			}
			args = append(args, c.CallID, c.Produced, c.Shown, c.Extra, c.Duration.Microseconds(), c.Created.UnixMilli(), c.View)
		}
		if err := b.Run(statement, args...); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// similar returns how many of the first calls have equal common columns. It counts to
// callsPerStatement at most.
func similar(calls []Call) int {
	common := func(c Call) Call {
		c.CallID, c.Produced, c.Shown, c.View, c.Extra, c.Duration, c.Created = "", 0, 0, "", "", 0, time.Time{}
		return c
	}
	first, n := common(calls[0]), 1
	for n < min(len(calls), callsPerStatement) && common(calls[n]) == first {
		n++
	}
	return n
}

// Calls returns the call log from a time on, oldest first. A Scope without a
// conversation selects every conversation of the principal; the zero Scope selects
// those of all principals, which is for operators. The zero time selects everything.
func (s *Store) Calls(ctx context.Context, sc archive.Scope, since time.Time) (list []Call, err error) {
	from := int64(0)
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	text, args := callsSQL(sc, from)
	if list, err = sqlite.List(ctx, s.db, text, args, scanCall); err != nil {
		list = nil
	}
	return list, wrap(ctx, "reading the call log", err)
}

// CallOf returns the newest call of a principal whose result is the archived one, or
// ErrNotFound: of calls that repeat it and show the same, the first.
func (s *Store) CallOf(ctx context.Context, principal, uuid string) (c Call, err error) {
	found := false
	if uuid != "" {
		err = s.db.Each(ctx, "SELECT "+readColumns+" FROM tool_calls AS t WHERE archive_uuid = ? AND principal = ? AND "+indexed,
			[]any{uuid, principal}, func(row sqlite.Row) (err error) {
				found = true
				c, err = scanCall(row)
				return err
			})
	}
	if err == nil && !found {
		err = ErrNotFound
	}
	return c, wrap(ctx, "reading the call log", err)
}

const readColumns = `principal, conversation_id, turn, call_id, tool_name, model, format, code, cut_by, produced, shown,
	archive_uuid, CASE view WHEN '=' THEN (SELECT view FROM tool_calls WHERE archive_uuid = t.archive_uuid AND id < t.id
		AND principal || '' = t.principal AND conversation_id || '' = t.conversation_id AND ` + indexed + `) ELSE view END, extra, duration_us, created_at`

func scanCall(row sqlite.Row) (c Call, err error) {
	var micros int64
	var created sql.NullInt64
	err = row.Scan(&c.Scope.Principal, &c.Scope.Conversation, &c.Turn, &c.CallID, &c.Tool, &c.Model, &c.Format, &c.Code,
		&c.Layer, &c.Produced, &c.Shown, &c.UUID, &c.View, &c.Extra, &micros, &created)
	c.Duration, c.Created = time.Duration(micros)*time.Microsecond, sqlite.Time(created)
	return c, err
}

// callsSQL returns the statement that reads the calls of a Scope.
func callsSQL(sc archive.Scope, from int64) (text string, args []any) {
	where, args := "created_at >= ?", []any{from}
	if sc != (archive.Scope{}) {
		where, args = where+" AND principal = ?", append(args, sc.Principal)
	}
	if sc.Conversation != "" {
		where, args = where+" AND conversation_id = ?", append(args, sc.Conversation)
	}
	return "SELECT " + readColumns + " FROM tool_calls AS t WHERE " + where + " ORDER BY created_at, id", args
}

// latestCallsOf is how many calls of all principals LatestCalls looks through, for each
// one that it returns at most.
const latestCallsOf = 20

// LatestCalls returns at most n successful calls of a principal from before a time, the
// oldest first. It looks through the newest calls of all only, so its cost does not grow
// with the log. It implements host.CallLog.
func (s *Store) LatestCalls(ctx context.Context, principal string, before time.Time, n int) (list []tooluse.Call, err error) {
	err = s.db.Each(ctx, `SELECT conversation_id, tool_name FROM tool_calls WHERE id > (SELECT coalesce(max(id), 0) FROM tool_calls) - ?
		AND principal = ? AND created_at < ? AND code = 'ok' ORDER BY id DESC LIMIT ?`,
		[]any{latestCallsOf * n, principal, before.UnixMilli(), n}, func(row sqlite.Row) error {
			var c tooluse.Call
			err := row.Scan(&c.Conversation, &c.Tool)
			list = append(list, c)
			return err
		})
	slices.Reverse(list)
	return list, wrap(ctx, "reading the call log", err)
}

// RanTools returns the names of the tools that ran in a conversation, or in all of
// the principal's if the Scope has no conversation. It leaves out calls that were
// refused before their tool ran. The name of a tool that another program ran is empty: it
// has no format, and may have read anything. It implements host.CallLog.
func (s *Store) RanTools(ctx context.Context, sc archive.Scope) (names []string, err error) {
	where, args := "principal = ?", []any{sc.Principal}
	if sc.Conversation != "" {
		where, args = where+" AND conversation_id = ?", append(args, sc.Conversation)
	}
	// The log is written after the calls. A script that a crash interrupts goes on with what
	// it has read: its own record has the same age as its memory.
	err = s.db.Each(ctx, "SELECT kept FROM scripts WHERE "+where+" AND kept <> ''", args, func(row sqlite.Row) error {
		var text string
		var kept struct {
			Made []tool.Inner `json:"made"`
		}
		if err := errors.Join(row.Scan(&text), json.Unmarshal([]byte(text), &kept)); err != nil {
			return err
		}
		for _, c := range kept.Made {
			if !slices.Contains(refused(), c.Fault) && !slices.Contains(names, c.Tool) {
				names = append(names, c.Tool)
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrap(ctx, "reading the scripts", err)
	}
	// So do the results of a turn that a crash interrupts: the archive has them.
	args = append(args, args...)
	for _, code := range refused() {
		args = append(args, code)
	}
	args = append(args, len(MalformedCode), MalformedCode)
	err = s.db.Each(ctx, "SELECT tool_name FROM tool_result_archive WHERE "+where+
		" UNION SELECT CASE format WHEN '' THEN '' ELSE tool_name END FROM tool_calls WHERE "+where+" AND (code NOT IN (?, ?, ?, ?) OR extra LIKE '%\"ran\":true%') AND substr(code, 1, ?) <> ?", args, func(row sqlite.Row) error {
		var name string
		err := row.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, wrap(ctx, "reading the call log", err)
}

// refused returns the codes of calls that were refused before their tool ran.
func refused() []tool.Code {
	return []tool.Code{tool.UnknownTool, tool.BadArgs, tool.Denied, tool.RateLimited}
}
