package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/sdk/tool"
)

// natively returns a model with its own tool calling that gives these replies in turn.
func natively(replies ...replay.Reply) *replay.Model {
	yes := true
	return replay.New(replies...).Describing(agent.ModelInfo{Name: "m", NativeTools: &yes})
}

func looksUp(text string) replay.Reply {
	return replay.Reply{Text: text, Calls: []tool.Call{{ID: "a", Tool: "calculator", Args: json.RawMessage(`{"expression":"6*7"}`)}}}
}

// streamed returns the content of a stream, its last chunk with a choice, and the error in it.
func streamed(t *testing.T, body string) (content string, last openai.Completion, code string) {
	t.Helper()
	for _, e := range events(body) {
		var c openai.Completion
		var failed openai.OpenAIError
		if json.Unmarshal([]byte(e.data), &failed) == nil && failed.Error.Code != "" {
			return content, last, failed.Error.Code
		}
		if json.Unmarshal([]byte(e.data), &c) != nil || len(c.Choices) == 0 {
			continue
		}
		if d := c.Choices[0].Delta; d.Content != nil {
			content += *d.Content
		}
		last = c
	}
	return content, last, ""
}

const citySchema = `"response_format":{"type":"json_schema","json_schema":{"name":"c","schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}`

// One answer, streamed or not: text in front of calls is no JSON, a fence is none of the
// answer, and a wrong object is asked for again while nobody has read it.
func TestOneAnswerInAFormat(t *testing.T) {
	text := func(texts ...string) (out []replay.Reply) {
		for _, s := range texts {
			out = append(out, replay.Text(s))
		}
		return out
	}
	for _, c := range []struct {
		name    string
		replies []replay.Reply
		tools   bool
		whole   string // not streamed; empty: an error with the code format
		live    string // streamed
		code    string // of the error in the stream
	}{
		{"a sentence in front of a call", []replay.Reply{looksUp("Let me look it up."), replay.Text(`{"city":"Rome"}`)}, true, `{"city":"Rome"}`, `{"city":"Rome"}`, ""},
		{"in a fence", text("```json\n{\"city\":\"Rome\"}\n```"), false, `{"city":"Rome"}`, `{"city":"Rome"}`, ""},
		{"in a fence, with tools", text("```json\n{\"city\":\"Rome\"}\n```"), true, `{"city":"Rome"}`, `{"city":"Rome"}`, ""},
		{"wrong once, with tools", text(`{"town":"Rome"}`, `{"city":"Rome"}`), true, `{"city":"Rome"}`, `{"city":"Rome"}`, ""},
		{"wrong once", text(`Rome.`, `{"city":"Rome"}`), false, `{"city":"Rome"}`, `Rome.`, "format"},
		{"wrong once by a member too many", text(`{"city":"Rome","x":1}`, `{"city":"Rome"}`), true, `{"city":"Rome"}`, `{"city":"Rome"}`, ""},
		{"wrong twice, with tools", text(`Rome.`, `Rome!`), true, ``, ``, "format"},
		{"two objects", text(`{"city":"Rome"} {"city":"Oslo"}`, `{"city":1}`), true, ``, ``, "format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			members := citySchema
			if !c.tools {
				members += `,"weir_tools":false`
			}
			body := `{"stream":%v,"messages":[{"role":"user","content":"Where?"}],` + members + `}`
			a := newServer(t, natively(c.replies...)).post("/v1/chat/completions", fmt.Sprintf(body, false))
			var whole openai.Completion
			switch err := json.Unmarshal([]byte(a.body), &whole); {
			case c.whole == "":
				if a.status != 400 || !strings.Contains(a.body, `"code":"format"`) {
					t.Errorf("%d %s", a.status, a.body)
				}
			case err != nil || a.status != 200 || *whole.Choices[0].Message.Content != c.whole:
				t.Errorf("%d %s", a.status, a.body)
			}
			a = newServer(t, natively(c.replies...)).post("/v1/chat/completions", fmt.Sprintf(body, true))
			content, _, code := streamed(t, a.body)
			if a.status == 400 && strings.Contains(a.body, `"code":"format"`) { // nothing was streamed
				code = "format"
			}
			if content != c.live || code != c.code {
				t.Errorf("streamed %q, error %q: %s", content, code, a.body)
			}
		})
	}
}

// A schema that does not forbid other members allows them in an answer.
func TestAnAnswerWithMoreMembers(t *testing.T) {
	open := strings.Replace(citySchema, `,"additionalProperties":false`, "", 1)
	a := newServer(t, natively(replay.Text(`{"city":"Rome","country":"Italy"}`))).post("/v1/chat/completions", `{"messages":[{"role":"user","content":"Where?"}],`+open+`}`)
	if a.status != 200 || !strings.Contains(a.body, "Italy") {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = newServer(t, natively(replay.Text(`{"x":1,"city":"Rome"}`), replay.Text(`{"x":1,"city":"Rome"}`))).post("/v1/chat/completions", `{"messages":[{"role":"user","content":"Where?"}],`+citySchema+`}`)
	if a.status != 400 || !strings.Contains(a.body, "no member that the schema allows") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A stream says what weir did, as a whole answer does, and both have the same text.
func TestAStreamSaysWhatWeirDid(t *testing.T) {
	replies := []replay.Reply{looksUp("Let me compute."), {Text: "It is 42.", Usage: &agent.Usage{Prompt: 100, Completion: 9, Reasoning: 4, CachedPrompt: 60}}}
	body := `{"stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"6*7"}]}`
	var whole openai.Completion
	a := newServer(t, natively(replies...)).post("/v1/chat/completions", fmt.Sprintf(body, false))
	if err := json.Unmarshal([]byte(a.body), &whole); err != nil {
		t.Fatal(err, a.body)
	}
	a = newServer(t, natively(replies...)).post("/v1/chat/completions", fmt.Sprintf(body, true))
	content, last, code := streamed(t, a.body)
	if code != "" || content != *whole.Choices[0].Message.Content || content != "Let me compute.\n\nIt is 42." {
		t.Errorf("streamed %q, whole %q", content, *whole.Choices[0].Message.Content)
	}
	for name, n := range map[string]*openai.CompletionNote{"whole": whole.Weir, "streamed": last.Weir} {
		if n == nil || n.Reason != agent.ReasonAnswer || n.Requests != 2 || len(n.Results) != 1 || n.Results[0].Tool != "calculator" {
			t.Errorf("%s: %+v", name, n)
		}
	}
	if !strings.Contains(a.body, `"completion_tokens_details":{"reasoning_tokens":4}`) || !strings.Contains(a.body, `"cached_tokens":60`) {
		t.Errorf("usage: %s", a.body)
	}
}

// The client has the texts of its own results: an answer does not repeat them.
func TestAnAnswerDoesNotRepeatTheClientsResults(t *testing.T) {
	s := newServer(t, natively(replay.Text("Done.")))
	a := s.post("/v1/chat/completions", `{"tools":[`+weatherTool+`],"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"fine weather"}]}`)
	if a.status != 200 || strings.Contains(a.body, "fine weather") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A history that the client brings is sent whole as far as the window goes, and in place of what
// it is too long for stand the first question and one line. A named conversation has the
// memory of its profile.
func TestNoHistoryIsLeftOutInSilence(t *testing.T) {
	var messages []string
	for i := range 60 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"Question %d. My name is Ada."},{"role":"assistant","content":"Answer %d."}`, i, i))
	}
	history := strings.Join(messages, ",") + `,{"role":"user","content":"Who am I?"}`
	texts := func(m *replay.Model) string {
		var all []string
		for _, msg := range m.Requests()[len(m.Requests())-1].Messages {
			all = append(all, msg.Text)
		}
		return strings.Join(all, "\n")
	}
	m := replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("Ada.") })
	s := newServer(t, m)
	a := s.post("/v1/chat/completions", `{"messages":[`+history+`]}`)
	if got := texts(m); a.status != 200 || !strings.Contains(got, "Question 0.") || !strings.Contains(got, "Answer 30.") || strings.Contains(got, "left out") {
		t.Errorf("a brought history: %d %s", a.status, got)
	}
	named := a.header.Get("X-Weir-Conversation")
	a = s.post("/v1/chat/completions", `{"metadata":{"conversation_id":"`+named+`"},"messages":[{"role":"user","content":"And now?"}]}`)
	if got := texts(m); a.status != 200 || !strings.Contains(got, "Question 0.") || strings.Contains(got, "Answer 3.") || !strings.Contains(got, "earlier turns of this conversation are left out here") || !strings.Contains(got, "search_tool_history finds their results") {
		t.Errorf("a named conversation: %d %s", a.status, got)
	}
	m = replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("Ada.") }).Describing(agent.ModelInfo{Name: "m", Window: 4096})
	s = newServer(t, m)
	a = s.post("/v1/chat/completions", `{"weir_tools":false,"messages":[`+strings.ReplaceAll(history, "Answer", strings.Repeat("A long answer. ", 20))+`]}`)
	if got := texts(m); a.status != 200 || !strings.Contains(got, "Question 0.") || !strings.Contains(got, "Question 59.") || strings.Contains(got, "Question 3.") || !strings.Contains(got, "left out here") || strings.Contains(got, "search_tool_history") {
		t.Errorf("a history too long for the window: %d %s", a.status, got)
	}
}

// The refusal of a client's own tool is the client's, which can mend it: it gets no answer that
// was written without the tool.
func TestARefusedToolOfTheClient(t *testing.T) {
	m := natively(replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "m", Msg: "Invalid schema for function 'get_weather'", Tools: []string{"get_weather"}}}, replay.Text("Fine."))
	a := newServer(t, m).post("/v1/chat/completions", `{"tools":[`+weatherTool+`],"messages":[{"role":"user","content":"x"}]}`)
	if a.status != 400 || !strings.Contains(a.body, "Invalid schema for function 'get_weather'") || len(m.Requests()) != 1 {
		t.Errorf("%d after %d requests: %s", a.status, len(m.Requests()), a.body)
	}
}
