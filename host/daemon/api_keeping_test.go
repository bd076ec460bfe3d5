package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// stored is a text that no other holds, long enough to be archived.
func (s *server) stored(conversation, text string) string {
	s.Helper()
	return s.keep(fmt.Sprintf(`{"tool_name":"grep","tool_input":{"pattern":"x"},"conversation_id":%q,"result":%s}`,
		conversation, quoted("first line\n"+text+"\n"+strings.Repeat("filler\n", 200)))).UUID
}

// A search and a list of one conversation hold to it, also where conversations share the
// archive.
func TestSearchArchives(t *testing.T) {
	for _, shared := range []bool{false, true} {
		s := serverWith(t, replay.New(), func(cfg *host.Config) { cfg.Archive.UserScope = shared })
		searchArchives(t, s)
		for conversation, want := range map[string]int{"": 2, "one": 1, "two": 1, "three": 0} {
			if a := s.get("/api/archives?conversation_id=" + conversation); strings.Count(a.body, `"uuid":`) != want {
				t.Errorf("shared %v, conversation %q, want %d: %s", shared, conversation, want, a.body)
			}
		}
	}
}

func searchArchives(t *testing.T, s *server) {
	t.Helper()
	a, b := s.stored("one", "the timeout of 30 s"), s.stored("two", "a TIMEOUT and 超时 too")
	for _, row := range []struct {
		query string
		want  []string // ids in the order of the hits
		line  int
	}{
		{"q=timeout", []string{b, a}, 2},
		{"q=timeout&conversation_id=one", []string{a}, 2},
		{"q=timeout&limit=1", []string{b}, 2},
		{"q=" + "%E8%B6%85%E6%97%B6", []string{b}, 2}, // two Chinese characters
		{"q=pattern+grep", nil, 0},                    // a name of an argument is not what was asked for
		{"q=x", []string{b, a}, 0},                    // but its value is in the call
		{"q=nowhere", nil, 0},
		{"q=timeout&conversation_id=three", nil, 0},
	} {
		r := s.get("/api/archives/search?" + row.query)
		var out struct {
			Hits []api.Hit
			Left int
		}
		if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 {
			t.Fatalf("%s: %d %s", row.query, r.status, r.body)
		}
		var got []string
		for _, h := range out.Hits {
			got = append(got, h.UUID)
			if h.Line != row.line || h.Snippet == "" || h.Tool != "grep" || h.Conversation == "" || h.Created.IsZero() {
				t.Errorf("%s: hit %+v", row.query, h)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: found %v, want %v", row.query, got, row.want)
		}
	}
	for _, q := range []string{"", "q=", "q=+", "q=x&limit=-1", "q=x&limit=all"} {
		if r := s.get("/api/archives/search?" + q); r.status != 400 || r.code(t) == "" {
			t.Errorf("%q: %d %s", q, r.status, r.body)
		}
	}
}

// onDisk lists the files of the archive that hold a text. Of PostgreSQL's nothing is
// promised.
func onDisk(t *testing.T, dir, needle string) []string {
	t.Helper()
	if pgtest.InPostgres() {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	var in []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(b), needle) {
			in = append(in, filepath.Base(f))
		}
	}
	return in
}

// A deleted result leaves the disk while the daemon runs on.
func TestDeleteArchive(t *testing.T) {
	dir := t.TempDir()
	s := serverWith(t, replay.New(), func(cfg *host.Config) { cfg.Archive.Path = filepath.Join(dir, "archive.db") })
	gone, stays := s.stored("one", "needle-gone"), s.stored("one", "needle-stays")
	if onDisk(t, dir, "needle-gone") == nil && !pgtest.InPostgres() {
		t.Fatal("the text is not on the disk, so this test shows nothing")
	}
	if r := s.do("DELETE", "/api/archives/"+gone, "", nil); r.status != 204 || r.body != "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if in := onDisk(t, dir, "needle-gone"); in != nil {
		t.Errorf("the text is left in %v", in)
	}
	if r := s.get("/api/archives/" + gone); r.status != 404 {
		t.Errorf("reading it: %d %s", r.status, r.body)
	}
	if r := s.get("/api/archives/" + stays + "?lines=2-2"); !strings.Contains(r.body, "needle-stays") {
		t.Errorf("the other: %s", r.body)
	}
	for _, id := range []string{gone, "not-a-uuid", "search", "prune"} {
		if r := s.do("DELETE", "/api/archives/"+id, "", nil); r.status != 404 {
			t.Errorf("deleting %s: %d %s", id, r.status, r.body)
		}
	}
	if r := s.do("DELETE", "/api/conversations/one", "", nil); r.status != 200 || onDisk(t, dir, "needle-stays") != nil {
		t.Errorf("deleting the conversation: %d; the text is left in %v", r.status, onDisk(t, dir, "needle-stays"))
	}
}

func TestPruneArchives(t *testing.T) {
	var later atomic.Int64 // hours
	dir := t.TempDir()
	s := serverWith(t, replay.New(), func(cfg *host.Config) {
		cfg.Archive.Path, cfg.Archive.MaxAge = filepath.Join(dir, "archive.db"), 24*time.Hour
		cfg.Now = func() time.Time {
			return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(later.Load()) * time.Hour)
		}
	})
	old := s.stored("one", "needle-old")
	later.Store(23)
	young := s.stored("one", "needle-young")
	later.Store(25)
	prune := func(body string) (out struct {
		DryRun bool `json:"dry_run"`
		Pruned []api.PrunedRow
		Count  int
		Bytes  int64
		Kept   int
	}) {
		t.Helper()
		r := s.post("/api/archives/prune", body)
		if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return out
	}
	dry := prune(`{"dry_run":true}`)
	if !dry.DryRun || len(dry.Pruned) != 1 || dry.Pruned[0].UUID != old || dry.Pruned[0].Reason != "age" || dry.Count != 1 || dry.Bytes < 1000 || dry.Kept != 1 {
		t.Errorf("a dry run says %+v", dry)
	}
	if r := s.get("/api/archives/" + old); r.status != 200 {
		t.Errorf("a dry run removed it: %d", r.status)
	}
	if wet := prune(`{}`); wet.DryRun || len(wet.Pruned) != 1 || wet.Pruned[0].UUID != old {
		t.Errorf("pruned %+v", wet)
	}
	if in := onDisk(t, dir, "needle-old"); in != nil {
		t.Errorf("the text is left in %v", in)
	}
	if r := s.get("/api/archives/" + old); r.status != 410 || r.code(t) != "expired" {
		t.Errorf("a pruned one: %d %s", r.status, r.body)
	}
	if r := s.get("/api/archives/" + young); r.status != 200 {
		t.Errorf("a young one: %d %s", r.status, r.body)
	}
	if again := prune(`{"dry_run":true}`); again.Count != 0 || again.Pruned == nil || again.Kept != 1 {
		t.Errorf("then there is nothing to do: %+v", again)
	}
	if r := s.do("DELETE", "/api/archives/"+old, "", nil); r.status != 204 {
		t.Errorf("deleting what is left of a pruned one: %d %s", r.status, r.body)
	}
	for _, body := range []string{``, `{"dry":true}`, `[]`, `{"dry_run":"yes"}`} {
		if r := s.post("/api/archives/prune", body); r.status != 400 || r.code(t) != "bad_body" {
			t.Errorf("%q: %d %s", body, r.status, r.body)
		}
	}
}

func TestExportConversation(t *testing.T) {
	s := newServer(t, replay.New(replay.Text(longCall), replay.Text("Made.")))
	conv := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Make a long text"}`).body), api.EventEnd).Conversation
	s.stored("other", "not of this conversation")
	r := s.get("/api/conversations/" + conv + "/export")
	if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), "application/x-ndjson") {
		t.Fatalf("%d %v %.300s", r.status, r.header, r.body)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(r.body) {
		var l struct {
			Kind    string
			Archive *struct {
				Full string `json:"result_full"`
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		kinds[l.Kind]++
		if l.Archive != nil && (len([]rune(l.Archive.Full)) != 52000 || !strings.Contains(l.Archive.Full, "line 600:")) {
			t.Errorf("the archive has %d characters", len([]rune(l.Archive.Full)))
		}
	}
	if fmt.Sprint(kinds) != "map[archive:1 conversation:1 message:4 tool_call:1]" || strings.Contains(r.body, "not of this conversation") {
		t.Errorf("exported %v", kinds)
	}
	if r := s.get("/api/conversations/nobody/export"); r.status != 404 || r.code(t) != "not_found" {
		t.Errorf("none: %d %s", r.status, r.body)
	}
}
