package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/model"
	provider "github.com/weirhost/weir/agent/model/openai"
	"github.com/weirhost/weir/host/daemon/usage"
)

// A codingAgent is a client with a loop of its own, as far as the protocol goes: it keeps the
// messages of a session, and sends all of them with each request. parts: it writes contents as
// lists of parts, as Qwen Code does, else as strings, as opencode does.
type codingAgent struct {
	*server
	parts    bool
	system   string
	messages []string
	mine     []string // the requests of the session, in order
}

const (
	agentTools  = `[{"type":"function","function":{"name":"bash","description":"Runs.\n\n- one","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}},{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"filePath":{"type":"string"}}}}}]`
	memoryTools = `[{"type":"function","function":{"name":"save_memory","parameters":{"type":"object","properties":{"fact":{"type":"string"}}}}}]`
)

func (c *codingAgent) content(text string) string {
	if !c.parts {
		return quoted(text)
	}
	return `[{"type":"text","text":` + quoted(text) + `}]`
}

// body is a request with messages, of which system is the first.
func (c *codingAgent) body(system string, messages []string, tools string) string {
	all := append([]string{`{"role":"system","content":` + quoted(system) + `}`}, messages...)
	out := `{"model":"own","messages":[` + strings.Join(all, ",") + `],"max_tokens":32000,"stream":true,"stream_options":{"include_usage":true}`
	if tools != "" {
		out += `,"tools":` + tools
	}
	return out + "}"
}

// step sends the session with one more message, and takes the answer into it.
func (c *codingAgent) step(message string) passedAnswer {
	c.Helper()
	c.messages = append(c.messages, message)
	body := c.body(c.system, c.messages, agentTools)
	c.mine = append(c.mine, body)
	a := c.stream(body)
	if a.status != 200 || a.broken != nil || a.finish == "" {
		c.Fatalf("%d %v %s", a.status, a.broken, a.raw)
	}
	said := "null"
	if !c.parts || len(a.calls) == 0 {
		said = quoted(a.text)
	}
	reply := `{"role":"assistant","content":` + said
	if len(a.calls) > 0 {
		calls, _ := json.Marshal(a.calls)
		reply += `,"tool_calls":` + string(calls)
	}
	c.messages = append(c.messages, reply+"}")
	return a
}

// turn asks a question and answers calls with result until the model says the end.
func (c *codingAgent) turn(question, result string) {
	c.Helper()
	a := c.step(`{"role":"user","content":` + question + `}`)
	for len(a.calls) > 0 {
		for _, call := range a.calls[:len(a.calls)-1] {
			c.messages = append(c.messages, `{"role":"tool","tool_call_id":"`+call.ID+`","content":`+c.content(result)+`}`)
		}
		a = c.step(`{"role":"tool","tool_call_id":"` + a.calls[len(a.calls)-1].ID + `","content":` + c.content(result) + `}`)
	}
}

// A passedAnswer is what a client reads of a stream.
type passedAnswer struct {
	status       int
	header       http.Header
	raw          string
	text, finish string
	calls        []passedCall
	usage        json.RawMessage
	done         bool
	said         string // the message of an error in the stream
	broken       error  // the connection
}

type passedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// request is a request with a body, not sent yet.
func (s *server) request(body string) *http.Request {
	req, err := http.NewRequestWithContext(s.Context(), "POST", s.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	return req
}

// stream sends a body and reads the answer as these clients do.
func (s *server) stream(body string) passedAnswer { return s.read(s.request(body)) }

// read sends a request and reads the stream.
func (s *server) read(req *http.Request) passedAnswer {
	s.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return passedAnswer{broken: err}
	}
	defer resp.Body.Close()
	a := passedAnswer{status: resp.StatusCode, header: resp.Header}
	var raw strings.Builder
	lines := bufio.NewReader(io.TeeReader(resp.Body, &raw))
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok && err == nil {
			a.add(strings.TrimRight(data, "\r\n"))
		}
		if err != nil {
			if err != io.EOF {
				a.broken = err
			}
			a.raw = raw.String()
			return a
		}
	}
}

func (a *passedAnswer) add(data string) {
	if data == "[DONE]" {
		a.done = true
		return
	}
	var c struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
				Calls   []struct {
					Index int `json:"index"`
					passedCall
				} `json:"tool_calls"`
			} `json:"delta"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(data), &c)
	if c.Error != nil {
		a.said = c.Error.Message
	}
	if len(c.Usage) > 0 && string(c.Usage) != "null" {
		a.usage = c.Usage
	}
	for _, ch := range c.Choices {
		a.text += ch.Delta.Content
		if ch.Finish != "" {
			a.finish = ch.Finish
		}
		for _, p := range ch.Delta.Calls {
			if p.Index == len(a.calls) {
				a.calls = append(a.calls, p.passedCall)
			} else {
				a.calls[p.Index].Function.Arguments += p.Function.Arguments
			}
		}
	}
}

func deltaChunk(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

// callsOrAnswers answers a question with two calls, and their results with text.
func callsOrAnswers(w http.ResponseWriter, n int, body string) {
	var b struct {
		Messages []struct{ Role string } `json:"messages"`
		Tools    []any                   `json:"tools"`
	}
	_ = json.Unmarshal([]byte(body), &b)
	if len(b.Tools) == 0 || b.Messages[len(b.Messages)-1].Role == "tool" {
		chunks(w, deltaChunk(`{"role":"assistant","content":""}`, "null"), deltaChunk(`{"content":"Answer "}`, "null"), deltaChunk(`{"content":`+quoted(fmt.Sprint(n, ".\n"))+`}`, "null"), endChunk, usageChunk)
		return
	}
	chunks(w,
		deltaChunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_`+strconv.Itoa(n)+`a","type":"function","function":{"name":"bash","arguments":""}}]}`, "null"),
		deltaChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"comm"}}]}`, "null"), deltaChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"and\":\"ls\"}"}}]}`, "null"),
		deltaChunk(`{"tool_calls":[{"index":1,"id":"call_`+strconv.Itoa(n)+`b","type":"function","function":{"name":"read","arguments":"{\"filePath\": \"/w/x\"}"}}]}`, "null"),
		deltaChunk(`{}`, "tool_calls"), usageChunk)
}

// withWindow gives the model of passing a window.
func withWindow(s *server, u *upstream, window int) {
	s.Helper()
	m, err := provider.New(provider.Config{Config: model.Config{
		Name: "own", Model: "up-1", BaseURL: u.URL + "/v1", Key: "k", Window: window, RetryWait: time.Millisecond, Extra: map[string]any{"temperature": 0.5, "top_k": 7},
	}})
	if err != nil {
		s.Fatal(err)
	}
	cfg := s.daemon.current.State().Config
	cfg.Models = map[string]Model{"own": {Model: m}}
	if err := s.daemon.Configure(cfg); err != nil {
		s.Fatal(err)
	}
}

// A session of thirty turns with two calls each arrives whole, request by request, whatever the
// window is said to be: a result of 100,000 characters, a picture, requests with other messages
// between the turns. What went upstream before stays byte for byte the beginning of what goes next.
func TestThirtyTurnsOfAnAgent(t *testing.T) {
	for _, parts := range []bool{false, true} {
		t.Run(map[bool]string{false: "strings", true: "parts"}[parts], func(t *testing.T) {
			u := newUpstream(t, callsOrAnswers)
			s := passing(t, u)
			withWindow(s, u, 32_768)
			c := &codingAgent{server: s, parts: parts, system: "You are an agent.\n\n  Keep this.  "}
			var sent []string
			fork := func(system string, messages []string, tools string) {
				body := c.body(system, messages, tools)
				if a := s.stream(body); a.status != 200 || a.broken != nil {
					t.Fatalf("%d %v %s", a.status, a.broken, a.raw)
				}
				sent = append(sent, body)
			}
			for turn := range 30 {
				before := len(c.mine)
				switch question := c.content(fmt.Sprintf("Question %d?", turn)); turn {
				case 3:
					c.turn(question, strings.Repeat("a line of the file\n", 100_000/19))
				case 5:
					c.turn(`[{"type":"text","text":"See"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]`, "ok")
				default:
					c.turn(question, "ok\t"+strconv.Itoa(turn))
				}
				sent = append(sent, c.mine[before:]...)
				switch turn % 3 {
				case 0: // a title
					fork("You are a title generator.", []string{`{"role":"user","content":"Question?"}`}, "")
				case 1: // a memory request: the same messages, other tools
					fork("Extract memories.", c.messages, memoryTools)
				case 2: // a compaction
					fork(c.system, append(c.messages[:len(c.messages):len(c.messages)], `{"role":"user","content":"Summarize."}`), "")
				}
			}
			asked := u.asked()
			if len(asked) != len(sent) || len(c.mine) != 60 {
				t.Fatalf("%d requests arrived, %d sent, %d of the session", len(asked), len(sent), len(c.mine))
			}
			prefix := ""
			for i, body := range sent {
				if err := compare(body, asked[i]); err != nil {
					t.Fatalf("request %d: %v", i+1, err)
				}
				if body != c.mine[0] {
					continue
				}
				c.mine = append(c.mine[1:], "")
				whole, _, _ := strings.Cut(asked[i], `],"max_tokens"`)
				if !strings.HasPrefix(whole, prefix) {
					t.Fatalf("request %d does not begin with the one before", i+1)
				}
				prefix = whole
			}
			if len(prefix) < 200_000 {
				t.Errorf("the session has %d bytes only", len(prefix))
			}
			if list := s.listed(); len(list) != 1 || !list[0].Passed || list[0].Messages != 5*30 || list[0].Turns != 30 {
				t.Errorf("the session is listed as %+v", list)
			}
		})
	}
}

// The provider decides what is too long: weir passes all on, whatever the window is said to be,
// and the provider's word back, so that the client compacts.
func TestAWindowThatIsFull(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, body string) {
		if len(body) < 150_000 {
			chunks(w, textChunk, endChunk, usageChunk)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":{"message":"This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`)
	})
	s := passing(t, u)
	withWindow(s, u, 32_768)
	for i, c := range []struct {
		length, status int
		code           string
	}{{140_000, 200, ""}, {160_000, 400, "context_length_exceeded"}} {
		body := (&codingAgent{}).body("Be brief.", []string{`{"role":"user","content":` + quoted(strings.Repeat("word ", c.length/5)) + `}`}, agentTools)
		a := s.stream(body)
		if a.status != c.status || !strings.Contains(a.raw, c.code) || a.status == 400 && (!strings.Contains(a.raw, "maximum context length is 32768 tokens") || strings.Contains(a.raw, "[agent]")) {
			t.Errorf("%d characters: %d %.300s", c.length, a.status, a.raw)
		}
		if asked := u.asked(); len(asked) != i+1 {
			t.Errorf("asked %d times", len(asked))
		} else if err := compare(body, asked[i]); err != nil {
			t.Error(err)
		}
	}
}

// breakOff ends the connection without the end of the answer.
func breakOff(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// After an answer that broke off, in text or in a call, the same request again gets its answer.
func TestTheClientRepeatsWhatBrokeOff(t *testing.T) {
	begun := deltaChunk(`{"role":"assistant","content":"Half"}`, "null")
	call := deltaChunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"comm"}}]}`, "null")
	for name, cut := range map[string]func(w http.ResponseWriter){
		"in the text":            func(w http.ResponseWriter) { fmt.Fprintf(w, "data: %s\n\n", begun); breakOff(w) },
		"in a call":              func(w http.ResponseWriter) { fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", begun, call); breakOff(w) },
		"in an event":            func(w http.ResponseWriter) { fmt.Fprintf(w, "data: %s\n\ndata: %.40s", begun, call); breakOff(w) },
		"with a clean end":       func(w http.ResponseWriter) { fmt.Fprintf(w, "data: %s\n\n", begun) },
		"with [DONE] and no end": func(w http.ResponseWriter) { chunks(w, begun) },
		"with what is no JSON":   func(w http.ResponseWriter) { fmt.Fprintf(w, "data: %s\n\ndata: <html>\n\n", begun) },
		"with an error of the server": func(w http.ResponseWriter) {
			fmt.Fprintf(w, "data: %s\n\ndata: {\"error\":{\"message\":\"upstream failed\",\"code\":502}}\n\n", begun)
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, n int, _ string) {
				if n > 1 {
					chunks(w, textChunk, endChunk, usageChunk)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				cut(w)
			})
			s := passing(t, u)
			a := s.stream(agentBody)
			if a.status != 200 || a.broken == nil || a.text != "Half" || a.done || a.said != "" {
				t.Errorf("%d, broken: %v, %s", a.status, a.broken, a.raw)
			}
			if a := s.stream(agentBody); a.broken != nil || a.text != "Hi" || !a.done || len(a.usage) == 0 {
				t.Errorf("the second time: %v, %s", a.broken, a.raw)
			}
			if asked := u.asked(); len(asked) != 2 || asked[0] != asked[1] {
				t.Errorf("asked %d times: %q", len(asked), asked)
			}
		})
	}
}

// Before the first chunk, a server that fails is asked once more; so is one that only says in
// the stream that it fails.
func TestAFailureBeforeTheFirstChunk(t *testing.T) {
	said := func(e string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, ": keepalive\n\ndata: {\"error\":%s}\n\n", e)
		}
	}
	for name, c := range map[string]struct {
		fail   func(w http.ResponseWriter)
		fails  int // times
		status int
		asked  int
		retry  string
	}{
		"a break, once":           {breakOff, 1, 200, 2, ""},
		"500, once":               {func(w http.ResponseWriter) { w.WriteHeader(500) }, 1, 200, 2, ""},
		"a break, always":         {breakOff, 9, 503, 2, "2"},
		"overloaded, in a stream": {said(`{"message":"overloaded","code":503}`), 9, 503, 2, "2"},
		"overloaded, once":        {said(`{"message":"overloaded","code":503}`), 1, 200, 2, ""},
		"a limit, in a stream":    {said(`{"message":"slow down","type":"rate_limit_error"}`), 9, 429, 1, "5"},
		"the window, in a stream": {said(`{"message":"too long","code":"context_length_exceeded"}`), 9, 400, 1, ""},
		"a text, in a stream":     {said(`"boom"`), 9, 503, 2, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, n int, _ string) {
				if n > c.fails {
					chunks(w, textChunk, endChunk)
					return
				}
				c.fail(w)
			})
			a := passing(t, u).stream(agentBody)
			if a.status != c.status || a.broken != nil || a.status == 200 && a.text != "Hi" || a.header.Get("Retry-After") != c.retry || a.header.Get("X-Should-Retry") != "" {
				t.Errorf("%d, broken: %v, %v %s", a.status, a.broken, a.header, a.raw)
			}
			if n := len(u.asked()); n != c.asked {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// A refusal that asking again does not help is said in the stream, once a part of the answer is
// there: a client that sees the connection break would ask again.
func TestARefusalInTheMiddle(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
		chunks(w, deltaChunk(`{"role":"assistant","content":""}`, "null"), `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
	})
	a := passing(t, u).stream(agentBody)
	if a.status != 200 || a.broken != nil || a.done || !strings.Contains(a.said, "too long") || !strings.Contains(a.raw, `"context_length_exceeded"`) || len(u.asked()) != 1 {
		t.Errorf("%d, broken: %v, %s, asked %d times", a.status, a.broken, a.raw, len(u.asked()))
	}
}

// What servers write around their chunks makes no difference, and what is in the chunks comes
// through as it is.
func TestFormsOfStreams(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	role, text := deltaChunk(`{"role":"assistant","content":"","refusal":null}`, "null"), deltaChunk(`{"content":"Hi <&> \u00e9 \/ 水"}`, "null")
	done := event("[DONE]")
	withUsage := strings.TrimSuffix(endChunk, "}") + `,"usage":{"prompt_tokens":700,"completion_tokens":30,"total_tokens":730}}`
	long := deltaChunk(`{"content":"`+strings.Repeat("long ", 100_000)+`"}`, "null")
	for name, c := range map[string]struct {
		wire   string
		chunks []string // that the client reads
	}{
		"as most write it":       {event(role) + event(text) + event(endChunk) + event(usageChunk) + done, []string{role, text, endChunk, usageChunk}},
		"length":                 {event(text) + event(deltaChunk(`{}`, "length")) + done, []string{text, deltaChunk(`{}`, "length")}},
		"a content filter":       {event(text) + event(deltaChunk(`{}`, "content_filter")) + done, []string{text, deltaChunk(`{}`, "content_filter")}},
		"another word":           {event(text) + event(deltaChunk(`{}`, "eos_token")) + done, []string{text, deltaChunk(`{}`, "eos_token")}},
		"no [DONE]":              {event(text) + event(endChunk) + event(usageChunk), []string{text, endChunk, usageChunk}},
		"CRLF":                   {strings.ReplaceAll(event(text)+": ping\n\n"+event(endChunk)+event(usageChunk)+done, "\n", "\r\n"), []string{text, endChunk, usageChunk}},
		"comments":               {": OPENROUTER PROCESSING\n\n:\n\n" + event(text) + ": keepalive\n\n" + event(endChunk) + ": end\n\n" + event(usageChunk) + done, []string{text, endChunk, usageChunk}},
		"named events":           {"event: message\nid: 7\nretry: 10\ndata: " + text + "\n\nevent: done\ndata: " + endChunk + "\n\n" + done, []string{text, endChunk}},
		"no space":               {"data:" + text + "\n\ndata:" + endChunk + "\n\ndata:[DONE]\n\n", []string{text, endChunk}},
		"an event of two lines":  {"data: " + strings.Replace(text, `"created"`, "\ndata: "+`"created"`, 1) + "\n\n" + event(endChunk) + done, []string{text, endChunk}},
		"usage with the end":     {event(text) + event(withUsage) + done, []string{text, withUsage}},
		"usage before the end":   {event(usageChunk) + event(text) + event(endChunk) + done, []string{usageChunk, text, endChunk}},
		"usage null":             {event(strings.TrimSuffix(text, "}")+`,"usage":null}`) + event(endChunk) + event(usageChunk) + done, []string{strings.TrimSuffix(text, "}") + `,"usage":null}`, endChunk, usageChunk}},
		"usage in every chunk":   {event(strings.TrimSuffix(text, "}")+`,"usage":{"prompt_tokens":700,"completion_tokens":1}}`) + event(withUsage) + done, []string{strings.TrimSuffix(text, "}") + `,"usage":{"prompt_tokens":700,"completion_tokens":1}}`, withUsage}},
		"no choices at first":    {event(`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`) + event(text) + event(endChunk) + done, []string{`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, text, endChunk}},
		"two choices":            {event(text) + event(`{"choices":[{"index":1,"delta":{"content":"Ho"},"finish_reason":"stop"}]}`) + event(endChunk) + done, []string{text, `{"choices":[{"index":1,"delta":{"content":"Ho"},"finish_reason":"stop"}]}`, endChunk}},
		"thoughts, odd members":  {event(deltaChunk(`{"reasoning_content":"Hm.","reasoning_details":[{"type":"x"}],"content":null}`, "null")) + event(endChunk) + done, []string{deltaChunk(`{"reasoning_content":"Hm.","reasoning_details":[{"type":"x"}],"content":null}`, "null"), endChunk}},
		"parts as the content":   {event(deltaChunk(`{"content":[{"type":"text","text":"Hi"}]}`, "null")) + event(endChunk) + done, []string{deltaChunk(`{"content":[{"type":"text","text":"Hi"}]}`, "null"), endChunk}},
		"an error that is none":  {event(strings.TrimSuffix(text, "}")+`,"error":null}`) + event(endChunk) + done, []string{strings.TrimSuffix(text, "}") + `,"error":null}`, endChunk}},
		"a long chunk":           {event(long) + event(endChunk) + done, []string{long, endChunk}},
		"an error after the end": {event(text) + event(endChunk) + event(`{"error":{"message":"late"}}`) + done, []string{text, endChunk}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				_, _ = io.WriteString(w, c.wire)
			})
			s := passing(t, u)
			a := s.stream(agentBody)
			want := ""
			for _, data := range append(c.chunks, "[DONE]") {
				want += event(strings.Replace(data, `"model":"up-1"`, `"model":"own"`, 1))
			}
			if a.status != 200 || a.broken != nil || a.raw != want {
				t.Errorf("%d, broken: %v\n%.2000s\nwant\n%.2000s", a.status, a.broken, a.raw, want)
			}
			if strings.Contains(c.wire, "700") && !strings.Contains(s.get("/api/usage").body, `"prompt_tokens":700`) {
				t.Errorf("the tokens are not counted: %s", s.get("/api/usage").body)
			}
		})
	}
}

// A server that answers in the other form than it was asked for: a whole answer becomes a chunk;
// a stream is no whole answer, and its last chunk is not taken for one.
func TestAnAnswerOfTheOtherForm(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, body string) {
		if !strings.Contains(body, `"stream":true`) {
			chunks(w, textChunk, endChunk)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","odd":1.0,`+
			`"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`)
	})
	s := passing(t, u)
	a := s.stream(agentBody)
	if a.status != 200 || a.text != "Hi" || a.finish != "tool_calls" || len(a.calls) != 2 || a.calls[1].Function.Name != "read" || len(a.usage) == 0 || !a.done ||
		!strings.Contains(a.raw, `"object":"chat.completion.chunk"`) || !strings.Contains(a.raw, `"odd":1.0`) {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if whole := s.pass(`{"model":"own","messages":[]}`); whole.status != 400 || whole.code(t) != "model_garbage" {
		t.Errorf("%d %s", whole.status, whole.body)
	}
}

// Requests that are the same, and come at the same moment, are all answered at once.
func TestIdenticalRequestsAtOnce(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
		all.Done()
		all.Wait()
		chunks(w, textChunk, endChunk, usageChunk)
	})
	s := passing(t, u)
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() {
			if a := s.stream(agentBody); a.status != 200 || a.text != "Hi" || !a.done {
				t.Errorf("%d %s", a.status, a.raw)
			}
		})
	}
	clients.Wait()
}

// A client that goes away ends the request to the server, before the first chunk and after it.
func TestAClientThatGoesAway(t *testing.T) {
	for _, begun := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("begun=%v,stream=%v", begun, stream), func(t *testing.T) {
				came, ended := make(chan struct{}), make(chan struct{})
				up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if begun {
						w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
						fmt.Fprintf(w, "data: %s\n\n", textChunk)
						_ = http.NewResponseController(w).Flush()
					}
					close(came)
					<-r.Context().Done()
					close(ended)
				}))
				defer up.Close()
				s := passing(t, &upstream{Server: up})
				body := `{"model":"own","messages":[]}`
				if stream {
					body = agentBody
				}
				ctx, leave := context.WithCancel(t.Context())
				left := make(chan struct{})
				go func() {
					defer close(left)
					resp, err := http.DefaultClient.Do(s.request(body).WithContext(ctx))
					if err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
				}()
				<-came
				leave()
				<-ended
				<-left
			})
		}
	}
}

// While the server says nothing, the stream is kept open; a refusal that comes then is said in
// it, or breaks the connection where asking again helps.
func TestAServerThatThinksForLong(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		ok     func(a passedAnswer) bool
	}{
		"an answer": {func(w http.ResponseWriter) { chunks(w, textChunk, endChunk, usageChunk) }, func(a passedAnswer) bool { return a.broken == nil && a.text == "Hi" && a.done }},
		"400": {func(w http.ResponseWriter) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"message":"bad tool"}}`)
		}, func(a passedAnswer) bool { return a.broken == nil && strings.Contains(a.said, "bad tool") && !a.done }},
		"401": {func(w http.ResponseWriter) { w.WriteHeader(401) }, func(a passedAnswer) bool { return a.broken == nil && strings.Contains(a.said, "key") && !a.done }},
		"429": {func(w http.ResponseWriter) { w.WriteHeader(429) }, func(a passedAnswer) bool { return a.broken != nil && a.said == "" && !a.done }},
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan struct{})
			u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
				<-heard
				c.answer(w)
			})
			s := passing(t, u)
			s.daemon.beat = time.Millisecond
			resp, err := http.DefaultClient.Do(s.request(agentBody)) // the head comes with the first comment
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var a passedAnswer
			lines := bufio.NewReader(resp.Body)
			for pinged := false; ; {
				line, err := lines.ReadString('\n')
				if line == ": ping\n" && !pinged {
					pinged = true
					close(heard)
				}
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					a.add(strings.TrimRight(data, "\n"))
				}
				if a.raw += line; err != nil {
					if err != io.EOF {
						a.broken = err
					}
					break
				}
			}
			if !c.ok(a) {
				t.Errorf("broken: %v, %s", a.broken, a.raw)
			}
		})
	}
}

// A quota of weir's that lasts longer than a minute ends the client's attempts, a short wait does not.
func TestAQuotaOfAPassedRequest(t *testing.T) {
	for name, c := range map[string]struct {
		quota usage.Quota
		want  int
	}{
		"of a day":    {usage.Quota{TokensPerDay: 700}, 400},
		"of a minute": {usage.Quota{PerMinute: 1}, 429},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, answerAsAsked)
			s := passing(t, u)
			s.withUsers(map[string]User{"ann": ann(c.quota)})
			for i, want := range []int{200, c.want} {
				_, a := s.exchange("POST", "/v1/chat/completions", agentBody, bearing(annToken))
				wait, _ := strconv.Atoi(a.header.Get("Retry-After"))
				if a.status != want || i > 0 && a.code(t) != "quota" || (a.status == 429) != (wait > 0) || wait > 60 {
					t.Errorf("request %d: %d, wait %d, %s", i+1, a.status, wait, a.body)
				}
			}
			if n := len(u.asked()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}
