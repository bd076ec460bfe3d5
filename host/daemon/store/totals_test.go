package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// say makes a conversation of messages, each "role: text".
func say(t testing.TB, s *fixture, sc Scope, title string, messages ...string) {
	t.Helper()
	rows := make([]Message, len(messages))
	for i, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		rows[i] = Message{Turn: i/2 + 1, Role: role, Content: text}
	}
	if err := s.Begin(t.Context(), Conversation{ID: sc.Conversation, Principal: sc.Principal, Title: title}, rows); err != nil {
		t.Fatal(err)
	}
}

func TestConversationPage(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	var want []string
	for i := range 7 {
		id := fmt.Sprint("c", i)
		say(t, s, Scope{Principal: "ann", Conversation: id}, id)
		want = append([]string{id}, want...)
		if i != 3 { // two of one moment
			c.forward(time.Minute)
		}
	}
	say(t, s, Scope{Principal: "bob", Conversation: "theirs"}, "bob")
	for _, limit := range []int{1, 2, 3, 7, 8, 0, -1} {
		var got []string
		for after, n := "", 0; n < 20; n++ {
			page, next, err := s.Page(t.Context(), "ann", PageOptions{Limit: limit, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range page {
				got = append(got, x.ID)
			}
			if after = next; next == "" {
				break
			}
		}
		sorted := slices.Clone(got)
		slices.Sort(sorted)
		if len(got) != 7 || len(slices.Compact(sorted)) != 7 || got[0] != want[0] || got[6] != want[6] {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	for _, bad := range []string{"x", "!!", "bm9wZQ", strings.Repeat("A", 1000)} {
		_, _, err := s.Page(t.Context(), "ann", PageOptions{After: bad})
		wantBadArgs(t, err)
	}
	// Another's cursor opens nothing of theirs.
	_, next, err := s.Page(t.Context(), "ann", PageOptions{Limit: 1})
	if page, _, err2 := s.Page(t.Context(), "bob", PageOptions{After: next}); err != nil || err2 != nil || len(page) > 1 || len(page) == 1 && page[0].ID != "theirs" {
		t.Errorf("%v %v %v", page, err, err2)
	}
}

func TestTotals(t *testing.T) {
	s := openTest(t)
	say(t, s, mine, "sums", "user: hi", "assistant: ho")
	cost := 0.25
	for _, turn := range []TurnUsage{
		{Turn: 1, Model: "small", Prompt: 100, Completion: 10, CachedPrompt: 5},
		{Turn: 2, Model: "large", Prompt: 1000, Completion: 20, Cost: &cost, Currency: "USD"},
		{Turn: 3, Model: "large", Prompt: 1, Completion: 2, Cost: &cost, Currency: "USD"},
	} {
		if err := s.Finish(t.Context(), mine, Turn{Usage: &turn}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, strings.Repeat("x", 3000))
	if err := s.LogCalls(t.Context(), []Call{
		{Scope: mine, Tool: "run", Code: "ok", Layer: "tool"}, {Scope: mine, Tool: "run", Code: "failed"},
		{Scope: mine, Tool: "?", Code: MalformedCode + "json"}, {Scope: Scope{Principal: "bob", Conversation: "c1"}, Tool: "theirs"},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Totals(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	got.Conversation = Conversation{ID: got.ID, Messages: got.Messages}
	want := Totals{Conversation: Conversation{ID: "c1", Messages: 2}, Turns: 3, Calls: 2, Cut: 1, Archives: 1, ArchiveBytes: 3000,
		Models: []string{"large", "small"}, Prompt: 1101, Completion: 32, CachedPrompt: 5, Costs: []Cost{{0.5, "USD"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page, _, err := s.Page(t.Context(), "ann", PageOptions{})
	if err != nil || len(page) != 1 || page[0].Prompt != 1101 {
		t.Errorf("%+v %v", page, err)
	}
	for _, sc := range strangers {
		if _, err := s.Totals(t.Context(), sc); err != ErrNotFound {
			t.Errorf("%v: %v", sc, err)
		}
	}
	out, err := s.DeleteConversation(t.Context(), mine)
	if err != nil || out != (Deleted{Messages: 2, Calls: 3, Archives: 1, ArchiveBytes: 3000}) {
		t.Errorf("deleted %+v, error %v", out, err)
	}
	var left int
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM turns").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d turns stay, error %v", left, err)
	}
}

func TestSearch(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	say(t, s, Scope{Principal: "ann", Conversation: "old"}, "Weather", "user: Will it rain in Oslo?", "assistant: 100% sure,\nit_will; ÄRGER and Жар ahead")
	c.forward(time.Minute)
	say(t, s, Scope{Principal: "ann", Conversation: "new"}, "超时的原因", "user: 为什么请求超时？", "assistant: 因为重试 retry 次数太多", "results: grep:\nerror timeout", "user: a", "user: retry", "user: retry", "user: retry")
	say(t, s, Scope{Principal: "bob", Conversation: "theirs"}, "Weather", "user: rain retry 超时")
	for query, want := range map[string]string{
		"rain":           "old/1/question",
		"RAIN oslo":      "old/1/question",
		"超时":             "new/1/question",
		"时":              "new/1/question",
		"原因":             "new/0/title",
		"重试 次数":          "new/2/answer",
		"retry":          "new/2/answer new/5/question new/6/question", // three of each
		"timeout":        "new/3/result",
		"weather":        "old/0/title",
		"100%":           "old/2/answer",
		"it_will":        "old/2/answer",
		"ärger":          "old/2/answer",
		"жар":            "old/2/answer",
		"rain 超时":        "",
		"%":              "old/2/answer",
		"_":              "old/2/answer",
		`"`:              "",
		`" OR 1=1 --`:    "",
		`rain* NEAR(x)`:  "",
		"title:Weather":  "",
		`\`:              "",
		"' OR ''='":      "",
		"rain\x00":       "old/1/question",
		"rain\xff":       "old/1/question",
		"\u202eniar":     "",
		"nothing at all": "",
	} {
		found, err := s.Search(t.Context(), "ann", query, SearchOptions{})
		var got []string
		for _, h := range found.Hits {
			got = append(got, fmt.Sprintf("%s/%d/%s", h.Conversation.ID, h.Seq, h.Where))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, error %v; want %q", query, got, err, want)
		}
	}
	found, err := s.Search(t.Context(), "ann", "it_will", SearchOptions{})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Line != 2 || found.Hits[0].Snippet != "it_will; ÄRGER and Жар ahead" {
		t.Errorf("%+v %v", found, err)
	}
	found, err = s.Search(t.Context(), "ann", "e", SearchOptions{Limit: 1})
	if err != nil || len(found.Hits) != 1 || !found.Stopped {
		t.Errorf("%+v %v", found, err)
	}
	for _, bad := range []string{"", " \n\t", "\x00", strings.Repeat("w ", 2000), strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), " ")} {
		_, err := s.Search(t.Context(), "ann", bad, SearchOptions{})
		wantBadArgs(t, err)
	}
}

// A search whose time is over says so and is no failure; one whose caller has
// gone is.
func TestSearchConversationsStops(t *testing.T) {
	s := openTest(t)
	say(t, s, mine, "t", "user: word")
	found, err := s.Search(t.Context(), "ann", "word", SearchOptions{Time: time.Nanosecond})
	if err != nil || !found.Stopped {
		t.Errorf("%+v %v", found, err)
	}
}

func TestUsageDays(t *testing.T) {
	s := openTest(t, func(cfg *archive.Config) { cfg.MaxAge = time.Hour })
	now := time.UnixMilli(1_780_000_000_000)
	for range 2 {
		if err := s.AddUsage(t.Context(), []Increment{
			{Principal: "ann", DayUsage: DayUsage{Day: "2026-01-02", Requests: 1, Prompt: 10, Completion: 2, Costs: []Cost{{0.5, "USD"}}}, Recent: []time.Time{now}},
			{Principal: "ann", DayUsage: DayUsage{Day: "2026-01-03", Refused: 1}},
			{Principal: "bob", DayUsage: DayUsage{Day: "2026-01-03", Requests: 9}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Usage(t.Context(), "ann", "2026-01-01")
	want := []DayUsage{{Day: "2026-01-03", Refused: 2}, {Day: "2026-01-02", Requests: 2, Prompt: 20, Completion: 4, Costs: []Cost{{1, "USD"}}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if list, err := s.Usage(t.Context(), "ann", "2026-01-04"); err != nil || list != nil {
		t.Errorf("%v %v", list, err)
	}
	if times, err := s.Recent(t.Context(), "ann"); err != nil || len(times) != 1 || !times[0].Equal(now) {
		t.Errorf("%v %v", times, err)
	}
	if times, err := s.Recent(t.Context(), "carl"); err != nil || len(times) != 0 {
		t.Errorf("%v %v", times, err)
	}
	before := time.Now()
	put(t, s, "12345")
	after := time.Now()
	if n, freeAt, err := s.archive.Usage(t.Context(), "ann"); err != nil || n != 5 || freeAt.Before(before) || freeAt.After(after.Add(time.Hour)) {
		t.Errorf("%d %v %v", n, freeAt, err)
	}
	if n, freeAt, err := s.archive.Usage(t.Context(), "bob"); err != nil || n != 0 || !freeAt.IsZero() {
		t.Errorf("%d %v %v", n, freeAt, err)
	}
}

func TestExportDocument(t *testing.T) {
	s := openTest(t)
	say(t, s, mine, "titel <b>", "user: one", "assistant: two")
	e := put(t, s, strings.Repeat("line\n", 500))
	for _, whole := range []bool{false, true} {
		var out bytes.Buffer
		if err := s.ExportDocument(t.Context(), mine, &out, whole); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Conversation exportConversation
			Messages     []exportMessage
			ToolCalls    []exportCall `json:"tool_calls"`
			Archives     []exportResult
		}
		d := json.NewDecoder(&out)
		d.DisallowUnknownFields()
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if doc.Conversation.Title != "titel <b>" || len(doc.Messages) != 2 || doc.ToolCalls == nil || len(doc.ToolCalls) != 0 || len(doc.Archives) != 1 {
			t.Errorf("%+v", doc)
		}
		a := doc.Archives[0]
		if a.UUID != e.UUID || a.SHA256 != e.SHA256 || a.Chars != e.Chars || a.LeftOut == whole || (a.Full != nil) != whole || whole && *a.Full != e.Full {
			t.Errorf("whole %v: %+v", whole, a)
		}
	}
	// Archives that have no conversation are a document too.
	putEntry(t, s, archive.Entry{Scope: Scope{Principal: "ann", Conversation: "bare"}, Tool: "run", Full: "x"})
	var out bytes.Buffer
	if err := s.ExportDocument(t.Context(), Scope{Principal: "ann", Conversation: "bare"}, &out, true); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	for _, sc := range strangers {
		out.Reset()
		if err := s.ExportDocument(t.Context(), sc, &out, true); err != ErrNotFound || out.Len() > 0 {
			t.Errorf("%v: %v %s", sc, err, out.Bytes())
		}
	}
}

// heapWriter notes how much memory is in use while it is written to.
type heapWriter struct{ n, most uint64 }

func (h *heapWriter) Write(p []byte) (int, error) {
	if h.n += uint64(len(p)); h.n>>20 != (h.n-uint64(len(p)))>>20 { // each MiB
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.most = max(h.most, m.HeapAlloc)
	}
	return len(p), nil
}

func TestExportOfTenThousandMessages(t *testing.T) {
	pgtest.Long(t)
	s := openTest(t)
	rows := make([]Message, 10_000)
	for i := range rows {
		rows[i] = Message{Turn: i + 1, Role: "user", Content: strings.Repeat("z", 2000)}
	}
	if err := s.Begin(t.Context(), Conversation{ID: "c1", Principal: "ann"}, rows); err != nil {
		t.Fatal(err)
	}
	clear(rows)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var w heapWriter
	if err := s.ExportDocument(t.Context(), mine, &w, true); err != nil {
		t.Fatal(err)
	}
	if w.n < 20_000_000 || w.most > before.HeapAlloc+4<<20 {
		t.Errorf("%d bytes were written with %d bytes in use, %d before", w.n, w.most, before.HeapAlloc)
	}
}

// A conversation that is deleted under an export is no shorter conversation.
func TestExportOfWhatIsDeleted(t *testing.T) {
	s := openTest(t)
	rows := make([]string, 2*pageRows)
	for i := range rows {
		rows[i] = "user: canary-41"
	}
	say(t, s, mine, "t", rows...)
	n := 0
	err := s.EachMessage(t.Context(), mine, func(Message) error {
		if n++; n == 1 {
			if _, err := s.DeleteConversation(t.Context(), mine); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	})
	if !errors.Is(err, ErrNotFound) || n != pageRows {
		t.Errorf("%d messages, error %v", n, err)
	}
	// Of what was deleted nothing is in the files.
	for _, end := range []string{"", "-wal"} {
		if text, err := os.ReadFile(s.path + end); err == nil && bytes.Contains(text, []byte("canary-41")) {
			t.Errorf("the text is still in archive.db%s", end)
		}
	}
}
