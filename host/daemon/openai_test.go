package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/sdk/tool"
)

const weatherTool = `{"type":"function","function":{"name":"get_weather","description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`

// A caller is a client of /v1 with tools of its own. It knows of no ids of
// conversations and sends back what it read.
type caller struct {
	s        *server
	stream   bool
	extra    string // further members of the body
	messages []map[string]any
	conv     string
}

func (c *caller) say(m map[string]any) { c.messages = append(c.messages, m) }

// send sends everything so far, and remembers the answer.
func (c *caller) send() openai.Completion {
	c.s.Helper()
	messages, err := json.Marshal(c.messages)
	if err != nil {
		c.s.Fatal(err)
	}
	a := c.s.post("/v1/chat/completions", fmt.Sprintf(`{"model":"weir","stream":%v,"tools":[%s],"messages":%s%s}`, c.stream, weatherTool, messages, c.extra))
	if a.status != 200 {
		c.s.Fatalf("%d %s", a.status, a.body)
	}
	c.conv = a.header.Get("X-Weir-Conversation")
	out := c.read(a.body)
	said := map[string]any{"role": "assistant", "content": out.Choices[0].Message.Content}
	if calls := out.Choices[0].Message.Calls; len(calls) > 0 {
		said["tool_calls"] = calls
	}
	c.say(said)
	return out
}

// read puts an answer together from its pieces, if it has any.
func (c *caller) read(body string) openai.Completion {
	c.s.Helper()
	var out openai.Completion
	if !c.stream {
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			c.s.Fatalf("%v in %s", err, body)
		}
		return out
	}
	whole, text := openai.CompletionMessage{Role: "assistant"}, ""
	for _, e := range events(body) {
		if e.data == "[DONE]" {
			whole.Content = &text
			out.Choices[0].Message = &whole
			return out
		}
		var piece openai.Completion
		if err := json.Unmarshal([]byte(e.data), &piece); err != nil || len(piece.Choices) != 1 {
			c.s.Fatalf("%v in %s", err, e.data)
		}
		if d := piece.Choices[0].Delta; d.Content != nil {
			text += *d.Content
		}
		whole.Calls = append(whole.Calls, piece.Choices[0].Delta.Calls...)
		out = piece
	}
	c.s.Fatalf("no [DONE] in %s", body)
	return out
}

// ask is a question, answer a result for the only call of the last reply.
func (c *caller) ask(question string) openai.Completion {
	c.s.Helper()
	c.say(map[string]any{"role": "user", "content": question})
	return c.send()
}

func (c *caller) answer(text string) openai.Completion {
	c.s.Helper()
	calls := c.messages[len(c.messages)-1]["tool_calls"].([]openai.CompletionCall)
	c.say(map[string]any{"role": "tool", "tool_call_id": calls[0].ID, "content": text})
	return c.send()
}

// forecaster calls get_weather, then says what it read; by text or natively. On
// the question "both" it also makes a long text with weir's own tool.
func forecaster(native bool) *replay.Model {
	return replay.Func(func(n int, r agent.Request) replay.Reply {
		var said strings.Builder
		for _, m := range r.Messages {
			said.WriteString(m.Text + "\n")
		}
		last := r.Messages[len(r.Messages)-1].Text
		if strings.Contains(last, "°C") {
			at := strings.LastIndex(last, "°C")
			return replay.Text("So it has " + last[at-2:at+3] + ".")
		}
		args := fmt.Sprintf(`{"city":"No. %d"}`, n)
		if native {
			reply := replay.Reply{Text: "I shall look.", Calls: []tool.Call{{ID: fmt.Sprint("native_", n), Tool: "get_weather", Args: json.RawMessage(args)}}}
			return reply
		}
		reply := replay.Call("get_weather", args)
		reply.Text = "I shall look. " + reply.Text
		if strings.Contains(last, "both") {
			reply.Text += "\n" + longCall
		}
		return reply
	}).Describing(agent.ModelInfo{Name: "m", NativeTools: &native})
}

// The caller's tool goes out as tool_calls and its result comes back, twice, in
// one stored conversation without a name in the request.
func TestCallersTools(t *testing.T) {
	for _, native := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("native %v, streamed %v", native, stream), func(t *testing.T) {
				m := forecaster(native)
				s := newServer(t, m)
				c := &caller{s: s, stream: stream}
				out := c.ask("How is the weather in Oslo?")
				choice := out.Choices[0]
				if *choice.Finish != "tool_calls" || len(choice.Message.Calls) != 1 || choice.Message.Calls[0].Function != (openai.CompletionFunction{Name: "get_weather", Arguments: `{"city":"No. 0"}`}) ||
					choice.Message.Calls[0].Type != "function" || strings.TrimSpace(*choice.Message.Content) != "I shall look." {
					t.Fatalf("%+v", choice)
				}
				first := c.conv
				if out = c.answer("rain, 7 °C"); *out.Choices[0].Finish != "stop" || *out.Choices[0].Message.Content != "So it has 7 °C." {
					t.Errorf("answered %s for %q", *out.Choices[0].Finish, *out.Choices[0].Message.Content)
				}
				c.ask("And in Bergen?")
				if out = c.answer("sun, 9 °C"); *out.Choices[0].Message.Content != "So it has 9 °C." || c.conv != first {
					t.Errorf("answered %q in %s, begun in %s", *out.Choices[0].Message.Content, c.conv, first)
				}
				if list, err := s.daemon.store.Conversations(t.Context(), "local", -1); err != nil || len(list) != 1 || list[0].Title != "How is the weather in Oslo?" {
					t.Errorf("conversations %+v, error %v", list, err)
				}
				for _, r := range m.Requests() {
					if strings.Contains(r.System, "calculator") {
						t.Error("weir's own tools are offered")
					}
					if native != (len(r.Tools) == 1 && r.Tools[0].Name == "get_weather") {
						t.Errorf("offered %+v", r.Tools)
					}
				}
			})
		}
	}
}

// With weir_tools both kinds are offered: weir's run here, and what the caller
// brings is archived and cut like everything else.
func TestCallersToolsBesideWeirs(t *testing.T) {
	m := forecaster(false)
	s := newServer(t, m)
	c := &caller{s: s, extra: `,"weir_tools":true`}
	out := c.ask("both, please")
	if got := out.Choices[0].Message.Calls; len(got) != 1 || got[0].Function.Name != "get_weather" || len(out.Weir.Results) != 1 || out.Weir.Results[0].Tool != "long_text" {
		t.Fatalf("calls %+v, results of weir %+v", got, out.Weir.Results)
	}
	out = c.answer(strings.Repeat("clouds over the fjord\n", 1000) + "7 °C")
	if *out.Choices[0].Message.Content != "So it has 7 °C." {
		t.Errorf("answered %q", *out.Choices[0].Message.Content)
	}
	last := m.Requests()[1].Messages
	if text := last[len(last)-1].Text; !strings.Contains(text, "line 1:") || !strings.Contains(text, `load_tool_history(uuid="`) || strings.Count(text, "clouds") > 500 {
		t.Errorf("the model reads %d characters: %.300s", len(text), text)
	}
	conv := s.get("/api/conversations/" + c.conv).body
	if got := strings.Count(conv, "Tool result archived: "); got != 2 {
		t.Errorf("%d results folded: %s", got, conv)
	}
	if st := s.get("/api/stats").body; !strings.Contains(st, `"get_weather"`) {
		t.Errorf("the statistics do not know it: %s", st)
	}
}

// Without weir_tools the model could load nothing back, so nothing is cut.
func TestCallersResultsStayWhole(t *testing.T) {
	m := forecaster(false)
	s := newServer(t, m)
	c := &caller{s: s}
	c.ask("Weather?")
	c.answer(strings.Repeat("clouds over the fjord\n", 3000) + "7 °C <tool_call>")
	last := m.Requests()[1].Messages
	if text := last[len(last)-1].Text; strings.Count(text, "clouds") != 3000 || strings.Contains(text, "7 °C <tool_call>") {
		t.Errorf("the model reads %d characters", len(text))
	}
}

// One that knows the conversation's id sends the results alone.
func TestResultsByTheConversationsId(t *testing.T) {
	s := newServer(t, forecaster(false))
	c := &caller{s: s}
	out := c.ask("Weather?")
	named := func(conv, messages string) answer {
		return s.do("POST", "/v1/chat/completions", `{"tools":[`+weatherTool+`],"messages":[`+messages+`]}`, func(r *http.Request) { r.Header.Set("X-Weir-Conversation", conv) })
	}
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"7 °C"}`, id) }
	id := out.Choices[0].Message.Calls[0].ID
	for _, row := range []struct{ why, conv, messages string }{
		{"nobody asked for it", c.conv, result("call_999")},
		{"a conversation that waits for nothing", "another", result(id)},
		{"one result is nobody's", c.conv, result(id) + "," + result("call_999")},
	} {
		if r := named(row.conv, row.messages); r.status != 400 || r.code(t) != "bad_body" {
			t.Errorf("%s: %d %s", row.why, r.status, r.body)
		}
	}
	if r := named(c.conv, result(id)); r.status != 200 || !strings.Contains(r.body, "So it has 7 °C.") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := named(c.conv, result(id)); r.status != 200 || !strings.Contains(r.body, "So it has 7 °C.") {
		t.Errorf("the same again, as clients do that lost the answer: %d %s", r.status, r.body)
	}
	// A question while a call waits puts the call aside, one with the result answers it.
	named(c.conv, `{"role":"user","content":"And Bergen?"}`)
	if r := named(c.conv, `{"role":"user","content":"Never mind: 3 °C it is"}`); !strings.Contains(r.body, "So it has 3 °C.") {
		t.Errorf("%d %s", r.status, r.body)
	}
	r := named(c.conv, `{"role":"user","content":"And Tromsø?"}`)
	var again openai.Completion
	if err := json.Unmarshal([]byte(r.body), &again); err != nil {
		t.Fatal(err)
	}
	if r := named(c.conv, result(again.Choices[0].Message.Calls[0].ID)+`,{"role":"user","content":"In words: 5 °C"}`); !strings.Contains(r.body, "So it has 5 °C.") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A client that comes from elsewhere brings calls and results with it.
func TestHistoryWithCalls(t *testing.T) {
	m := forecaster(false)
	s := newServer(t, m)
	c := &caller{s: s, messages: []map[string]any{
		{"role": "user", "content": "Weather?"},
		{"role": "assistant", "content": nil, "tool_calls": []openai.CompletionCall{{ID: "their.id:0", Type: "function", Function: openai.CompletionFunction{Name: "get_weather", Arguments: `{"city":"Oslo"}`}}}},
		{"role": "tool", "tool_call_id": "their.id:0", "content": []map[string]string{{"type": "text", "text": "fog, "}, {"type": "text", "text": "2 °C"}}},
	}}
	if out := c.send(); *out.Choices[0].Message.Content != "So it has 2 °C." {
		t.Errorf("%q", *out.Choices[0].Message.Content)
	}
	first := c.conv
	if c.ask("And tomorrow?"); c.conv != first {
		t.Error("it began anew")
	}
	if text := m.Requests()[0].Messages; !strings.Contains(text[1].Text, `"tool_name":"get_weather"`) || !strings.Contains(text[2].Text, "fog, 2 °C") {
		t.Errorf("the model reads %+v", text)
	}
}

func TestMessagesThatCannotBeMeant(t *testing.T) {
	s := newServer(t, replay.New())
	call := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	user, one, two := `{"role":"user","content":"x"}`, `{"role":"tool","tool_call_id":"a","content":"1"}`, `{"role":"tool","tool_call_id":"b","content":"2"}`
	for _, row := range []struct{ why, messages, param, code string }{
		{"a call has no result", user + "," + call + "," + one, "messages", "bad_body"},
		{"a question in front of the results", user + "," + call + "," + one + "," + user + "," + two, "messages", "bad_body"},
		{"a result twice", user + "," + call + "," + one + "," + one, "messages[3].tool_call_id", "bad_body"},
		{"a result without an id", user + "," + call + `,{"role":"tool","content":"1"}`, "messages[2].tool_call_id", "bad_body"},
		{"a result of no call", user + `,{"role":"assistant","content":"y"},` + one, "messages[2].tool_call_id", "bad_body"},
		{"calls at the end", user + "," + call, "messages", "bad_body"},
		{"a call without a name", user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{}}]}`, "messages[1].tool_calls[0]", "bad_body"},
		{"an image", `{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:"}}]}`, "messages[0].content[1]", "unsupported_parameter"},
		{"a part that nobody knows", `{"role":"user","content":[{"type":"smell"}]}`, "messages[0].content[0]", "invalid_value"},
		{"content of another type", `{"role":"user","content":7}`, "messages[0].content", "invalid_value"},
		{"a role that nobody knows", `{"role":"function","content":"x"}`, "messages[0].role", "bad_body"},
		{"the older form of a call", user + `,{"role":"assistant","function_call":{"name":"f"}}`, "messages[1].function_call", "unsupported_parameter"},
	} {
		r := s.post("/v1/chat/completions", `{"messages":[`+row.messages+`]}`)
		var e openai.OpenAIError
		if err := json.Unmarshal([]byte(r.body), &e); err != nil || r.status != 400 || e.Error.Code != row.code || e.Error.Param == nil || *e.Error.Param != row.param || e.Error.Type != "invalid_request_error" {
			t.Errorf("%s: %d %s", row.why, r.status, r.body)
		}
	}
}

func TestWishes(t *testing.T) {
	m := replay.Func(func(_ int, r agent.Request) replay.Reply {
		if strings.Contains(r.System, "JSON Schema") {
			return replay.Text("{}")
		}
		return replay.Text("ok")
	})
	s := newServer(t, m)
	for _, row := range []struct{ members, param, code string }{ // an empty code: it is taken
		{`"n":1,"user":"me","store":true,"service_tier":"auto","unheard_of":{"a":1}`, "", ""},
		{`"temperature":0.1,"top_p":0.5,"frequency_penalty":1,"presence_penalty":-1,"seed":3,"logit_bias":{"7":-5},"reasoning_effort":"low"`, "", ""},
		{`"stop":"END","max_tokens":5`, "", ""},
		{`"stop":["A","B"],"max_completion_tokens":6,"stop_sequences":null`, "", ""},
		{`"stop":null,"tools":null,"tool_choice":null,"response_format":{"type":"text"},"functions":null,"audio":null`, "", ""},
		{`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"},"strict":true}}`, "", ""},
		{`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none"`, "", ""},
		{`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`, "", ""},
		{`"n":2`, "n", "unsupported_parameter"},
		{`"logprobs":true`, "logprobs", "unsupported_parameter"},
		{`"functions":[{"name":"f"}]`, "functions", "unsupported_parameter"},
		{`"modalities":["text","audio"]`, "modalities", "unsupported_parameter"},
		{`"web_search_options":{}`, "web_search_options", "unsupported_parameter"},
		{`"max_tokens":0`, "max_tokens", "invalid_value"},
		{`"stop":[""]`, "stop", "invalid_value"},
		{`"stop":7`, "stop", "invalid_value"},
		{`"response_format":{"type":"yaml"}`, "response_format", "invalid_value"},
		{`"response_format":{"type":"json_schema"}`, "response_format", "invalid_value"},
		{`"temperature":"hot"`, "temperature", "bad_body"},
		{`"tools":[{"type":"custom"}]`, "tools[0].type", "unsupported_parameter"},
		{`"tools":[{"type":"function","function":{"name":"no spaces"}}]`, "tools[0].function.name", "invalid_value"},
		{`"tools":[` + weatherTool + `,` + weatherTool + `]`, "tools[1].function.name", "invalid_value"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`, "tools[0].function.parameters", "invalid_value"},
		{`"tools":[{"type":"function","function":{"name":"load_tool_history"}}],"weir_tools":true`, "tools", "tool_clash"},
		{`"tools":[{"type":"function","function":{"name":"calculator"}}],"weir_tools":true`, "", ""},
		{`"tools":[` + weatherTool + `],"tool_choice":"perhaps"`, "tool_choice", "invalid_value"},
		{`"tools":[` + weatherTool + `],"tool_choice":{"type":"function","function":{"name":"g"}}`, "tool_choice", "invalid_value"},
		{`"weir_tools":false,"tool_choice":"required"`, "tool_choice", "invalid_value"},
	} {
		r := s.post("/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],`+row.members+`}`)
		if row.code == "" {
			if r.status != 200 {
				t.Errorf("%s: %d %s", row.members, r.status, r.body)
			}
			continue
		}
		var e openai.OpenAIError
		if err := json.Unmarshal([]byte(r.body), &e); err != nil || r.status != 400 || e.Error.Code != row.code || e.Error.Param == nil || *e.Error.Param != row.param || e.Error.Message == "" {
			t.Errorf("%s: %d %s", row.members, r.status, r.body)
		}
	}
	r := m.Requests()
	if s := r[1].Sampling; *s.Temperature != 0.1 || *s.TopP != 0.5 || *s.FrequencyPenalty != 1 || *s.PresencePenalty != -1 || *s.Seed != 3 || s.Bias["7"] != -5 || s.Effort != "low" {
		t.Errorf("sampling %+v", s)
	}
	if r[2].MaxTokens != 5 || !slices.Equal(r[2].Stop, []string{"END"}) || r[3].MaxTokens != 6 || !slices.Equal(r[3].Stop, []string{"A", "B"}) || r[4].Stop != nil {
		t.Errorf("bounds %d %q, %d %q", r[2].MaxTokens, r[2].Stop, r[3].MaxTokens, r[3].Stop)
	}
	if !strings.Contains(r[5].System, `{"type":"object"}`) || !strings.Contains(r[0].System, "calculator") {
		t.Error("the schema, or weir's own tools, are missing in the prompt")
	}
	for _, n := range []int{6, 7} {
		if strings.Contains(r[n].System, "calculator") || strings.Contains(r[n].System, "## f") {
			t.Errorf("request %d offers tools: %s", n, r[n].System)
		}
	}
}

// A model's failure has the status that clients go by, streamed or not, and
// what was said before it is no answer.
func TestFailuresInOpenAIsShape(t *testing.T) {
	failing := func(text string, e *agent.ModelError) agent.Model {
		e.Model, e.Msg, e.Hint = "scripted", "it failed", "try another"
		return replay.Func(func(int, agent.Request) replay.Reply { return replay.Reply{Text: text, Err: e} })
	}
	for _, row := range []struct {
		said   string
		err    *agent.ModelError
		status int
		kind   string
		code   string
		head   string // a header and its value
	}{
		{"", &agent.ModelError{Code: agent.ModelRateLimited, RetryAfter: 1500 * time.Millisecond}, 429, "rate_limit_error", "model_rate_limited", "Retry-After: 2"},
		{"", &agent.ModelError{Code: agent.ModelOverloaded}, 503, "server_error", "model_overloaded", ""},
		{"", &agent.ModelError{Code: agent.ModelAuth}, 400, "invalid_request_error", "model_auth", "X-Should-Retry: "},
		{"", &agent.ModelError{Code: agent.ModelBadRequest}, 400, "invalid_request_error", "model_bad_request", ""},
		{"", &agent.ModelError{Code: agent.ModelWindow}, 400, "invalid_request_error", "context_length_exceeded", ""},
		{"Half an ans", &agent.ModelError{Code: agent.ModelCut}, 502, "server_error", "model_cut", ""},
	} {
		s := newServer(t, failing(row.said, row.err))
		for _, stream := range []bool{false, true} {
			a := s.post("/v1/chat/completions", fmt.Sprintf(`{"stream":%v,"messages":[{"role":"user","content":"x"}]}`, stream))
			body := a.body
			if stream && row.said != "" {
				es := events(a.body)
				if body = es[len(es)-1].data; a.status != 200 || !strings.Contains(a.body, row.said) {
					t.Errorf("%s: %d %s", row.code, a.status, a.body)
				}
			} else if a.status != row.status {
				t.Errorf("%s: %d %s", row.code, a.status, a.body)
			} else if name, value, ok := strings.Cut(row.head, ": "); ok && a.header.Get(name) != value {
				t.Errorf("%s: headers %v", row.code, a.header)
			}
			var e openai.OpenAIError
			if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Code != row.code || e.Error.Type != row.kind || e.Error.Message != "it failed; try another" {
				t.Errorf("%s: %s", row.code, body)
			}
		}
	}
	s := newServer(t, replay.New())
	for path, edit := range map[string]func(*http.Request){
		"/v1/nothing":          nil,
		"/v1/models/nobody":    nil,
		"/v1/models":           func(r *http.Request) { r.Header.Del("Authorization") },
		"/v1/chat/completions": func(r *http.Request) { r.Host = "evil.example" },
	} {
		var e openai.OpenAIError
		if a := s.do("GET", path, "", edit); json.Unmarshal([]byte(a.body), &e) != nil || e.Error.Type == "" || a.status < 400 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// A stream lives while its model thinks.
func TestAStreamThatWaits(t *testing.T) {
	heard := make(chan struct{})
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply {
		<-heard
		return replay.Text("At last.")
	}))
	s.daemon.beat = time.Millisecond
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/chat/completions", strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	for sc, pinged := bufio.NewScanner(resp.Body), false; sc.Scan(); {
		text.WriteString(sc.Text() + "\n")
		if sc.Text() == ": ping" && !pinged {
			pinged = true
			close(heard)
		}
	}
	if !strings.Contains(text.String(), "At last.") || !strings.Contains(text.String(), "[DONE]") {
		t.Error(text.String())
	}
}

func TestModelNames(t *testing.T) {
	s := newServer(t, replay.New())
	d, err := New(Config{
		Host: s.host, Token: testToken,
		Models:   map[string]Model{"big": {Model: s.model}, "small": {Model: s.model, Info: agent.ModelInfo{Simulated: true}}, "coder": {Model: s.model}},
		Profiles: map[string]Profile{"default": {Model: "big"}, "coder": {Model: "small"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var list openai.ModelList
	w := httptest.NewRecorder()
	if err := d.openai.Models(d.cfg.Principal, w, httptest.NewRequest("GET", "/v1/models", nil)); err != nil || json.Unmarshal(w.Body.Bytes(), &list) != nil {
		t.Fatal(err, w.Body)
	}
	for _, row := range list.Data {
		got = append(got, fmt.Sprint(row.ID, " ", row.Model, " ", row.Profile, " ", row.Simulated))
	}
	if want := []string{"weir big true false", "coder small true true", "big big false false", "model:coder coder false false", "small small false true"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a := s.get("/v1/models/scripted"); a.status != 200 || !strings.Contains(a.body, `"object":"model"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
