package daemon

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
)

// A talker is a client of /v1 that knows of no ids: it sends back what it read.
type talker struct {
	s        *server
	messages []map[string]string
	stream   bool
	conv     string // where its last question went
}

func (c *talker) say(role, text string) {
	c.messages = append(c.messages, map[string]string{"role": role, "content": text})
}

// ask sends everything so far and the question, and remembers what it read.
func (c *talker) ask(question string) answer {
	c.s.Helper()
	c.say("user", question)
	body, err := json.Marshal(map[string]any{"model": "weir", "stream": c.stream, "messages": c.messages})
	if err != nil {
		c.s.Fatal(err)
	}
	a := c.s.post("/v1/chat/completions", string(body))
	c.conv = a.header.Get("X-Weir-Conversation")
	if text := c.read(a); a.status == 200 && text != "" {
		c.say("assistant", text)
	}
	return a
}

// read puts the answer together as a client does.
func (c *talker) read(a answer) string {
	type choices struct {
		Choices []struct {
			Message struct{ Content string }
			Delta   struct{ Content string }
		}
	}
	if !c.stream {
		var out choices
		if json.Unmarshal([]byte(a.body), &out) != nil || len(out.Choices) == 0 {
			return ""
		}
		return out.Choices[0].Message.Content
	}
	var b strings.Builder
	for _, e := range events(a.body) {
		var out choices
		if json.Unmarshal([]byte(e.data), &out) == nil && len(out.Choices) > 0 {
			b.WriteString(out.Choices[0].Delta.Content)
		}
	}
	return b.String()
}

var archivedID = regexp.MustCompile(`Tool result archived: ([0-9a-f-]{36})`)

// knowing answers the four requests of two questions: it makes a long text, and
// loads a line of it back by the placeholder that it then finds in its prompt.
func knowing(n int, r agent.Request) replay.Reply {
	last := r.Messages[len(r.Messages)-1].Text
	switch n {
	case 0:
		return replay.Text("I shall make one. " + longCall)
	case 2:
		for _, m := range r.Messages {
			if id := archivedID.FindStringSubmatch(m.Text); id != nil {
				return replay.Call("load_tool_history", fmt.Sprintf(`{"uuid":%q,"lines":"600-600"}`, id[1]))
			}
		}
		return replay.Text("I see no placeholder.")
	case 3:
		at := max(strings.Index(last, "line 600:"), 0)
		return replay.Text("It says " + last[at:min(at+9, len(last))])
	}
	return replay.Text("There it is.\n")
}

// A client without any id loads in its second question what its first archived.
func TestTwoTurnsWithoutAnId(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := newServer(t, replay.Func(knowing))
		c := &talker{s: s, stream: stream}
		c.ask("Make a long text")
		first := c.conv
		c.ask("What does line 600 of it say?")
		if got := c.messages[len(c.messages)-1]["content"]; got != "It says line 600:" || c.conv != first {
			t.Errorf("streaming %v: answered %q in %s, begun in %s", stream, got, c.conv, first)
		}
		said := c.messages[1]["content"]
		if !strings.Contains(said, "I shall make one.") || !strings.Contains(said, "There it is.") {
			t.Errorf("streaming %v: read %q", stream, said)
		}
		if list, err := s.daemon.store.Conversations(t.Context(), "local", -1); err != nil || len(list) != 1 {
			t.Errorf("streaming %v: %d conversations, error %v", stream, len(list), err)
		}
	}
}

// echo answers each question with a text that tells it from others.
func echo(_ int, r agent.Request) replay.Reply {
	last := r.Messages[len(r.Messages)-1].Text
	if last = last[strings.LastIndex(last, "\n")+1:]; last == "fail" {
		return replay.Reply{Err: &agent.ModelError{Code: agent.ModelOverloaded, Model: "scripted", Msg: "too much", Hint: "later"}}
	}
	return replay.Text("You said " + last + ".")
}

func TestWhichConversationGoesOn(t *testing.T) {
	s := newServer(t, replay.Func(echo))
	for i, row := range []struct {
		why  string
		same bool
		edit func(c *talker)
	}{
		{"the same messages", true, func(*talker) {}},
		{"a client that trims", true, func(c *talker) { c.messages[1]["content"] = " " + c.messages[1]["content"] + "\r\n" }},
		{"a client whose system message tells the time", true, func(c *talker) {
			c.messages = append([]map[string]string{{"role": "system", "content": "It is noon."}}, c.messages...)
		}},
		{"a question that failed and is asked again", true, func(c *talker) {
			c.ask("fail")
			c.messages = c.messages[:len(c.messages)-1]
		}},
		{"an answer that was edited", false, func(c *talker) { c.messages[1]["content"] += " Not." }},
		{"a question that was edited", false, func(c *talker) { c.messages[0]["content"] += " Or?" }},
		{"an answer in place of a question", false, func(c *talker) { c.messages[0]["role"] = "assistant" }},
		{"a client that forgets its beginning", false, func(c *talker) { c.messages = c.messages[1:] }},
		{"a question without an answer in front of it", false, func(c *talker) { c.messages = c.messages[:1] }},
		{"nothing but the question", false, func(c *talker) { c.messages = nil }},
		{"another try at a question that was answered", false, func(c *talker) {
			c.ask("two")
			c.messages = c.messages[:2]
		}},
		{"a conversation that was deleted", false, func(c *talker) {
			if r := c.s.do("DELETE", "/api/conversations/"+c.conv, "", nil); r.status != 200 {
				c.s.Fatalf("%d %s", r.status, r.body)
			}
		}},
	} {
		c := &talker{s: s}
		c.ask(fmt.Sprint("talk ", i))
		first := c.conv
		row.edit(c)
		if r := c.ask("next"); r.status != 200 || first == "" || (c.conv == first) != row.same {
			t.Errorf("%s: status %d, the same conversation: %v", row.why, r.status, c.conv == first)
		}
	}
}

// Two conversations that are equal so far continue separately.
func TestTwoTalksThatBeginAlike(t *testing.T) {
	s := newServer(t, replay.Func(echo))
	a, b := &talker{s: s}, &talker{s: s}
	a.ask("one")
	b.ask("one")
	if a.conv == b.conv {
		t.Fatal("two talks share a conversation from the start")
	}
	a.ask("of a")
	b.ask("of b")
	atSecond, btSecond := a.conv, b.conv
	a.ask("three")
	b.ask("three")
	if atSecond == btSecond || a.conv != atSecond || b.conv != btSecond {
		t.Errorf("a went on in %s and %s, b in %s and %s", atSecond, a.conv, btSecond, b.conv)
	}
}

// A conversation in the middle of a turn is not waited for: a new one begins.
func TestAMatchThatIsBusy(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	s := newServer(t, replay.Func(func(n int, r agent.Request) replay.Reply {
		if n == 1 {
			close(began)
			<-goOn
		}
		return echo(n, r)
	}))
	a := &talker{s: s}
	a.ask("one")
	b := &talker{s: s, messages: append([]map[string]string(nil), a.messages...)}
	first, done := a.conv, make(chan struct{})
	go func() {
		defer close(done)
		a.ask("slow")
	}()
	<-began
	r := b.ask("quick")
	close(goOn)
	<-done
	if r.status != 200 || a.conv != first || b.conv == first || b.conv == "" {
		t.Errorf("status %d; slow in %s, quick in %s, begun in %s", r.status, a.conv, b.conv, first)
	}
}

// A talk that began with weir's own events goes on by OpenAI's protocol.
func TestFromChatToCompletions(t *testing.T) {
	s := newServer(t, replay.Func(knowing))
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Make a long text"}`).body), api.EventEnd)
	c := &talker{s: s}
	c.say("user", "Make a long text")
	c.say("assistant", end.Answer)
	c.ask("What does line 600 of it say?")
	if c.conv != end.Conversation || c.messages[3]["content"] != "It says line 600:" {
		t.Errorf("in %s, begun in %s: %v", c.conv, end.Conversation, c.messages[3:])
	}
}

// A named conversation is the named one, whatever the messages are.
func TestAnIdWinsOverTheMessages(t *testing.T) {
	s := newServer(t, replay.Func(echo))
	c := &talker{s: s}
	c.ask("one")
	body, err := json.Marshal(map[string]any{"messages": append(c.messages, map[string]string{"role": "user", "content": "two"}), "metadata": map[string]string{"conversation_id": "named"}})
	if err != nil {
		t.Fatal(err)
	}
	if r := s.post("/v1/chat/completions", string(body)); r.header.Get("X-Weir-Conversation") != "named" {
		t.Errorf("went to %s", r.header.Get("X-Weir-Conversation"))
	}
}
