package daemon

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
)

func decoded[T any](t *testing.T, a answer) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != 200 {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return out
}

func TestListConversations(t *testing.T) {
	s := newServer(t, replay.New(replay.Text(longCall), replay.Text("Made."), replay.Text("two"), replay.Text("three")))
	first := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Make a \u202elong\u0007 text\nplease"}`).body), api.EventEnd).Conversation
	for _, q := range []string{"second", "\u200b \n third"} {
		s.post("/api/chat", `{"message":`+quoted(q)+`}`)
	}
	var titles []string
	for cursor := ""; ; {
		page := decoded[api.ConversationList](t, s.get("/api/conversations?limit=1&cursor="+url.QueryEscape(cursor)))
		titles = append(titles, page.Conversations[0].Title)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if fmt.Sprintf("%q", titles) != `["third" "second" "Make a long text"]` {
		t.Errorf("%q", titles)
	}
	row := decoded[api.ShownConversation](t, s.get("/api/conversations/"+first))
	c := row.Conversation
	if c.Turns != 1 || c.Calls != 1 || c.Cut != 1 || c.Archives != 1 || c.ArchiveBytes < 10000 || c.Messages != 4 || len(c.Models) != 1 || c.Models[0] != "scripted" || len(row.Messages[1].Calls) != 1 {
		t.Errorf("%+v", row)
	}
	if r := row.Messages[2].Results; len(r) != 1 || r[0].Layer == "" || r[0].Shown <= 0 || r[0].Shown >= r[0].Chars {
		t.Errorf("what was cut by which limit: %+v", row.Messages[2])
	}
	for _, bad := range []string{"?cursor=x", "?limit=-1", "?limit=x"} {
		if r := s.get("/api/conversations" + bad); r.status != 400 {
			t.Errorf("%s: %d %s", bad, r.status, r.body)
		}
	}
}

// A conversation that is read again reports of a call what the stream reported, though a
// placeholder has taken the place of its result.
func TestReadAgainIsAsItWas(t *testing.T) {
	s := newServer(t, replay.New(replay.Text(longCall), replay.Text("Made."), replay.Text("two")))
	all := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	live, id := last[api.ToolCallResult](t, all, api.EventResult), last[api.ChatEnd](t, all, api.EventEnd).Conversation
	if live.Limit == 0 || live.LinesShown == 0 {
		t.Fatalf("%+v", live)
	}
	row := decoded[api.ShownConversation](t, s.get("/api/conversations/"+id))
	r := row.Messages[2].Results[0]
	if !r.Folded || r.Limit != live.Limit || r.Unit != live.Unit || r.LinesProduced != live.LinesProduced || r.LinesShown != live.LinesShown {
		t.Errorf("%+v; live: %+v", r, live)
	}
	at := "/api/conversations/" + id + "/call?turn=1&call=" + r.CallID
	got := decoded[api.ToolCallResult](t, s.get(at))
	if got.Line, got.ElapsedMS = live.Line, live.ElapsedMS; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", live) {
		t.Errorf("got  %+v\nwant %+v", got, live)
	}
	for _, bad := range []string{"/call", "/call?turn=2&call=" + r.CallID, "/call?turn=1&call=x"} {
		if a := s.get("/api/conversations/" + id + bad); a.status != 404 {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
}

func TestRenameConversation(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("one"), replay.Text("two")))
	id := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"The first question"}`).body), api.EventEnd).Conversation
	rename := func(title string) answer {
		return s.do("PATCH", "/api/conversations/"+id, `{"title":`+quoted(title)+`}`, nil)
	}
	for given, want := range map[string]string{
		"天气":                     "天气",
		"a\tb\r\n c\x1b[31m":     "a b c[31m",
		"\u202eabc\u2066\ufeff":  "abc",
		strings.Repeat("长", 200): strings.Repeat("长", 200),
		" \u200b\n":              "The first question",
		"":                       "The first question",
		"<script>alert(1)":       "<script>alert(1)",
	} {
		if r := decoded[api.ConversationRow](t, rename(given)); r.Title != want || r.ID != id {
			t.Errorf("%q became %q, want %q", given, r.Title, want)
		}
	}
	if r := rename(strings.Repeat("x", 201)); r.status != 400 || r.code(t) != "bad_title" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := rename(strings.Repeat("x", 7<<20)); r.status != 400 || len(r.body) > 1000 {
		t.Errorf("a huge one: %d, %d bytes", r.status, len(r.body))
	}
	rename("mine")
	s.post("/api/chat", `{"message":"The second question","conversation_id":"`+id+`"}`)
	if r := decoded[api.ConversationList](t, s.get("/api/conversations")); r.Conversations[0].Title != "mine" {
		t.Errorf("a turn took the title back: %+v", r)
	}
	if r := s.do("PATCH", "/api/conversations/nobody", `{"title":"x"}`, nil); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestSearchConversationsRoute(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("因为请求超时。")))
	id := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"为什么失败？"}`).body), api.EventEnd).Conversation
	found := decoded[api.ConversationsFound](t, s.get("/api/conversations/search?q="+url.QueryEscape("超时")))
	if len(found.Hits) != 1 || found.Hits[0].Conversation != id || found.Hits[0].Where != store.InAnswer || found.Hits[0].Snippet != "因为请求超时。" || found.Hits[0].Message != 2 {
		t.Errorf("%+v", found)
	}
	for q, status := range map[string]int{"": 400, "%20": 400, "%22": 200, "a%00": 200, strings.Repeat("x", 1001): 400, "'%20OR%20''='": 200} {
		if r := s.get("/api/conversations/search?q=" + q); r.status != status {
			t.Errorf("%.40s: %d %s", q, r.status, r.body)
		}
	}
}

func TestExportForms(t *testing.T) {
	s := newServer(t, replay.New(replay.Text(longCall), replay.Text("Made.\n\n```go\nx\n```")))
	id := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Make a long text\n# not a heading"}`).body), api.EventEnd).Conversation
	s.do("PATCH", "/api/conversations/"+id, `{"title":"<b>*bold*</b>"}`, nil)
	uuid := decoded[api.ArchiveList](t, s.get("/api/archives")).Archives[0].UUID
	path := "/api/conversations/" + id + "/export?format="
	for _, row := range []struct {
		query, kind string
		has         []string
		whole       bool
	}{
		{"json", kindJSON, []string{`"tool_calls": [`, `"cut_by": "agent"`, uuid, `"left_out": true`}, false},
		{"json&archives=true", kindJSON, []string{uuid, "line 600:"}, true},
		{"markdown", kindMarkdown, []string{`# \<b\>\*bold\*`, "## Question 1", "> # not a heading", "### Tool call: `long_text`", "### Tool result: `long_text`",
			"the whole has 52000 characters", uuid, "Made.", "archives=true"}, false},
		{"markdown&archives=true&locale=zh", kindMarkdown, []string{"## 提问 1", "### 工具调用: `long_text`", "占位符", "## 存档的完整结果", uuid, "line 600:"}, true},
		{"jsonl", kindLines, []string{"line 600:"}, true},
	} {
		r := s.get(path + row.query)
		if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), row.kind) || strings.Contains(r.body, "line 300:") != row.whole {
			t.Errorf("%s: %d %v %.300s", row.query, r.status, r.header, r.body)
		}
		if name := r.header.Get("Content-Disposition"); !strings.HasPrefix(name, "attachment; filename=b-bold-b-20") {
			t.Errorf("%s is called %q", row.query, name)
		}
		for _, want := range row.has {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s lacks %q:\n%.3000s", row.query, want, r.body)
			}
		}
		if row.kind == kindJSON && !json.Valid([]byte(r.body)) {
			t.Errorf("%s is no JSON: %.300s", row.query, r.body)
		}
	}
	for _, bad := range []string{"pdf", "json&archives=maybe", "markdown&locale=fr", "jsonl&archives=false"} {
		if r := s.get(path + bad); r.status != 400 || r.code(t) != "bad_query" {
			t.Errorf("%s: %d %s", bad, r.status, r.body)
		}
	}
	gone := decoded[api.DeletedConversation](t, s.do("DELETE", "/api/conversations/"+id, "", nil))
	if gone.Messages != 4 || gone.Calls != 1 || gone.Archives != 1 || gone.ArchiveBytes < 10000 {
		t.Errorf("%+v", gone)
	}
	if r := s.get("/api/archives/" + uuid); r.status != 404 {
		t.Errorf("its archive: %d", r.status)
	}
}

// A conversation cannot be deleted under a turn, and a deletion is never half.
func TestDeleteWhileATurnRuns(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply {
		once.Do(func() { close(begun); <-goOn })
		return replay.Text("done")
	}))
	done := make(chan answer)
	go func() { done <- s.post("/api/chat", `{"message":"hi","conversation_id":"c1"}`) }()
	<-begun
	if r := s.do("DELETE", "/api/conversations/c1", "", nil); r.status != 409 || r.code(t) != "busy" {
		t.Errorf("%d %s", r.status, r.body)
	}
	close(goOn)
	if r := <-done; !strings.Contains(r.body, "done") {
		t.Errorf("%s", r.body)
	}
	if r := s.do("DELETE", "/api/conversations/c1", "", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.get("/api/conversations/c1"); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
