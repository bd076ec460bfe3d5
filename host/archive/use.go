package archive

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// LogUse appends to the call log, all or nothing. Created is now where it is zero.
func (s *Store) LogUse(ctx context.Context, uses []ToolUse) error {
	if len(uses) == 0 {
		return nil
	}
	return wrap(ctx, "logging calls", s.commit(ctx, 0, func(b *batch) error { return b.log(uses, s.now()) }))
}

// usesAtOnce is how many uses one statement puts down, where there are as many:
// most of the time that a row takes is not the row's.
const usesAtOnce = 64

func insertUseText() string {
	return "INSERT INTO tool_calls (" + useColumns + ") VALUES (" + params(alikeColumns+ownColumns) + ")"
}

// insertAlikeText puts down uses that are alike, whose common columns are said once.
func insertAlikeText(rows int) string {
	own := "(" + params(ownColumns) + ")"
	return "INSERT INTO tool_calls (" + useColumns + ") SELECT " + numbered(alikeColumns) + ", * FROM (VALUES " + strings.Repeat(own+", ", rows-1) + own + ")"
}

// The columns of a use: those that calls of one tool, one behind the other, have in
// common as a rule, and its own.
const (
	useColumns   = "principal, conversation_id, turn, tool_name, model, format, code, cut_by, archive_uuid, call_id, produced, shown, duration_us, created_at"
	alikeColumns = 9
	ownColumns   = 5
)

// params are so many parameters of a statement, numbered those that are given
// their numbers.
func params(n int) string { return strings.Repeat("?, ", n-1) + "?" }

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "?%d, ", i+1)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func (b *batch) log(uses []ToolUse, now time.Time) error {
	for len(uses) > 0 {
		n, statement := 1, insertUse
		if alike(uses) >= usesAtOnce {
			n, statement = usesAtOnce, insertUses
		}
		u := uses[0]
		args := make([]any, 0, alikeColumns+ownColumns*n)
		args = append(args, u.Scope.Principal, u.Scope.Conversation, u.Turn, u.Tool, u.Model, u.Format, u.Code, u.Layer, u.UUID)
		for _, u := range uses[:n] {
			if u.Created.IsZero() {
				u.Created = now
			}
			args = append(args, u.CallID, u.Produced, u.Shown, u.Duration.Microseconds(), u.Created.UnixMilli())
		}
		if err := b.exec(statement, args...); err != nil {
			return err
		}
		uses = uses[n:]
	}
	return nil
}

// alike is how many of the first uses have all in common but what is each one's
// own; it stops counting at usesAtOnce.
func alike(uses []ToolUse) int {
	common := func(u ToolUse) ToolUse {
		u.CallID, u.Produced, u.Shown, u.Duration, u.Created = "", 0, 0, 0, time.Time{}
		return u
	}
	first, n := common(uses[0]), 1
	for n < min(len(uses), usesAtOnce) && common(uses[n]) == first {
		n++
	}
	return n
}

// Uses reads the call log from a time on, the oldest first. A Scope without a
// conversation means every conversation of the principal, the zero Scope
// everyone's: that is for operators. The zero time means everything.
func (s *Store) Uses(ctx context.Context, sc Scope, since time.Time) ([]ToolUse, error) {
	const doing = "reading the call log"
	from := int64(0)
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	text, args := usesOf(sc, from)
	rows, err := s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var list []ToolUse
	for rows.Next() {
		var u ToolUse
		var micros int64
		var created sql.NullInt64
		if err := rows.Scan(&u.Scope.Principal, &u.Scope.Conversation, &u.Turn, &u.CallID, &u.Tool, &u.Model, &u.Format, &u.Code,
			&u.Layer, &u.Produced, &u.Shown, &u.UUID, &micros, &created); err != nil {
			return nil, wrap(ctx, doing, err)
		}
		u.Duration, u.Created = time.Duration(micros)*time.Microsecond, timeOf(created)
		list = append(list, u)
	}
	return list, wrap(ctx, doing, rows.Err())
}

// usesOf is the statement that reads what a Scope means.
func usesOf(sc Scope, from int64) (text string, args []any) {
	where, args := "created_at >= ?", []any{from}
	if sc != (Scope{}) {
		where, args = where+" AND principal = ?", append(args, sc.Principal)
	}
	if sc.Conversation != "" {
		where, args = where+" AND conversation_id = ?", append(args, sc.Conversation)
	}
	return `SELECT principal, conversation_id, turn, call_id, tool_name, model, format, code, cut_by, produced, shown,
		archive_uuid, duration_us, created_at FROM tool_calls WHERE ` + where + " ORDER BY created_at, id", args
}

// Stats sum up the call log and the archive, for everyone together.
type Stats struct {
	Tools  []ToolStats  `json:"tools"`  // the most called first
	Models []ModelStats `json:"models"` // by model, then the most used format first
	// Archives counts the texts that are kept, Pruned those that went.
	Archives int `json:"archives"`
	Pruned   int `json:"pruned"`
	// TextBytes is the length of the kept texts, StoredBytes what they take
	// compressed, with parts and raw bytes, and FileBytes the size of the file.
	TextBytes   int64 `json:"text_bytes"`
	StoredBytes int64 `json:"stored_bytes"`
	FileBytes   int64 `json:"file_bytes"`
}

// ToolStats are the sums of one tool. Shares are counts over Calls or Archived.
type ToolStats struct {
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed"` // with another code than ok
	Cut    int    `json:"cut"`    // shown in part
	// Archived results that are still there, and how many of them were loaded back.
	Archived   int `json:"archived"`
	LoadedBack int `json:"loaded_back"`
	// Produced and Shown are characters; Saved is what was not shown.
	Produced int64         `json:"produced"`
	Shown    int64         `json:"shown"`
	Saved    int64         `json:"saved"`
	Duration time.Duration `json:"-"` // of all calls; in JSON duration_ms
}

// plainStats are ToolStats without their methods.
type plainStats ToolStats

// toolStatsJSON is how ToolStats are written. The call log counts
// microseconds, so a quick tool needs the fraction.
type toolStatsJSON struct {
	plainStats
	Millis float64 `json:"duration_ms"`
}

// MarshalJSON writes Duration as duration_ms, in milliseconds with a fraction.
func (t ToolStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(toolStatsJSON{plainStats(t), float64(t.Duration.Microseconds()) / 1000})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *ToolStats) UnmarshalJSON(text []byte) error {
	var j toolStatsJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*t = ToolStats(j.plainStats)
	t.Duration = time.Duration(math.Round(j.Millis*1000)) * time.Microsecond
	return nil
}

// ModelStats count one way in which one model writes calls.
type ModelStats struct {
	Model  string `json:"model"`
	Format string `json:"format"`
	// Calls are those that could be read, Failed those of them with another
	// code than ok; Malformed could not be read and are not among Calls.
	Calls     int `json:"calls"`
	Failed    int `json:"failed"`
	Malformed int `json:"malformed"`
	// Outcomes counts each code of the call log.
	Outcomes map[string]int `json:"outcomes"`
}

// add counts n rows with that code.
func (m *ModelStats) add(code string, n int) {
	if code == "" {
		code = "ok"
	}
	m.Outcomes[code] += n
	switch {
	case strings.HasPrefix(code, MalformedCode):
		m.Malformed += n
		return
	case code != "ok":
		m.Failed += n
	}
	m.Calls += n
}

// Stats reads the sums. They cover what is stored: a deleted conversation
// takes its calls with it.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	const doing = "reading statistics"
	st := Stats{Tools: []ToolStats{}, Models: []ModelStats{}} // lists, also where they are empty
	err := s.read.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE pruned_at IS NULL), count(pruned_at),
		coalesce(sum(result_bytes) FILTER (WHERE pruned_at IS NULL), 0), coalesce(sum(stored_bytes), 0),
		(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) FROM tool_result_archive`).
		Scan(&st.Archives, &st.Pruned, &st.TextBytes, &st.StoredBytes, &st.FileBytes)
	if err != nil {
		return Stats{}, wrap(ctx, doing, err)
	}
	if err := s.toolStats(ctx, &st); err != nil {
		return Stats{}, wrap(ctx, doing, err)
	}
	return st, wrap(ctx, doing, s.modelStats(ctx, &st))
}

func (s *Store) toolStats(ctx context.Context, st *Stats) error {
	rows, err := s.read.QueryContext(ctx, `SELECT c.tool_name, count(*), sum(c.code NOT IN ('', 'ok')), sum(c.cut_by <> ''),
		count(a.uuid), coalesce(sum(a.load_count > 0), 0), sum(c.produced), sum(c.shown), sum(max(c.produced - c.shown, 0)), sum(c.duration_us)
		FROM tool_calls c LEFT JOIN tool_result_archive a ON a.uuid = c.archive_uuid AND c.archive_uuid <> ''
		WHERE substr(c.code, 1, ?) <> ? GROUP BY c.tool_name ORDER BY 2 DESC, 1`, len(MalformedCode), MalformedCode)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var t ToolStats
		var micros int64
		if err := rows.Scan(&t.Tool, &t.Calls, &t.Failed, &t.Cut, &t.Archived, &t.LoadedBack, &t.Produced, &t.Shown, &t.Saved, &micros); err != nil {
			return err
		}
		t.Duration = time.Duration(micros) * time.Microsecond
		st.Tools = append(st.Tools, t)
	}
	return rows.Err()
}

func (s *Store) modelStats(ctx context.Context, st *Stats) error {
	rows, err := s.read.QueryContext(ctx, `SELECT model, format, code, count(*) FROM tool_calls
		WHERE model <> '' OR format <> '' GROUP BY model, format, code`)
	if err != nil {
		return err
	}
	defer rows.Close()
	type key struct{ model, format string }
	by := map[key]*ModelStats{}
	for rows.Next() {
		var k key
		var code string
		var n int
		if err := rows.Scan(&k.model, &k.format, &code, &n); err != nil {
			return err
		}
		if by[k] == nil {
			by[k] = &ModelStats{Model: k.model, Format: k.format, Outcomes: map[string]int{}}
		}
		by[k].add(code, n)
	}
	for _, m := range by {
		st.Models = append(st.Models, *m)
	}
	slices.SortFunc(st.Models, func(a, b ModelStats) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(b.Calls+b.Malformed, a.Calls+a.Malformed), cmp.Compare(a.Format, b.Format))
	})
	return rows.Err()
}
