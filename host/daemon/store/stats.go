package store

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// Stats are the sums of the call log and the archive, of all principals together.
type Stats struct {
	Tools  []ToolStats  `json:"tools"`  // the most called first
	Models []ModelStats `json:"models"` // by model, then the most used format first
	// Folds are the clients with a loop of their own for which fold is switched on, the one with
	// the largest saving first.
	Folds []FoldStats `json:"folds,omitempty"`
	// Archives is the number of texts that are kept, Pruned of those that were removed.
	Archives int `json:"archives"`
	Pruned   int `json:"pruned"`
	// TextBytes is the length of the kept texts, StoredBytes what they use on disk
	// with parts and raw bytes, and FileBytes the size of the file.
	TextBytes   int64 `json:"text_bytes"`
	StoredBytes int64 `json:"stored_bytes"`
	FileBytes   int64 `json:"file_bytes"`
	// Days are the sums of each tool and day, if they were requested, the newest first.
	Days []DayStats `json:"days,omitempty"`
}

// DayStats are the sums of one tool on one day, from midnight to midnight by the daemon's
// clock. LoadedBack counts the results of that day that were loaded again, that day or later.
type DayStats struct {
	Day        string `json:"day"` // 2026-01-02
	Tool       string `json:"tool"`
	Calls      int    `json:"calls"`
	Failed     int    `json:"failed"`
	Cut        int    `json:"cut"`
	Archived   int    `json:"archived"`
	LoadedBack int    `json:"loaded_back"`
	// Produced, Shown and Saved are characters, as of ToolStats.
	Produced int64 `json:"produced"`
	Shown    int64 `json:"shown"`
	Saved    int64 `json:"saved"`
}

// ToolStats are the sums of one tool. Shares are counts over Calls or Archived.
type ToolStats struct {
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed"` // with another code than ok
	Cut    int    `json:"cut"`    // shown in part
	// Archived counts the archived results that still exist, LoadedBack those of them
	// that were loaded again.
	Archived   int `json:"archived"`
	LoadedBack int `json:"loaded_back"`
	// Produced, Shown and Saved are characters; Saved were not shown.
	Produced int64         `json:"produced"`
	Shown    int64         `json:"shown"`
	Saved    int64         `json:"saved"`
	Duration time.Duration `json:"-"` // of all calls; in JSON duration_ms
}

// plainStats are ToolStats without their methods.
type plainStats ToolStats

// toolStatsJSON is the JSON form of ToolStats. The call log counts microseconds, so a
// quick tool needs the fraction.
type toolStatsJSON struct {
	plainStats
	Millis float64 `json:"duration_ms"`
}

// MarshalJSON writes Duration as duration_ms, in milliseconds with a fraction.
func (t ToolStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(toolStatsJSON{plainStats(t), float64(t.Duration.Microseconds()) / 1000})
}

// UnmarshalJSON reads the form that MarshalJSON writes.
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
	// Calls counts the calls that could be parsed, Failed those of them with another
	// code than ok. Malformed counts the texts that could not be parsed.
	Calls     int `json:"calls"`
	Failed    int `json:"failed"`
	Malformed int `json:"malformed"`
	// Misused is Calls and Malformed together if the prompt does not ask for the format, such as a
	// code fence; see Misuse of parse.Format. Those calls run all the same.
	Misused int `json:"misused"`
	// Outcomes counts each code of the call log.
	Outcomes map[string]int `json:"outcomes"`
}

// add counts n rows with that code.
func (m *ModelStats) add(code string, n int) {
	code = cmp.Or(code, "ok")
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

// Stats returns the sums. The calls of deleted conversations are not in them.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	const doing = "reading statistics"
	st := Stats{Tools: []ToolStats{}, Models: []ModelStats{}} // JSON lists, even if empty
	a, err := s.results.Stats(ctx)
	if err != nil {
		return Stats{}, err
	}
	st.Archives, st.Pruned, st.TextBytes, st.StoredBytes, st.FileBytes = a.Archives, a.Pruned, a.TextBytes, a.StoredBytes, a.FileBytes
	if err := s.toolStats(ctx, &st); err != nil {
		return Stats{}, wrap(ctx, doing, err)
	}
	if err := s.modelStats(ctx, &st); err != nil {
		return Stats{}, wrap(ctx, doing, err)
	}
	return st, wrap(ctx, doing, s.foldStats(ctx, &st))
}

func (s *Store) toolStats(ctx context.Context, st *Stats) error {
	return s.db.Each(ctx, `SELECT c.tool_name, count(*), count(*) FILTER (WHERE c.code NOT IN ('', 'ok')), count(*) FILTER (WHERE c.cut_by <> ''),
		count(a.uuid), count(*) FILTER (WHERE a.load_count > 0), sum(c.produced), sum(c.shown), coalesce(sum(c.produced - c.shown) FILTER (WHERE c.produced > c.shown), 0), sum(c.duration_us)
		FROM tool_calls c LEFT JOIN tool_result_archive a ON a.uuid = c.archive_uuid AND c.archive_uuid <> ''
		WHERE substr(c.code, 1, ?) <> ? GROUP BY c.tool_name ORDER BY 2 DESC, 1`, []any{len(MalformedCode), MalformedCode}, func(row sqlite.Row) error {
		var t ToolStats
		var micros int64
		err := row.Scan(&t.Tool, &t.Calls, &t.Failed, &t.Cut, &t.Archived, &t.LoadedBack, &t.Produced, &t.Shown, &t.Saved, &micros)
		t.Duration = time.Duration(micros) * time.Microsecond
		st.Tools = append(st.Tools, t)
		return err
	})
}

// dayPart is the part of a day, in milliseconds, that is summed at once: midnight is at a
// multiple of it in every time zone.
const dayPart = 15 * 60 * 1000

// StatsByDay returns the sums of each tool for days before and with that of now, the newest
// day first, then the most called tool.
func (s *Store) StatsByDay(ctx context.Context, now time.Time, days int) ([]DayStats, error) {
	from := time.Date(now.Year(), now.Month(), now.Day()-days+1, 0, 0, 0, 0, now.Location())
	sums := map[[2]string]*DayStats{}
	err := s.db.Each(ctx, `SELECT c.created_at / ?, c.tool_name, count(*), count(*) FILTER (WHERE c.code NOT IN ('', 'ok')), count(*) FILTER (WHERE c.cut_by <> ''),
		count(a.uuid), count(*) FILTER (WHERE a.load_count > 0), sum(c.produced), sum(c.shown), coalesce(sum(c.produced - c.shown) FILTER (WHERE c.produced > c.shown), 0)
		FROM tool_calls c LEFT JOIN tool_result_archive a ON a.uuid = c.archive_uuid AND c.archive_uuid <> ''
		WHERE c.created_at >= ? AND substr(c.code, 1, ?) <> ? GROUP BY 1, 2`, []any{dayPart, from.UnixMilli(), len(MalformedCode), MalformedCode}, func(row sqlite.Row) error {
		var part int64
		var d DayStats
		err := row.Scan(&part, &d.Tool, &d.Calls, &d.Failed, &d.Cut, &d.Archived, &d.LoadedBack, &d.Produced, &d.Shown, &d.Saved)
		d.Day = time.UnixMilli(part * dayPart).In(now.Location()).Format(time.DateOnly)
		if sum := sums[[2]string{d.Day, d.Tool}]; sum != nil {
			sum.add(d)
		} else {
			sums[[2]string{d.Day, d.Tool}] = &d
		}
		return err
	})
	out := []DayStats{}
	for _, d := range sums {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b DayStats) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	return out, wrap(ctx, "reading statistics", err)
}

func (d *DayStats) add(o DayStats) {
	d.Calls, d.Failed, d.Cut, d.Archived, d.LoadedBack = d.Calls+o.Calls, d.Failed+o.Failed, d.Cut+o.Cut, d.Archived+o.Archived, d.LoadedBack+o.LoadedBack
	d.Produced, d.Shown, d.Saved = d.Produced+o.Produced, d.Shown+o.Shown, d.Saved+o.Saved
}

func (s *Store) modelStats(ctx context.Context, st *Stats) error {
	type key struct{ model, format string }
	byKey := map[key]*ModelStats{}
	if err := s.db.Each(ctx, `SELECT model, format, code, count(*) FROM tool_calls
		WHERE model <> '' OR format <> '' GROUP BY model, format, code`, nil, func(row sqlite.Row) error {
		var k key
		var code string
		var n int
		if err := row.Scan(&k.model, &k.format, &code, &n); err != nil {
			return err
		}
		if byKey[k] == nil {
			byKey[k] = &ModelStats{Model: k.model, Format: k.format, Outcomes: map[string]int{}}
		}
		byKey[k].add(code, n)
		return nil
	}); err != nil {
		return err
	}
	for _, m := range byKey {
		if parse.Format(m.Format).Misuse() != "" {
			m.Misused = m.Calls + m.Malformed
		}
		st.Models = append(st.Models, *m)
	}
	slices.SortFunc(st.Models, func(a, b ModelStats) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(b.Calls+b.Malformed, a.Calls+a.Malformed), cmp.Compare(a.Format, b.Format))
	})
	return nil
}
