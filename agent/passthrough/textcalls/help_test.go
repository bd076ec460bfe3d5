package textcalls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/textcalls"
)

// A reply is what a fake answers with.
type reply struct {
	texts    []string // one chunk each
	thoughts []string // reasoning_content, in front
	finish   string   // empty: stop
	usage    string   // JSON; empty: none
	err      error    // at the end, in place of it
	whole    bool     // not streamed
}

func says(texts ...string) reply { return reply{texts: texts} }

// A fake is a passthrough.Model that records what it is sent.
type fake struct {
	replies []reply
	bodies  []string
	left    int // how often an answer was not read to its end
}

func (f *fake) Pass(_ context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		n := len(f.bodies)
		f.bodies = append(f.bodies, string(r.Body))
		if n >= len(f.replies) {
			yield(passthrough.Chunk{}, agent.NewModelError(agent.ModelOverloaded, "fake", textf("too many requests"), textf("")))
			return
		}
		for _, c := range f.replies[n].chunks(n) {
			if !yield(c, nil) {
				f.left++
				return
			}
		}
		if err := f.replies[n].err; err != nil {
			yield(passthrough.Chunk{}, err)
		}
	}
}

func (p reply) chunks(n int) []passthrough.Chunk {
	finish := p.finish
	if finish == "" {
		finish = "stop"
	}
	usage := p.counted()
	head := fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"model":"m-1"`, n, 100+n)
	if p.whole {
		message, _ := json.Marshal(strings.Join(p.texts, ""))
		data := fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion","created":%d,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":%s},"logprobs":null,"finish_reason":%q}]`, n, 100+n, message, finish)
		if p.usage != "" {
			data += `,"usage":` + p.usage
		}
		return []passthrough.Chunk{{Data: json.RawMessage(data + "}"), Usage: usage, Model: "m-1", Finish: finishOf(finish)}}
	}
	var out []passthrough.Chunk
	add := func(delta string) {
		out = append(out, passthrough.Chunk{Data: json.RawMessage(head + `,"choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`), Model: "m-1"})
	}
	add(`{"role":"assistant","content":""}`)
	for _, s := range p.thoughts {
		text, _ := json.Marshal(s)
		add(`{"reasoning_content":` + string(text) + `}`)
	}
	for _, s := range p.texts {
		text, _ := json.Marshal(s)
		add(`{"content":` + string(text) + `}`)
	}
	if p.err != nil {
		return out
	}
	out = append(out, passthrough.Chunk{Data: json.RawMessage(head + `,"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}`), Finish: finishOf(finish)})
	if p.usage != "" {
		out = append(out, passthrough.Chunk{Data: json.RawMessage(head + `,"choices":[],"usage":` + p.usage + `}`), Usage: usage})
	}
	return out
}

func (p reply) counted() *agent.Usage {
	if p.usage == "" {
		return nil
	}
	u := gjson.Parse(p.usage)
	return &agent.Usage{Prompt: int(u.Get("prompt_tokens").Int()), Completion: int(u.Get("completion_tokens").Int())}
}

func finishOf(reason string) agent.Finish {
	switch reason {
	case "length":
		return agent.FinishLength
	case "tool_calls":
		return agent.FinishCalls
	}
	return agent.FinishStop
}

// got is an answer as a client reads it.
type got struct {
	content, thought string
	calls            []string // name and arguments
	ids              []string
	finish           string
	usage            string
	counted          *agent.Usage
	end              agent.Finish
	chunks           []passthrough.Chunk
	err              error
}

// ask sends a body through the wrapper, and reads the answer as a client does.
func ask(t failer, f *fake, o textcalls.Options, body string) got {
	t.Helper()
	return read(t, textcalls.New(f, o).Pass(context.Background(), passthrough.Request{Body: json.RawMessage(body)}))
}

func read(t failer, answer iter.Seq2[passthrough.Chunk, error]) got {
	t.Helper()
	var g got
	roles, finished, ids := 0, 0, map[string]bool{}
	for c, err := range answer {
		if err != nil {
			g.err = err
			continue
		}
		g.chunks = append(g.chunks, c)
		if c.Usage != nil {
			g.counted = c.Usage
		}
		if c.Finish != "" {
			g.end = c.Finish
		}
		if c.Data == nil {
			continue
		}
		if !json.Valid(c.Data) {
			t.Fatalf("no JSON: %s", c.Data)
		}
		data := gjson.ParseBytes(c.Data)
		ids[data.Get("id").String()] = true
		if u := data.Get("usage"); u.IsObject() {
			g.usage = u.Raw
		}
		for _, choice := range data.Get("choices").Array() {
			m := choice.Get("delta")
			if !m.Exists() {
				m = choice.Get("message")
			}
			if m.Get("role").Exists() {
				roles++
			}
			g.content += m.Get("content").String()
			g.thought += m.Get("reasoning_content").String()
			for _, call := range m.Get("tool_calls").Array() {
				if i := call.Get("index"); i.Exists() && int(i.Int()) != len(g.calls) {
					t.Errorf("call %d has the index %d", len(g.calls), i.Int())
				}
				g.calls = append(g.calls, call.Get("function.name").String()+call.Get("function.arguments").String())
				g.ids = append(g.ids, call.Get("id").String())
			}
			if f := choice.Get("finish_reason").String(); f != "" {
				finished++
				g.finish = f
			}
		}
	}
	if g.err == nil && (roles != 1 || finished != 1 || len(ids) != 1) {
		t.Errorf("%d roles, %d ends, ids %v", roles, finished, ids)
	}
	unique := slices.Compact(slices.Sorted(slices.Values(g.ids)))
	if len(unique) != len(g.ids) {
		t.Errorf("ids are not unique: %q", g.ids)
	}
	return g
}

func (g got) String() string {
	s := fmt.Sprintf("%q %s %s", g.content, strings.Join(g.calls, " "), g.finish)
	if g.thought != "" {
		s = fmt.Sprintf("«%s» ", g.thought) + s
	}
	if g.err != nil {
		s += " " + g.err.Error()
	}
	return s
}

const weather = `{"type":"function","function":{"name":"get_weather","description":"Tells the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}`
const clock = `{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}}`

// question is a request with two tools, and further members.
func question(text, more string) string {
	q, _ := json.Marshal(text)
	return `{"model":"x","messages":[{"role":"user","content":` + string(q) + `}],"tools":[` + weather + `,` + clock + `],"stream":true` + more + `}`
}

// letters cuts a text into its characters.
func letters(s string) []string { return strings.Split(s, "") }

func lastMessage(body string) gjson.Result {
	all := gjson.Get(body, "messages").Array()
	return all[len(all)-1]
}

// A failer is a test, of package testing or of rapid.
type failer interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}
