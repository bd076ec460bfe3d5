package daemon

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
)

func (s *server) keep(body string) KeptResult {
	s.Helper()
	r := s.post("/api/results", body)
	var out KeptResult
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 {
		s.Fatalf("%.200s: %d %.200s", body, r.status, r.body)
	}
	return out
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a Go string always marshals
	return string(b)
}

// An application with a loop of its own gives a long result and gets what its
// model is to read; the whole is in the archive.
func TestPostResult(t *testing.T) {
	s := newServer(t, replay.New())
	long := strings.Repeat("a line of a search\n", 3000)
	r := s.keep(`{"tool_name":"their_search","tool_input":{"q":"weir"},"conversation_id":"app-1","result":` + quoted(long) + `}`)
	if !r.Cut || r.UUID == "" || r.Layer != "default" || r.Limit != 8000 || len(r.Text) > 8000 || r.Produced != len(long) || r.Conversation != "app-1" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Text, r.UUID) || !strings.Contains(r.Text, "load_tool_history") {
		t.Errorf("the notice does not name the call: …%s", r.Text[len(r.Text)-300:])
	}
	if page := s.get("/api/archives/" + r.UUID + "?lines=1500-1500"); !strings.Contains(page.body, `"tool":"their_search"`) || !strings.Contains(page.body, `"arguments":{"q":"weir"}`) {
		t.Errorf("archived as %s", page.body)
	}
	var load api.ToolCallResult
	a := s.post("/api/tools/load_tool_history/call", `{"arguments":{"uuid":"`+r.UUID+`","lines":"2999-3000"},"conversation_id":"app-1"}`)
	if err := json.Unmarshal([]byte(a.body), &load); err != nil || !load.OK || !strings.HasPrefix(load.Text, "a line of a search\n") {
		t.Errorf("loaded back: %s", a.body)
	}
	if st := s.get("/api/stats"); !strings.Contains(st.body, "their_search") {
		t.Errorf("the statistics do not know it: %s", st.body)
	}
}

func TestPostResultShapes(t *testing.T) {
	s := newServer(t, replay.New())
	for _, row := range []struct{ why, body, text string }{
		{"a short text comes back as it is", `{"tool_name":"t","result":"short"}`, "short"},
		{"JSON that is no string is kept as it is written", `{"tool_name":"t","result": {"a": [1, 2]} }`, `{"a": [1, 2]}`},
		{"ANSI goes, and what could forge a call is made harmless", `{"tool_name":"t","result":"\u001b[31mred\u001b[0m"}`, "red"},
		{"an empty text is a result", `{"tool_name":"t","result":""}`, ""},
	} {
		r := s.keep(row.body)
		if r.Cut || r.UUID != "" || strings.TrimSuffix(r.Text, "\n") != row.text || r.Conversation != CallConversation+"local" {
			t.Errorf("%s: %+v", row.why, r)
		}
	}
	if r := s.keep(`{"tool_name":"t","locale":"zh","result":` + quoted(strings.Repeat("长文本。", 5000)) + `}`); !strings.Contains(r.Text, "结果已截断，原始长度: 20000 字符") {
		t.Errorf("…%s", r.Text[len(r.Text)-300:])
	}
	// A body may be longer than the text in it: every character of this one takes six bytes.
	if r := s.keep(`{"tool_name":"t","result":"` + strings.Repeat(`\u0041`, 2<<20) + `"}`); r.Produced != 2<<20 {
		t.Errorf("%d characters", r.Produced)
	}
}

func TestPostResultRefuses(t *testing.T) {
	s := newServer(t, replay.New())
	for _, row := range []struct {
		body   string
		status int
		code   string
	}{
		{``, 400, "bad_body"},
		{`{"tool_name":"t"}`, 400, "bad_body"},
		{`{"tool_name":"t","result":null}`, 400, "bad_body"},
		{`{"tool_name":"t","result":"x","max_chars":9}`, 400, "bad_body"}, // limits are not the caller's to set
		{`{"tool_name":7,"result":"x"}`, 400, "bad_body"},
		{`{"result":"x"}`, 400, "bad_args"},
		{`{"tool_name":"load_tool_history","result":"x"}`, 403, "denied"},
		{`{"tool_name":"t","result":"` + strings.Repeat("x", 25<<20) + `"}`, 413, "too_large"},
	} {
		r := s.post("/api/results", row.body)
		if r.status != row.status || r.code(t) != row.code {
			t.Errorf("%.60s: %d %.200s, want %d %s", row.body, r.status, r.body, row.status, row.code)
		}
	}
}

// A question brings an archived result with it: the model reads it before its
// first word, and the next question does not carry it any more.
func TestLoadUUIDs(t *testing.T) {
	m := replay.New(replay.Text(longCall), replay.Text("Made."), replay.Text("Line 600 it is."), replay.Text("Bye."))
	s := newServer(t, m)
	es := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	uuid, conv := last[api.ToolCallResult](t, es, api.EventResult).KeptUUID, last[api.ChatEnd](t, es, api.EventEnd).Conversation
	es = events(s.post("/api/chat", fmt.Sprintf(`{"message":"What is in it?","conversation_id":%q,"load_uuids":[%q,%q]}`, conv, uuid, uuid)).body)
	if c := last[api.ToolCallStart](t, es, api.EventCall); c.Tool != "load_tool_history" || c.Format != "preload" {
		t.Errorf("call %+v", c)
	}
	end := last[api.ChatEnd](t, es, api.EventEnd)
	if end.Answer != "Line 600 it is." || end.Calls != 1 || end.Reason != agent.ReasonAnswer {
		t.Errorf("end %+v", end)
	}
	s.post("/api/chat", fmt.Sprintf(`{"message":"Bye","conversation_id":%q}`, conv))
	reqs := m.Requests()
	sent := func(i int) string {
		var b strings.Builder
		for _, msg := range reqs[i].Messages {
			b.WriteString(msg.Text)
		}
		return b.String()
	}
	if !strings.Contains(sent(2), "line 300:") || strings.Contains(sent(3), "line 300:") {
		t.Errorf("line 300 should stand in the third request alone: %v %v", strings.Contains(sent(2), "line 300:"), strings.Contains(sent(3), "line 300:"))
	}
	if last := reqs[2].Messages[len(reqs[2].Messages)-1]; !strings.Contains(last.Text, "line 300:") {
		t.Error("the load should stand at the tail")
	}
}

// A load may name a part, as load_tool_history does.
func TestLoadUUIDsOfAPart(t *testing.T) {
	m := replay.New(replay.Text(longCall), replay.Text("Made."), replay.Text("Read."))
	s := newServer(t, m)
	es := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	uuid, conv := last[api.ToolCallResult](t, es, api.EventResult).KeptUUID, last[api.ChatEnd](t, es, api.EventEnd).Conversation
	es = events(s.post("/api/chat", fmt.Sprintf(`{"message":"What is in it?","conversation_id":%[1]q,"load_uuids":[{"uuid":%[2]q,"lines":"300-301"},{"uuid":%[2]q,"grep":"line 77:"},{"lines":"300-301","uuid":%[2]q}]}`, conv, uuid)).body)
	if end := last[api.ChatEnd](t, es, api.EventEnd); end.Calls != 2 || end.Answer != "Read." {
		t.Errorf("end %+v", end)
	}
	var sent strings.Builder
	for _, msg := range m.Requests()[2].Messages {
		sent.WriteString(msg.Text)
	}
	for text, want := range map[string]bool{"line 300:": true, "line 301:": true, "line 302:": false, "77:line 77:": true} {
		if strings.Contains(sent.String(), text) != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	}
	for _, l := range []api.Load{{UUID: "a"}, {UUID: "a", Selectors: map[string]json.RawMessage{"lines": json.RawMessage(`"1-2"`)}}} {
		text, err := json.Marshal(l)
		var back api.Load
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(l, back) {
			t.Errorf("%+v goes as %s and comes as %+v, error %v", l, text, back, err)
		}
	}
}

// The route returns what fits of a load before the question is asked, and stores nothing.
func TestFits(t *testing.T) {
	m := replay.New(replay.Text(longCall), replay.Text("Made."), replay.Text("Read."))
	s := newServer(t, m)
	es := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	uuid, conv := last[api.ToolCallResult](t, es, api.EventResult).KeptUUID, last[api.ChatEnd](t, es, api.EventEnd).Conversation
	ask := fmt.Sprintf(`{"message":"What is in it?","conversation_id":%[1]q,"load_uuids":[%[2]q,{"uuid":%[2]q,"lines":"300-301"}]}`, conv, uuid)
	var told api.Fits
	if r := s.post("/api/chat/fits", ask); r.status != 200 || json.Unmarshal([]byte(r.body), &told) != nil || len(told.Loads) != 2 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := s.post("/api/chat/fits", fmt.Sprintf(`{"conversation_id":%q}`, conv)); r.status != 200 || !strings.Contains(r.body, `"loads":[]`) {
		t.Errorf("without a question and loads: %d %s", r.status, r.body)
	}
	if r := s.post("/api/chat/fits", fmt.Sprintf(`{"conversation_id":%q,"load_uuids":["01a20603-0000-7000-8000-000000000000"]}`, conv)); r.status != 404 {
		t.Errorf("an archive that is not there: %d %s", r.status, r.body)
	}
	n := 0
	for _, e := range events(s.post("/api/chat", ask).body) {
		if e.name != api.EventResult {
			continue
		}
		var got api.ToolCallResult
		if err := json.Unmarshal([]byte(e.data), &got); err != nil {
			t.Fatal(err)
		}
		if l := told.Loads[n]; l.UUID != uuid || l.Chars != got.Produced || l.Fits != got.Shown || l.Fits == 0 {
			t.Errorf("told %+v, then %d of %d characters were shown", l, got.Shown, got.Produced)
		}
		n++
	}
	if n != 2 || len(m.Requests()) != 3 {
		t.Errorf("%d loads, %d requests", n, len(m.Requests()))
	}
}

func TestLoadUUIDsRefuses(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("no question should come to me")))
	mine := s.keep(`{"tool_name":"t","conversation_id":"mine","result":` + quoted(strings.Repeat("x", 2000)) + `}`)
	gone := "0b9fbdcd-6f1e-4f4f-9d0e-3f2d8f6a7b10"
	many := strings.TrimSuffix(strings.Repeat(`"%s",`, 9), ",")
	for _, row := range []struct {
		why, body string
		status    int
		code      string
	}{
		{"an id that never was", `{"message":"hi","conversation_id":"mine","load_uuids":["` + gone + `"]}`, 404, "not_found"},
		{"one good, one bad", `{"message":"hi","conversation_id":"mine","load_uuids":["` + mine.UUID + `","` + gone + `"]}`, 404, "not_found"},
		{"another conversation's", `{"message":"hi","conversation_id":"other","load_uuids":["` + mine.UUID + `"]}`, 404, "not_found"},
		{"a new conversation has none", `{"message":"hi","load_uuids":["` + mine.UUID + `"]}`, 404, "not_found"},
		{"a part of nothing", `{"message":"hi","conversation_id":"mine","load_uuids":[{"uuid":"` + gone + `","lines":"1-2"}]}`, 404, "not_found"},
		{"lines that it has not", `{"message":"hi","conversation_id":"mine","load_uuids":[{"uuid":"` + mine.UUID + `","lines":"50-60"}]}`, 400, "bad_args"},
		{"lines that are none", `{"message":"hi","conversation_id":"mine","load_uuids":[{"uuid":"` + mine.UUID + `","lines":"two"}]}`, 400, "bad_args"},
		{"a misspelt selector", `{"message":"hi","conversation_id":"mine","load_uuids":[{"uuid":"` + mine.UUID + `","linse":"1-2"}]}`, 400, "bad_args"},
		{"an object without an id", `{"message":"hi","conversation_id":"mine","load_uuids":[{"lines":"1-2"}]}`, 400, "bad_body"},
		{"a number", `{"message":"hi","conversation_id":"mine","load_uuids":[5]}`, 400, "bad_body"},
		{"no id at all", `{"message":"hi","conversation_id":"mine","load_uuids":[""]}`, 404, "not_found"},
		{"too many", fmt.Sprintf(`{"message":"hi","load_uuids":[`+many+`]}`, "1", "2", "3", "4", "5", "6", "7", "8", "9"), 400, "too_many_loads"},
		{"not a list", `{"message":"hi","load_uuids":"` + gone + `"}`, 400, "bad_body"},
	} {
		if r := s.post("/api/chat", row.body); r.status != row.status || r.code(t) != row.code {
			t.Errorf("%s: %d %s", row.why, r.status, r.body)
		}
	}
	if r := s.post("/api/chat", `{"message":"hi","load_uuids":[{"lines":"1-2"}]}`); !strings.Contains(r.body, `no \"uuid\"`) {
		t.Errorf("an object without an id: %s", r.body)
	}
	if reqs := s.model.(*replay.Model).Requests(); len(reqs) != 0 {
		t.Errorf("the model was asked %d times", len(reqs))
	}
	if list, err := s.daemon.store.Conversations(t.Context(), "local", -1); err != nil || len(list) != 1 {
		t.Errorf("%d conversations, and one was begun: %v", len(list), err)
	}
	prof := s.daemon.cfg.Profiles["default"]
	prof.Deny = []string{"load_tool_history"}
	s.daemon.cfg.Profiles["default"] = prof
	if r := s.post("/api/chat", `{"message":"hi","conversation_id":"mine","load_uuids":["`+mine.UUID+`"]}`); r.status != 400 || r.code(t) != "cannot_load" {
		t.Errorf("a profile that may not load: %d %s", r.status, r.body)
	}
	s.forget(mine.UUID)
	prof.Deny = nil
	s.daemon.cfg.Profiles["default"] = prof
	if r := s.post("/api/chat", `{"message":"hi","conversation_id":"mine","load_uuids":["`+mine.UUID+`"]}`); r.status != 404 {
		t.Errorf("one that was dropped: %d %s", r.status, r.body)
	}
}

func (s *server) forget(uuid string) {
	s.Helper()
	if err := s.host.Archive().(*archive.SQLite).Drop(s.Context(), archive.Scope{Principal: "local", Conversation: "mine"}, uuid); err != nil {
		s.Fatal(err)
	}
}
