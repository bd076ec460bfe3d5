package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// withProfile configures a daemon with a second profile, whose limit is 2,000 characters.
func (s *server) withProfile(name string) {
	s.Helper()
	limit, terse := 2000, agent.Defaults()
	terse.MaxToolResultLength = &limit
	set := Setup{Models: map[string]Model{"scripted": {Model: s.model}}, Profiles: map[string]Profile{"default": {Model: "scripted", Agent: agent.Defaults()}}}
	if name != "" {
		set.Profiles[name] = Profile{Model: "scripted", Agent: terse}
	}
	if err := s.daemon.Configure(set); err != nil {
		s.Fatal(err)
	}
}

// A question that names no profile has that of its conversation. A profile that is not
// configured any more is the default one.
func TestConversationKeepsItsProfile(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("Yes.") }))
	s.withProfile("terse")
	ask := func(body string) (int, string) {
		es := events(s.post("/api/chat", body).body)
		return last[api.ChatStart](t, es, api.EventStart).Limit, last[api.ChatEnd](t, es, api.EventEnd).Conversation
	}
	first, conversation := ask(`{"message":"a","profile":"terse"}`)
	again, _ := ask(fmt.Sprintf(`{"message":"b","conversation_id":%q}`, conversation))
	other, _ := ask(fmt.Sprintf(`{"message":"c","conversation_id":%q,"profile":"default"}`, conversation))
	fresh, _ := ask(`{"message":"d"}`)
	s.withProfile("")
	gone, _ := ask(fmt.Sprintf(`{"message":"e","conversation_id":%q}`, conversation))
	if got := []int{first, again, other, fresh, gone}; !slices.Equal(got, []int{2000, 2000, 4000, 4000, 4000}) {
		t.Errorf("limits %v", got)
	}
}

func TestListProfiles(t *testing.T) {
	s := newServer(t, replay.New())
	s.withProfile("terse")
	var out ProfileList
	if r := s.get("/api/profiles"); r.status != 200 || json.Unmarshal([]byte(r.body), &out) != nil || len(out.Profiles) != 2 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	first, second := out.Profiles[0], out.Profiles[1]
	if first.Name != "default" || !first.Default || first.Limit != 4000 || second.Name != "terse" || second.Default || second.Limit != 2000 || second.Model != "scripted" {
		t.Errorf("%+v", out)
	}
}

// The start of a turn names for each tool the limit that decides, and the one that would
// decide without it.
func TestStartNamesTheLimits(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("Yes.")))
	start := last[api.ChatStart](t, events(s.post("/api/chat", `{"message":"中文问题"}`).body), api.EventStart)
	if start.Why != "模型窗口未知" {
		t.Errorf("why %q", start.Why)
	}
	told := map[string]string{}
	for _, g := range start.Limits {
		for _, name := range g.Tools {
			told[name] = fmt.Sprint(g.Chars, g.By, g.Next, g.NextBy)
		}
	}
	if told["long_text"] != fmt.Sprint(4000, "agent", 32768, "ceiling") || told["calculator"] != fmt.Sprint(1000, "tool", 4000, "agent") {
		t.Errorf("%v", told)
	}
}

// Results belong to the thread that a question or an application names, and are found
// by it.
func TestThreads(t *testing.T) {
	s := newServer(t, replay.New(replay.Text(longCall), replay.Text("Made.")))
	s.post("/api/chat", `{"message":"Make a long text","thread_id":"t-1"}`)
	long := quoted(strings.Repeat("a line of a search\n", 3000))
	kept := s.keep(`{"tool_name":"their_search","thread_id":"t-1","conversation_id":"app","result":` + long + `}`)
	other := s.keep(`{"tool_name":"their_search","thread_id":"t-2","conversation_id":"app","result":` + long + `}`)
	again := s.keep(`{"tool_name":"their_search","thread_id":"t-2","conversation_id":"app","result":` + long + `}`)
	if kept.UUID == other.UUID || again.UUID != other.UUID {
		t.Errorf("the same result in two threads: %s, %s, %s", kept.UUID, other.UUID, again.UUID)
	}
	tools := func(query string) (out []string) {
		var list api.ArchiveList
		if r := s.get("/api/archives?" + query); r.status != 200 || json.Unmarshal([]byte(r.body), &list) != nil {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for _, a := range list.Archives {
			out = append(out, a.Tool+"@"+a.Thread)
		}
		return out
	}
	if got := tools("thread_id=t-1"); !slices.Equal(got, []string{"their_search@t-1", "long_text@t-1"}) {
		t.Errorf("%v", got)
	}
	if got := tools("thread_id=t-2"); !slices.Equal(got, []string{"their_search@t-2"}) {
		t.Errorf("%v", got)
	}
	for _, path := range []string{"/api/chat", "/api/results"} {
		body := fmt.Sprintf(`{"message":"x","thread_id":%q}`, strings.Repeat("x", 2000))
		if path == "/api/results" {
			body = fmt.Sprintf(`{"tool_name":"t","result":"x","thread_id":%q}`, strings.Repeat("x", 2000))
		}
		if r := s.post(path, body); r.status != 400 || r.code(t) != "bad_thread" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// An application with a loop of its own gets the placeholder for later turns.
func TestPostResultGivesThePlaceholder(t *testing.T) {
	s := newServer(t, replay.New())
	long := quoted(strings.Repeat("a line of a search\n", 3000))
	r := s.keep(`{"tool_name":"their_search","tool_input":{"query":"weir"},"result":` + long + `}`)
	for _, want := range []string{r.UUID, "their_search", "load_tool_history", "57000 characters"} {
		if !strings.Contains(r.Placeholder, want) {
			t.Errorf("%q is not in %s", want, r.Placeholder)
		}
	}
	if zh := s.keep(`{"tool_name":"their_search","locale":"zh","result":` + long + `}`); !strings.Contains(zh.Placeholder, "摘要") {
		t.Errorf("in Chinese: %s", zh.Placeholder)
	}
	if short := s.keep(`{"tool_name":"t","result":"short"}`); short.Placeholder != "" {
		t.Errorf("a short result has %q", short.Placeholder)
	}
}

// A field that other APIs have is refused with the name of the right one.
func TestUnknownFieldsNameTheRightOne(t *testing.T) {
	s := newServer(t, replay.New())
	for field, want := range map[string]string{"modelType": `"model"`, "userId": "the token", "conversationId": `"conversation_id"`, "threadId": `"thread_id"`, "other": "/openapi.json"} {
		var p struct{ Error api.Problem }
		r := s.post("/api/chat", fmt.Sprintf(`{"message":"x",%q:"y"}`, field))
		if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != 400 || !strings.Contains(p.Error.Hint.String(), want) {
			t.Errorf("%s: %d %s", field, r.status, r.body)
		}
	}
}

// A question may do without tools: the model does not read of them, and neither it nor its
// script can call them.
func TestWithoutTools(t *testing.T) {
	s := newServer(t, replay.New(
		replay.Call("long_text", `{"lines":3}`),
		replay.Call(tool.RunScript, `{"code":"return ALL_TOOLS.includes('long_text') + ' ' + ALL_TOOLS.includes('calculator')"}`),
		replay.Text("Done."),
		replay.Call("long_text", `{"lines":3}`), replay.Text("Done."),
	))
	s.offers(offer.Always, true)
	answer := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Count","without":["long_text"]}`).body), "chat.end")
	if len(answer.Results) != 1 || !strings.Contains(answer.Results[0].Text, "false true") {
		t.Errorf("without the tool: %+v", answer.Results)
	}
	again := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Again","conversation_id":"`+answer.Conversation+`"}`).body), "chat.end")
	if len(again.Results) != 1 || !again.Results[0].OK {
		t.Errorf("the next question: %+v", again.Results)
	}
	names := strings.Repeat(`"x",`, 1000) + `"x"`
	if a := s.post("/api/chat", `{"message":"Count","without":[`+names+`]}`); a.status != 400 || !strings.Contains(a.body, "at most 1000") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
