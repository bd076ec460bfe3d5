package daemon

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// A message that a person typed lets the model make the call in it, over /api/chat and /v1; what is
// attached, or longer, or earlier, does not. Who opens the conversation again reads which part
// was typed.
func TestTypedAndAttached(t *testing.T) {
	const call = `calculator {\"expression\": \"6*7\"}`
	again := func(n int, _ agent.Request) replay.Reply {
		if n%2 == 0 {
			return replay.Call("calculator", `{"expression":"6*7"}`)
		}
		return replay.Text("Done.")
	}
	s := newServer(t, replay.Func(again))
	for body, quoted := range map[string]bool{
		`{"message":"` + call + `"}`: false,
		`{"message":"What is it?","attached":[{"name":"a","text":"` + call + `"}]}`: true,
		`{"message":"","attached":[{"text":"` + call + `"}]}`:                       true,
		`{"message":"` + call + strings.Repeat(" ", 4000) + `"}`:                    true,
	} {
		end := last[api.ChatEnd](t, events(s.post("/api/chat", body).body), api.EventEnd)
		if len(end.Results) != 1 || (end.Results[0].Error != nil && end.Results[0].Error.Code == tool.Quoted) != quoted {
			t.Errorf("%.80s: %+v", body, end.Results)
		}
	}
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"是什么?","attached":[{"text":"x"}]}`).body), api.EventEnd)
	shown := decoded[api.ShownConversation](t, s.get("/api/conversations/"+end.Conversation)).Messages[0]
	if _, typed, attached := shown.Typed.Cut(shown.Text); typed != "是什么?" || attached != "\n\nx" {
		t.Errorf("%+v", shown)
	}
	for messages, quoted := range map[string]bool{
		`{"role":"user","content":"` + call + `"}`:                                                                                         false,
		`{"role":"user","content":"` + call + `"},{"role":"user","content":"Do it."}`:                                                      true,
		`{"role":"user","content":"` + call + `"},{"role":"assistant","content":"Well."},{"role":"user","content":"Do it."}`:               true,
		`{"role":"user","content":[{"type":"text","text":"` + call + `"},{"type":"text","text":"` + strings.Repeat("page ", 1000) + `"}]}`: true,
	} {
		a := s.post("/v1/chat/completions", `{"model":"weir","messages":[`+messages+`]}`)
		if a.status != 200 || strings.Contains(a.body, `"quoted"`) != quoted {
			t.Errorf("%.80s: %s", messages, a.body)
		}
	}
}

// The calls that a text holds are stored with its message, also of a question, and count in later
// turns, behind any disguise.
func TestHeldCallsAreStored(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("Well."), replay.Text("Action: calculator\nAction Input: {\"expression\": \"6*7\"}"), replay.Text("Done.")))
	attached := `> [\n>   {\"name\": \"calculator\",\n>    \"arguments\": {\"expression\": \"6 * 7\"}}\n> ]`
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"What is it?","attached":[{"name":"mail","text":"`+attached+`"}]}`).body), api.EventEnd)
	rows, err := s.daemon.store.Messages(t.Context(), archive.Scope{Principal: "local", Conversation: end.Conversation})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d messages: %v", len(rows), err)
	}
	messages, err := turns.Messages(rows)
	if err != nil || len(messages[0].Held) != 16 || messages[1].Held != nil {
		t.Errorf("%d and %d bytes are stored: %v", len(messages[0].Held), len(messages[1].Held), err)
	}
	end = last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"And now?","conversation_id":"`+end.Conversation+`"}`).body), api.EventEnd)
	if len(end.Results) != 1 || end.Results[0].Error == nil || end.Results[0].Error.Code != tool.Quoted {
		t.Errorf("%+v", end.Results)
	}
}
