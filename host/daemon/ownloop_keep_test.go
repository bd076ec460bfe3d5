package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/internal/testtime"
)

// A coder is a client with a loop of its own: it has its history and sends it whole.
type coder struct {
	*server
	messages []string // as JSON
	name     string
}

const coderTools = `[{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}]`

// body is a request with the history and more messages, under a system prompt and with tools;
// empty: none.
func (c *coder) body(system, tools string, more ...string) string {
	messages := append([]string{`{"role":"system","content":"` + system + `"}`}, slices.Concat(c.messages, more)...)
	body := `{"model":"own","stream":true,"messages":[` + strings.Join(messages, ",") + `]`
	if tools != "" {
		body += `,"tools":` + tools
	}
	return body + `}`
}

// ask sends a request, and returns the assistant's message as clients send it back.
func (c *coder) ask(s *server, body string) (answer, string) {
	c.Helper()
	_, a := s.exchange("POST", "/v1/chat/completions", body, func(r *http.Request) {
		r.Header.Set("User-Agent", c.name+"/1.2 node")
		r.Header.Set("X-Session-Id", "ses_1")
	})
	if a.status != 200 {
		c.Fatalf("%d %s", a.status, a.body)
	}
	var text string
	var calls []map[string]any
	for line := range strings.Lines(a.body) {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []map[string]any `json:"tool_calls"`
				}
			}
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(line), "data: ")), &chunk) == nil && len(chunk.Choices) > 0 {
			text += chunk.Choices[0].Delta.Content
			calls = append(calls, chunk.Choices[0].Delta.Calls...)
		}
	}
	for _, call := range calls {
		delete(call, "index")
		// Clients read arguments and write them anew.
		f := call["function"].(map[string]any)
		f["arguments"] = strings.ReplaceAll(f["arguments"].(string), ":", ": ")
	}
	m := map[string]any{"role": "assistant", "content": text}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	out, _ := json.Marshal(m)
	return a, string(out)
}

// codingModel calls bash after each question, and answers after its result.
func codingModel(w http.ResponseWriter, n int, body string) {
	last := body[strings.LastIndex(body, `{"role":`):]
	if strings.Contains(last, `"user"`) && strings.Contains(body, `"tools"`) {
		chunks(w, `{"choices":[{"index":0,"delta":{"role":"assistant","content":"I look. ","reasoning_content":"Hm."}}]}`,
			fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}}]}`, n),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, usageChunk)
		return
	}
	chunks(w, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Answer %d."}}]}`, n), endChunk, usageChunk)
}

// turn asks a question and runs the call, with the requests that clients make beside it.
func (c *coder) turn(s *server, n int) {
	c.Helper()
	question := fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"<system-reminder>today</system-reminder>"},{"type":"text","text":"question %d about needles"}]}`, n)
	if n == 1 {
		c.ask(s, (&coder{}).body("You write titles.", "", `{"role":"user","content":"Title: question 1 about needles"}`))
	}
	c.messages = append(c.messages, question)
	_, call := c.ask(s, c.body("You are an agent.", coderTools))
	id := call[strings.Index(call, `"id":"`)+6:]
	id = id[:strings.Index(id, `"`)]
	c.messages = append(c.messages, call, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"file-%d.txt"}`, id, n))
	_, end := c.ask(s, c.body("You are an agent.", coderTools))
	c.messages = append(c.messages, end)
	c.ask(s, c.body("You remember.", strings.ReplaceAll(coderTools, "bash", "save"), `{"role":"tool","tool_call_id":"none","content":"go"}`))
}

func (s *server) count(from string) (n int) {
	s.Helper()
	if err := s.daemon.cfg.Host.Archive().(*archive.SQLite).DB().QueryRowContext(s.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// One session of 20 turns, with titles, memory and compaction between: each message is stored
// once, what arrives at the model's server begins with what arrived before, byte by byte, and
// the list has the session alone, with all that was said.
func TestAPassedSession(t *testing.T) {
	pgtest.SQLite(t)
	u := newUpstream(t, codingModel)
	s := passing(t, u)
	c := &coder{server: s, name: "opencode"}
	for n := 1; n <= 20; n++ {
		c.turn(s, n)
	}
	c.ask(s, c.body("You summarize.", "", `{"role":"user","content":"Summarize."}`))
	checkSession(t, s, u, 20)
	// 20 turns of a question, a call, a result and an answer; the two system prompts and lists of
	// tools, and of the others their prompts, questions and answers.
	if n := s.count("passed_texts"); n != 80+2+3+3+20+3 {
		t.Errorf("%d texts are stored", n)
	}
	id := s.listed()[0].ID
	for _, about := range []struct{ path, want string }{
		{"/api/conversations/search?q=file-17", id},
		{"/api/conversations/" + id + "/export?format=markdown", "file-20.txt"},
		{"/api/conversations/" + id + "/export?format=json", "file-20.txt"},
		{"/api/traces?conversation_id=" + id, `"client":"opencode","passed_through":true`},
		{"/api/traces/last?conversation_id=" + id, "nothing was left out"},
	} {
		if a := s.get(about.path); a.status != 200 || !strings.Contains(a.body, about.want) {
			t.Errorf("%s: %d %s", about.path, a.status, a.body)
		}
	}
	if a := s.post("/api/chat", `{"message":"Go on","conversation_id":"`+id+`"}`); a.status != 400 || a.code(t) != "passed_conversation" {
		t.Errorf("weir's own loop goes on with it: %d %s", a.status, a.body)
	}
	if a := s.do("DELETE", "/api/conversations/"+id, "", nil); a.status != 200 || s.count("passed_texts")+s.count("conversations")+s.count("traces") != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Requests of one session that reach two daemons in turns are one conversation.
func TestTwoDaemonsKeepASession(t *testing.T) {
	u := newUpstream(t, codingModel)
	a, b, _ := twoDaemons(t, func() agent.Model { return ownModel(t, u) }, func(*host.Config) {})
	for _, s := range []*server{a, b} {
		s.passes(ownModel(t, u))
	}
	c := &coder{server: a, name: "opencode"}
	for n := 1; n <= 6; n++ {
		c.turn([]*server{a, b}[n%2], n)
	}
	checkSession(t, a, u, 6)
	checkSession(t, b, u, 6)
}

func (s *server) listed() []api.ConversationRow {
	s.Helper()
	var list api.ConversationList
	if err := json.Unmarshal([]byte(s.get("/api/conversations").body), &list); err != nil {
		s.Fatal(err)
	}
	return list.Conversations
}

// checkSession checks what is listed, shown and was sent upstream of a session.
func checkSession(t *testing.T, s *server, u *upstream, turns int) {
	t.Helper()
	before := ""
	for _, body := range u.asked() {
		if !strings.Contains(body, "You are an agent.") {
			continue
		}
		prefix, _, _ := strings.Cut(body, `],"tools"`)
		if !strings.HasPrefix(prefix, before) {
			t.Fatalf("upstream begins otherwise than before:\n%s\nand before\n%s", prefix, before)
		}
		before = prefix
	}
	list := s.listed()
	if len(list) != 1 || !list[0].Passed || list[0].Client != "opencode" || list[0].Label != "ses_1" || list[0].Messages != 4*turns || list[0].Title != "question 1 about needles" ||
		list[0].Turns != turns || list[0].Prompt != int64(700*2*turns) {
		t.Fatalf("listed: %+v", list)
	}
	var shown api.ShownConversation
	if err := json.Unmarshal([]byte(s.get("/api/conversations/"+list[0].ID).body), &shown); err != nil || len(shown.Messages) != 4*turns {
		t.Fatalf("%v: %d messages", err, len(shown.Messages))
	}
	last := shown.Messages[4*turns-4:]
	if last[0].Turn != turns || !strings.Contains(last[0].Text, fmt.Sprintf("question %d", turns)) || last[1].Text != "I look. " || last[1].Reasoning != "Hm." || len(last[1].Calls) != 1 ||
		string(last[1].Calls[0].Args) != `{"command":"ls"}` || len(last[2].Results) != 1 || last[2].Results[0].Tool != "bash" || last[2].Results[0].Text != fmt.Sprintf("file-%d.txt", turns) ||
		!strings.HasPrefix(last[3].Text, "Answer") || last[3].Model != "own" {
		t.Errorf("the last turn is shown as %+v", last)
	}
}

// Of a client whose messages the operator does not keep, and of a request that says so itself,
// nothing but counts is left.
func TestNothingIsKept(t *testing.T) {
	pgtest.SQLite(t)
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
		chunks(w, `{"choices":[{"index":0,"delta":{"role":"assistant","content":"SECRET answer"}}]}`, endChunk, usageChunk)
	})
	var path string
	m := ownModel(t, u)
	s := serverWith(t, m, func(c *host.Config) { path = c.Archive.Path })
	s.passes(m)
	for _, store := range []string{"", `,"store":false`} {
		c := &coder{server: s, name: "secretive"}
		if store != "" {
			c.name = "other"
		}
		for n := range 3 {
			c.messages = append(c.messages, fmt.Sprintf(`{"role":"user","content":"SECRET %d"}`, n))
			body := c.body("SECRET agent", coderTools)
			_, end := c.ask(s, strings.TrimSuffix(body, "}")+store+"}")
			c.messages = append(c.messages, end)
		}
	}
	if use := s.get("/api/usage").body; !strings.Contains(use, `"prompt_tokens":4200`) {
		t.Errorf("the tokens are not counted: %s", use)
	}
	if n := s.count("conversations") + s.count("traces") + s.count("passed_texts"); n != 0 {
		t.Errorf("%d rows", n)
	}
	for _, suffix := range []string{"", "-wal"} {
		if file, err := os.ReadFile(path + suffix); err == nil && bytes.Contains(file, []byte("SECRET")) {
			t.Errorf("the text is in %s", path+suffix)
		}
	}
}

// An answer that breaks off is stored as far as it came, and says so; the same request again
// replaces it. A request that fails has a trace, and is in no list.
func TestABrokenAnswerIsKept(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, n int, body string) {
		switch n {
		case 1:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", textChunk)
		case 2:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
		default:
			chunks(w, textChunk, endChunk, usageChunk)
		}
	})
	s := passing(t, u)
	c := &coder{server: s, name: "opencode", messages: []string{`{"role":"user","content":"Say hi"}`}}
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/chat/completions", strings.NewReader(c.body("An agent", "")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_, err = bytes.NewBuffer(nil).ReadFrom(resp.Body)
		resp.Body.Close()
		if err == nil {
			t.Fatal("the answer did not break off")
		}
	}
	traces := func() (list api.TraceList) {
		if err := json.Unmarshal([]byte(s.get("/api/traces").body), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	testtime.Until(t, "the request is stored", func() bool { return len(traces().Traces) == 1 })
	id := traces().Traces[0].Conversation
	shown := s.get("/api/conversations/" + id).body
	if !strings.Contains(shown, `"text":"Hi"`) || !strings.Contains(shown, `"failed"`) || len(s.listed()) != 0 {
		t.Errorf("shown: %s", shown)
	}
	if a := s.pass(c.body("An agent", "")); a.status != 400 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if last := s.get("/api/traces/last").body; !strings.Contains(last, `"error":"model_window"`) || len(s.listed()) != 0 {
		t.Errorf("%s", last)
	}
	_, end := c.ask(s, c.body("An agent", ""))
	shown = s.get("/api/conversations/" + id).body
	if !strings.Contains(shown, `"text":"Hi"`) || strings.Contains(shown, `"failed"`) {
		t.Errorf("shown: %s", shown)
	}
	c.messages = append(c.messages, end, `{"role":"user","content":"Again"}`)
	c.ask(s, c.body("An agent", ""))
	if list := s.listed(); len(list) != 1 || list[0].ID != id || list[0].Messages != 4 {
		t.Errorf("listed: %+v", list)
	}
}

// What another model answers because the one that was named cannot stays in the conversation, and
// the attempt that failed is a part of the trace of the answer.
func TestAnotherModelAnswersInASession(t *testing.T) {
	fail := false
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
		if fail {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		chunks(w, textChunk, endChunk, usageChunk)
	})
	other := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk, usageChunk) })
	s := passing(t, u)
	cfg := s.daemon.current.State().Config
	native := true
	cfg.Models["own"] = Model{Model: ownModel(t, u), NativeTools: &native, Fallback: []string{"second"}}
	cfg.Models["second"] = Model{Model: ownModel(t, other), NativeTools: &native}
	if err := s.daemon.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	c := &coder{server: s, name: "opencode"}
	for n := range 3 {
		fail = n == 1
		c.messages = append(c.messages, fmt.Sprintf(`{"role":"user","content":"%d?"}`, n))
		_, end := c.ask(s, c.body("An agent", ""))
		c.messages = append(c.messages, end)
	}
	list := s.listed()
	if len(list) != 1 || list[0].Messages != 6 || !slices.Equal(list[0].Models, []string{"own", "second"}) || s.count("conversations") != 1 {
		t.Fatalf("listed: %+v", list)
	}
	var traces api.TraceList
	if err := json.Unmarshal([]byte(s.get("/api/traces").body), &traces); err != nil || len(traces.Traces) != 3 {
		t.Fatalf("%v %+v", err, traces)
	}
	if tr := s.get(fmt.Sprintf("/api/traces/%d", traces.Traces[1].ID)).body; !strings.Contains(tr, `"from":"own","to":"second"`) || traces.Traces[1].Model != "second" {
		t.Errorf("%s", tr)
	}
}

// A client gets its answer if it cannot be stored, and the log says so.
func TestAnAnswerThatCannotBeStored(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk, usageChunk) })
	d := passing(t, u).daemon
	var book bytes.Buffer
	s := ownloop.New(ownloop.Config{Setup: d.current, Admission: d.admission, Meter: d.meter, Metrics: d.metrics, Keeper: forgetful{}, Now: d.now,
		Logger: hclog.New(&hclog.LoggerOptions{Output: &book})})
	body, err := passthrough.ReadBody([]byte(`{"model":"own","stream":true,"messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got passthrough.Answer
	err = s.Answer(t.Context(), ownloop.Ask{Principal: "local", Model: "own", Body: body}, func(c passthrough.Chunk) bool {
		got.Add(c.Data)
		return true
	})
	if err != nil || got.Text() != "Hi" || !strings.Contains(book.String(), "could not be stored") {
		t.Errorf("%v, %q, log: %s", err, got.Text(), &book)
	}
}

// forgetful is a Keeper that stores nothing.
type forgetful struct{}

func (forgetful) KeepPassed(context.Context, store.Passed) (store.Branch, error) {
	return store.Branch{}, store.ErrFull
}
