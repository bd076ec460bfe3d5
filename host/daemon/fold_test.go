package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/store"
)

// folds switches fold on for the client "opencode".
func (s *server) folds(m Model) *server {
	s.Helper()
	cfg := s.daemon.current.State().Config
	if m.Model != nil {
		cfg.Models = map[string]Model{"own": m}
		cfg.Profiles["default"] = Profile{Model: "own", Agent: cfg.Profiles["default"].Agent}
	}
	cfg.Clients = map[string]Client{"opencode": {Name: "opencode", Keep: true, Fold: true}, "other": {Name: "other", Keep: true}}
	if err := s.daemon.Configure(cfg); err != nil {
		s.Fatal(err)
	}
	return s
}

// A foldingAgent is a client with its own loop: it sends all its messages with each request.
type foldingAgent struct {
	s      *server
	name   string
	system string
	tools  string
	more   string // members of the body
	token  string // empty: the operator's
	msgs   []string
}

const foldingTools = `{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object"}}},{"type":"function","function":{"name":"write","description":"Writes.","parameters":{"type":"object"}}}`

func (s *server) agent(name string) *foldingAgent {
	return &foldingAgent{s: s, name: name, system: "You are an agent.", tools: foldingTools}
}

func (c *foldingAgent) add(role, content, more string) {
	c.msgs = append(c.msgs, messageOf(role, content, more))
}

func messageOf(role, content, more string) string {
	return fmt.Sprintf(`{"role":%q,"content":%s%s}`, role, quoted(content), more)
}

// body is the next request.
func (c *foldingAgent) body() string {
	tools := `,"tools":[` + c.tools + `]`
	if c.tools == "" {
		tools = ""
	}
	return `{"model":"own","stream":true,"stream_options":{"include_usage":true},"messages":[` +
		strings.Join(append([]string{messageOf("system", c.system, "")}, c.msgs...), ",") + `]` + tools + c.more + `}`
}

// send sends the messages, and adds the answer and, of calls, the results.
func (c *foldingAgent) send(result func(call passedCall) string) passedAnswer {
	c.s.Helper()
	req := c.s.request(c.body())
	req.Header.Set("User-Agent", c.name+"/1.18.33 ai-sdk")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	a := c.s.read(req)
	if a.status != 200 || a.broken != nil {
		c.s.Fatalf("%d %v %s", a.status, a.broken, a.raw)
	}
	calls, more := []passedCall{}, ""
	calls = append(calls, a.calls...)
	if len(calls) > 0 {
		b, _ := json.Marshal(calls)
		more = `,"tool_calls":` + string(b)
	}
	c.add("assistant", a.text, more)
	for _, call := range calls {
		c.add("tool", result(call), fmt.Sprintf(`,"tool_call_id":%q`, call.ID))
	}
	return a
}

// say is a reply of the model in text, call one that calls tools.
func say(text string) []string {
	return []string{fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}`, quoted(text)), endChunk, usageChunk}
}

func call(calls ...[3]string) []string {
	var out []string
	for i, c := range calls {
		out = append(out, fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]},"finish_reason":null}]}`, i, c[0], c[1], quoted(c[2])))
	}
	return append(out, strings.Replace(endChunk, `"stop"`, `"tool_calls"`, 1), usageChunk)
}

// replies answers with one reply after the other. A reply "load" calls load_tool_history for the
// first result that the request has a placeholder of.
func replies(t *testing.T, list ...any) *upstream {
	return newUpstream(t, func(w http.ResponseWriter, n int, body string) {
		if n > len(list) {
			t.Errorf("request %d: %.300s", n, body)
			chunks(w, say("?")...)
			return
		}
		switch r := list[n-1].(type) {
		case []string:
			chunks(w, r...)
		case func(body string) []string:
			chunks(w, r(body)...)
		}
	})
}

// archivedID finds the first placeholder's id.
func placeholderID(t *testing.T, body string) string {
	m := regexp.MustCompile(`Tool result archived: ([0-9a-f-]{36})`).FindStringSubmatch(body)
	if m == nil {
		t.Errorf("no placeholder in %.2000s", body)
		return "none"
	}
	return m[1]
}

// upstreamMessages are the messages of a request as the model's server got it.
func upstreamMessages(t *testing.T, body string) []string {
	var b struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range b.Messages {
		out = append(out, string(m))
	}
	return out
}

func beginsWith(t *testing.T, what string, now, before []string, n int) {
	t.Helper()
	for i := range before[:n] {
		if i >= len(now) || now[i] != before[i] {
			t.Errorf("%s: message %d was\n%.300s\nand is not any more", what, i, before[i])
			return
		}
	}
}

func longText(name string, chars int) string {
	line := name + ": a line of <text> with \"quotes\", [brackets] and 日本語.\n"
	return strings.Repeat(line, chars/len([]rune(line))+1)
}

// The way of one long result: whole in its turn, a placeholder after it, loaded where the model
// asks for it, the same bytes in all later requests, also after a restart.
func TestFoldOfALongResult(t *testing.T) {
	load := func(body string) []string {
		return call([3]string{"l1", "load_tool_history", fmt.Sprintf(`{"uuid":%q}`, placeholderID(t, body))})
	}
	u := replies(t, call([3]string{"c1", "read", `{"path":"a"}`}), say("It says A."),
		load, say("It says B."), call([3]string{"c2", "read", `{"path":"b"}`}), say("Done."), say("Bye."))
	s := passing(t, u).folds(Model{})
	c := s.agent("opencode")
	file := longText("a", 30_000)
	read := func(passedCall) string { return file }
	c.add("user", "Read a", "")
	c.send(read)
	c.send(nil)
	c.add("user", "What was in it?", "")
	if a := c.send(nil); a.text != "It says B." || len(a.calls) > 0 || a.finish != "stop" || strings.Contains(a.raw, "load_tool_history") {
		t.Errorf("the client reads %s", a.raw)
	}
	c.add("user", "Read b", "")
	c.send(func(passedCall) string { return "short" })
	c.send(nil)
	asked := u.asked()
	first, whole, folded, loaded, next, last := upstreamMessages(t, asked[0]), upstreamMessages(t, asked[1]), upstreamMessages(t, asked[2]), upstreamMessages(t, asked[3]), upstreamMessages(t, asked[4]), upstreamMessages(t, asked[5])
	if !strings.Contains(whole[3], quoted(file)) && !strings.Contains(whole[3], "a: a line") {
		t.Errorf("the result is not whole: %.200s", whole[3])
	}
	if content(t, whole[3]) != file || !strings.HasPrefix(content(t, folded[3]), "📎 [Tool result archived: ") {
		t.Errorf("in its turn %.100s, then %.300s", whole[3], folded[3])
	}
	if got := content(t, loaded[len(loaded)-1]); got != file {
		t.Errorf("loaded: %.300s", got)
	}
	beginsWith(t, "within the turn", whole, first, len(first))
	beginsWith(t, "the load", loaded, folded, len(folded))
	beginsWith(t, "the next turn", next, loaded, len(loaded)-1) // but for what was loaded
	if got := content(t, next[len(loaded)-1]); !strings.Contains(got, "is unloaded") {
		t.Errorf("what was loaded stays: %.300s", got)
	}
	beginsWith(t, "later", last, next, len(next))
	for i, body := range asked {
		if !strings.Contains(body, `"name":"load_tool_history"`) {
			t.Errorf("request %d does not offer the tool", i)
		}
	}
	c.add("user", "Bye", "")
	before := s
	c.s = s.restarted().folds(before.daemon.current.State().Models["own"])
	c.send(nil)
	beginsWith(t, "after a restart", upstreamMessages(t, u.asked()[6]), last, len(last))
	var st store.Stats
	if err := json.Unmarshal([]byte(c.s.get("/api/stats").body), &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Folds) != 1 || st.Folds[0].Client != "opencode" || st.Folds[0].Requests != 6 || st.Folds[0].Loads != 1 || st.Folds[0].Folded != 4 || st.Folds[0].Saved < 4*29_000 {
		t.Errorf("%+v", st.Folds)
	}
}

func content(t *testing.T, message string) string {
	t.Helper()
	var m struct{ Content string }
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatal(err)
	}
	return m.Content
}

// Over the ceiling a result is cut, and the notice's call brings back what is missing.
func TestFoldCutsOverTheCeiling(t *testing.T) {
	u := replies(t, call([3]string{"c1", "read", `{}`}), func(body string) []string {
		m := regexp.MustCompile(`load_tool_history\(uuid=\\"([0-9a-f-]{36})\\", lines=\\"(\d+-\d+)\\"\)`).FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("no notice in %.500s", body)
		}
		return call([3]string{"l1", "load_tool_history", fmt.Sprintf(`{"uuid":%q,"lines":%q}`, m[1], m[2])})
	}, say("Read."))
	s := passing(t, u).folds(Model{})
	c := s.agent("opencode")
	file := ""
	for i := range 1000 {
		file += fmt.Sprintf("%d: a line of <text> for the tail and the head\n", i)
	}
	c.add("user", "Read", "")
	c.send(func(passedCall) string { return file })
	c.send(nil)
	cut, loaded := upstreamMessages(t, u.asked()[1]), upstreamMessages(t, u.asked()[2])
	got := content(t, cut[3])
	head, rest, _ := strings.Cut(got, "[")
	if n := len([]rune(got)); n > 32_768 || n < 29_000 || !strings.HasPrefix(file, head) || !strings.Contains(rest, "left out by the ceiling") {
		t.Errorf("%d characters: %.200s", n, rest)
	}
	if middle := content(t, loaded[len(loaded)-1]); !strings.Contains(file, middle) || !strings.HasPrefix(strings.TrimPrefix(file, strings.TrimSuffix(head, "\n")), "\n"+middle[:20]) {
		t.Errorf("loaded %.200s", middle)
	}
}

// A call with weir's own text in its arguments is not handed over, and the model is told.
func TestFoldKeepsPlaceholdersOutOfFiles(t *testing.T) {
	u := replies(t, call([3]string{"c1", "read", `{}`}), say("It says A."),
		func(body string) []string {
			return call([3]string{"w1", "write", fmt.Sprintf(`{"path":"b","text":"📎 [Tool result archived: %s]\ntool: read"}`, placeholderID(t, body))})
		},
		func(body string) []string {
			if !strings.Contains(body, "This call was not made") {
				t.Errorf("the model was not told: %.3000s", body)
			}
			return call([3]string{"l1", "load_tool_history", fmt.Sprintf(`{"uuid":%q,"head":1}`, placeholderID(t, body))})
		},
		call([3]string{"w2", "write", `{"path":"b","text":"a: a line"}`}), say("Written."))
	s := passing(t, u).folds(Model{})
	c := s.agent("opencode")
	c.add("user", "Read a", "")
	c.send(func(passedCall) string { return longText("a", 12_000) })
	c.send(nil)
	c.add("user", "Copy it to b", "")
	a := c.send(func(passedCall) string { return "ok" })
	if len(a.calls) != 1 || a.calls[0].ID != "w2" {
		t.Errorf("the client got %+v", a.calls)
	}
	c.send(nil)
	before, last := upstreamMessages(t, u.asked()[4]), upstreamMessages(t, u.asked()[5])
	beginsWith(t, "the hidden rounds", last, before, len(before))
}

// A reply with a load and a call of the client's: the client gets its call, the model both results.
func TestFoldOfAMixedReply(t *testing.T) {
	u := replies(t, call([3]string{"c1", "read", `{}`}), say("It says A."),
		func(body string) []string {
			return call([3]string{"l1", "load_tool_history", fmt.Sprintf(`{"uuid":%q,"head":1}`, placeholderID(t, body))}, [3]string{"c2", "read", `{"path":"b"}`},
				[3]string{"l2", "search_tool_history", `{"query":"brackets"}`})
		}, say("Both."))
	s := passing(t, u).folds(Model{})
	c := s.agent("opencode")
	c.add("user", "Read a", "")
	c.send(func(passedCall) string { return longText("a", 12_000) })
	c.send(nil)
	c.add("user", "Compare with b", "")
	if a := c.send(func(passedCall) string { return "b" }); len(a.calls) != 1 || a.calls[0].ID != "c2" || a.finish != "tool_calls" || strings.Contains(a.raw, "tool_history") {
		t.Errorf("the client got %s", a.raw)
	}
	if a := c.send(nil); a.text != "Both." {
		t.Error(a.raw)
	}
	last := upstreamMessages(t, u.asked()[3])
	order := strings.Join(last[len(last)-4:], "\n")
	at := 0
	for _, part := range []string{`"id":"l1"`, `"id":"c2"`, `"id":"l2"`, `"tool_call_id":"l1"`, `a: a line`, `"tool_call_id":"c2"`, `"tool_call_id":"l2"`, `Found in the archived results`} {
		i := strings.Index(order[at:], part)
		if i < 0 {
			t.Fatalf("%s is not where it belongs in %s", part, order)
		}
		at += i
	}
}

// A client for which nobody switched fold on gets not one byte changed; nor does one that only
// calls itself so without a setting; and a load reads this conversation alone.
func TestFoldIsOffUnlessSwitchedOn(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, say("Hi")...) })
	s := passing(t, u).folds(Model{})
	for _, name := range []string{"other", "unheard-of", "Mozilla"} {
		c := s.agent(name)
		for turn := range 3 {
			c.add("user", fmt.Sprint("Question ", turn), "")
			c.add("assistant", "", `,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]`)
			c.add("tool", longText("a", 40_000), `,"tool_call_id":"c1"`)
			want := c.body()
			c.send(nil)
			asked := u.asked()
			want = strings.TrimSuffix(strings.Replace(want, `"model":"own"`, `"model":"up-1"`, 1), "}") + `,"temperature":0.5,"top_k":7}`
			if got := asked[len(asked)-1]; got != want {
				t.Fatalf("%s, turn %d: sent\n%.1000s", name, turn, got)
			}
		}
	}
	if st := s.get("/api/stats").body; strings.Contains(st, `"folds"`) {
		t.Error(st)
	}
}

// A load reads the results of its own conversation alone.
func TestFoldReadsItsOwnConversationAlone(t *testing.T) {
	foreign := ""
	u := replies(t, call([3]string{"c1", "read", `{}`}), say("A."),
		func(body string) []string {
			return call([3]string{"l1", "load_tool_history", fmt.Sprintf(`{"uuid":%q}`, foreign)}, [3]string{"l2", "search_tool_history", `{"query":"secret"}`})
		},
		func(body string) []string {
			if !strings.Contains(body, "there is no archived result with the id") || strings.Contains(body, "secret row") {
				t.Errorf("the model reads %.3000s", body)
			}
			return say("Nothing.")
		})
	s := passing(t, u).folds(Model{})
	foreign = s.kept(strings.Repeat("secret row\n", 2000))
	c := s.agent("opencode")
	c.add("user", "Read a", "")
	c.send(func(passedCall) string { return longText("a", 12_000) })
	c.send(nil)
	c.add("user", "Load the other", "")
	c.send(nil)
}

// A load that does not fit into the window is taken out, and the model told to load less.
func TestFoldLoadsThatDoNotFit(t *testing.T) {
	refused := false
	u := newUpstream(t, func(w http.ResponseWriter, n int, body string) {
		switch last := upstreamMessages(t, body); {
		case n == 1:
			chunks(w, call([3]string{"c1", "read", `{}`})...)
		case n == 2:
			chunks(w, say("It says A.")...)
		case n == 3:
			chunks(w, call([3]string{"l1", "load_tool_history", fmt.Sprintf(`{"uuid":%q}`, placeholderID(t, body))})...)
		case len(last[len(last)-1]) > 10_000:
			refused = true
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"message":"maximum context length is 9 tokens","code":"context_length_exceeded"}}`)
		case strings.Contains(body, "does not fit into the model's window"):
			chunks(w, say("Too long.")...)
		default:
			t.Errorf("request %d: %s", n, last[len(last)-1])
		}
	})
	c := passing(t, u).folds(Model{}).agent("opencode")
	c.add("user", "Read a", "")
	c.send(func(passedCall) string { return longText("a", 12_000) })
	c.send(nil)
	c.add("user", "What was in it?", "")
	if a := c.send(nil); a.text != "Too long." || !refused {
		t.Errorf("%v %s", refused, a.raw)
	}
}

// A request for several answers is passed on as it is: their pieces stay apart.
func TestFoldLeavesSeveralAnswersAlone(t *testing.T) {
	answer := []string{}
	for _, delta := range []string{`{"tool_calls":[{"index":0,"id":"c%[1]d","type":"function","function":{"name":"read","arguments":"{\"a\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"%[1]d}"}}]}`} {
		for i := range 2 {
			answer = append(answer, fmt.Sprintf(`{"id":"c1","model":"own","choices":[{"index":%d,"delta":`+delta[:len(delta)-1]+`,"x":%[1]d},"finish_reason":null}]}`, i))
		}
	}
	answer = append(answer, strings.Replace(endChunk, "up-1", "own", 1))
	u := replies(t, call([3]string{"c1", "read", `{}`}), say("A."), answer)
	s := passing(t, u).folds(Model{})
	c := s.agent("opencode")
	c.add("user", "Read a", "")
	c.send(func(passedCall) string { return longText("a", 12_000) })
	c.send(nil)
	c.add("user", "Read two", "")
	req := s.request(strings.Replace(c.body(), `{"model"`, `{"n":2,"model"`, 1))
	req.Header.Set("User-Agent", "opencode/1")
	if a := s.read(req); a.status != 200 || !strings.Contains(a.raw, "data: "+strings.Join(answer, "\n\ndata: ")) || strings.Contains(u.asked()[2], "archived") {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

// A model that only loads does not go on without end.
func TestFoldEnds(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, n int, body string) {
		chunks(w, call([3]string{fmt.Sprint("l", n), "search_tool_history", `{"query":"x"}`})...)
	})
	s := passing(t, u).folds(Model{})
	c := s.agent("opencode")
	c.add("user", "Read a", "")
	req := s.request(c.body())
	req.Header.Set("User-Agent", "opencode/1")
	if a := s.read(req); a.status != 400 || !strings.Contains(a.raw, "weir's own tools") || len(u.asked()) != 16 {
		t.Errorf("%d %s after %d requests", a.status, a.raw, len(u.asked()))
	}
}

// A cacheMeter is a provider that counts equal prefixes of earlier prompts as cached, four bytes
// for a token.
type cacheMeter struct {
	prompts        [][]string
	prompt, cached int
}

func (m *cacheMeter) add(t *testing.T, body string) (tokens int) {
	b, err := passthrough.ReadBody([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	parts := append([]string{string(b.Get("tools"))}, upstreamMessages(t, body)...)
	best, size := 0, 0
	for _, p := range parts {
		size += len(p)
	}
	for _, before := range m.prompts {
		best = max(best, common(before, parts))
	}
	m.prompts = append(m.prompts, parts)
	m.prompt += size / 4
	m.cached += best / 4
	return size / 4
}

// common returns the length of the common beginning of two prompts.
func common(a, b []string) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n += len(a[i])
			continue
		}
		for j := 0; j < min(len(a[i]), len(b[i])) && a[i][j] == b[i][j]; j++ {
			n++
		}
		break
	}
	return n
}

func (m *cacheMeter) share() float64 { return float64(m.cached) / float64(m.prompt) }
func (m *cacheMeter) full() int      { return m.prompt - m.cached }

// A workday is 40 requests in eight turns.
type workday struct {
	prompt int // the length of the system prompt
	long   int // results of each turn with 30,000 characters; the other ones have 400
	// window is that from which the client compacts, in tokens; 0: it never does.
	window int
}

// run has a client do it, with a request for a title in each turn, and restarts the daemon in the middle.
func (d workday) run(t *testing.T, client string) *cacheMeter {
	var m cacheMeter
	var before []string // what the server got last of the session
	tokens, n, floor := 0, 0, 0
	u := newUpstream(t, func(w http.ResponseWriter, _ int, body string) {
		if strings.Contains(body, "Write a title.") {
			chunks(w, say("A title")...)
			return
		}
		tokens = m.add(t, body)
		if !strings.Contains(body, `"tools"`) {
			before, floor = nil, 0
			chunks(w, say("A summary. "+longText("It says", 2000))...)
			return
		}
		now := upstreamMessages(t, body)
		if n%5 == 0 { // a turn begins: the one fold
			beginsWith(t, "at the fold", now, before, min(floor, len(before)))
			floor = len(now)
		} else {
			beginsWith(t, "in a turn", now, before, len(before))
		}
		before = now
		if n++; n%5 == 0 {
			chunks(w, say(fmt.Sprintf("Answer %d.", n))...)
			return
		}
		chunks(w, call([3]string{fmt.Sprint("c", n), "read", fmt.Sprintf(`{"path":"src/file%d.go"}`, n)})...)
	})
	s := passing(t, u).folds(Model{})
	c := s.agent(client)
	c.system = longText("You are an agent", d.prompt)
	for turn := range 8 {
		if turn == 4 {
			c.s = s.restarted().folds(s.daemon.current.State().Models["own"])
		}
		c.add("user", fmt.Sprintf("Task %d: change the code and test it.", turn), "")
		for i := range 5 {
			if d.window > 0 && tokens > d.window*8/10 { // as opencode does
				c.compact()
				tokens = 0
			}
			if i == 2 { // a title, as a fork
				fork := c.s.agent(client)
				fork.system, fork.tools, fork.msgs = "Write a title.", "", append([]string{}, c.msgs[:1]...)
				fork.send(nil)
			}
			c.send(func(call passedCall) string {
				if i < d.long {
					return longText("src/"+call.ID, 30_000)
				}
				return longText("ok "+call.ID, 400)
			})
		}
	}
	return &m
}

// compact has the model summarise the conversation, and goes on with the summary.
func (c *foldingAgent) compact() {
	whole := *c
	c.system, c.tools = "You are a context summarization agent.", ""
	c.add("user", "Summarise.", "")
	a := c.send(nil)
	c.system, c.tools, c.msgs = whole.system, whole.tools, nil
	c.add("user", "What did we do so far?", "")
	c.add("assistant", a.text, "")
	c.add("user", "Go on.", "")
}

// What fold costs and spares: at least nine tenths of the share that the provider's cache
// served without it, in the sessions for which it is made. What every token costs at least
// once, it costs with fold as well: placeholders come in addition.
func TestFoldKeepsTheProvidersCache(t *testing.T) {
	for _, v := range []struct {
		what string
		workday
		share, full float64 // bounds, as ratios of the run without fold
	}{
		{"two long results in each turn, the prompt of Qwen Code", workday{70_000, 2, 0}, 0.9, 1.04},
		{"four long results in each turn, the window of 131,072 tokens", workday{70_000, 4, 131_072}, 0.9, 1},
	} {
		without, with := v.run(t, "other"), v.run(t, "opencode")
		t.Logf("%s: prompt tokens %d → %d, cached share %.3f → %.3f (%.3f of it), at full price %d → %d (%.3f), %d%% spared", v.what,
			without.prompt, with.prompt, without.share(), with.share(), with.share()/without.share(), without.full(), with.full(), float64(with.full())/float64(without.full()), 100-100*with.prompt/without.prompt)
		if r := with.share() / without.share(); r < v.share {
			t.Errorf("%s: the cached share is %.3f of that without fold", v.what, r)
		}
		if r := float64(with.full()) / float64(without.full()); r > v.full {
			t.Errorf("%s: %.3f times the tokens at full price", v.what, r)
		}
	}
}

// A model without tool calling reads the placeholder in text, and loads by a call in text.
func TestFoldForAModelWithoutToolCalling(t *testing.T) {
	file := longText("a", 12_000)
	u := replies(t, say(`<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>`), say("It says A."),
		func(body string) []string {
			id := regexp.MustCompile(`load_tool_history\(uuid=\\"([0-9a-f-]{36})`).FindStringSubmatch(body)
			if id == nil {
				t.Fatalf("no placeholder in %.3000s", body)
			}
			return say(fmt.Sprintf(`<tool_call>{"name":"load_tool_history","arguments":{"uuid":%q}}</tool_call>`, id[1]))
		}, say("It is A."),
		func(body string) []string { // it takes the placeholder for the text
			read := regexp.MustCompile(`.Tool result archived: [0-9a-f-]{36}.`).FindString(body)
			return say(fmt.Sprintf(`<tool_call>{"name":"write","arguments":{"text":%q}}</tool_call>`, read))
		},
		func(body string) []string {
			if !strings.Contains(body, "This call was not made") {
				t.Errorf("the model was not told: %.3000s", body)
			}
			return say("Not yet.")
		})
	s := passing(t, u)
	s.folds(Model{Model: s.daemon.current.State().Models["own"].Model, NativeTools: new(bool)})
	c := s.agent("opencode")
	c.add("user", "Read a", "")
	if a := c.send(func(passedCall) string { return file }); len(a.calls) != 1 {
		t.Fatal(a.raw)
	}
	c.send(nil)
	c.add("user", "What was in it?", "")
	if a := c.send(nil); a.text != "It is A." || len(a.calls) > 0 {
		t.Error(a.raw)
	}
	if !strings.Contains(u.asked()[3], "a: a line") || strings.Contains(u.asked()[2], "a: a line of <text> with") && len(u.asked()[2]) > 20_000 {
		t.Errorf("%d bytes, then %.3000s", len(u.asked()[2]), u.asked()[3])
	}
	c.add("user", "Copy it to b", "")
	if a := c.send(nil); a.text != "Not yet." || len(a.calls) > 0 {
		t.Error(a.raw)
	}
}
