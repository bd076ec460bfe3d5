package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// profiled is a daemon over HTTP whose profiles are those of a tools.toml, and
// whose models are a script.
type profiled struct {
	*testing.T
	script       *replay.Model
	client       *session
	conversation string // the conversation that the next question continues
}

// told is what one question came to.
type told struct {
	events []string
	start  api.ChatStart
	end    api.ChatEnd
	plan   api.Plan
	calls  []api.ToolCallStart
}

const otherModel = "\n[models.other]\nprovider = \"ollama\"\nmodel = \"x\"\n"

func newProfiled(t *testing.T, h *host.Host, text string, reply func(n int, r agent.Request) replay.Reply) *profiled {
	t.Helper()
	s, faults := config.Parse("tools.toml", text+otherModel)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	s = s.WithDefaults()
	p := &profiled{T: t, script: replay.Func(reply).Describing(agent.ModelInfo{Window: 32768})}
	d, err := daemon.New(daemon.Config{
		Host: h, Models: map[string]daemon.Model{"demo": {Model: p.script}, "other": {Model: p.script}}, Profiles: s.Profiles(), Token: "t", Hosts: []string{"127.0.0.1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	t.Cleanup(srv.Close)
	p.client = &session{Client: client.New(srv.URL, "t")}
	return p
}

// ask asks in the conversation that goes on.
func (p *profiled) ask(question string) told {
	p.Helper()
	return p.asking(api.Ask{Message: question})
}

func (p *profiled) asking(a api.Ask) (out told) {
	p.Helper()
	a.Conversation = p.conversation
	err := p.client.Ask(p.Context(), a, func(name string, data json.RawMessage) error {
		out.events = append(out.events, name)
		switch name {
		case "chat.start":
			return json.Unmarshal(data, &out.start)
		case "plan":
			return json.Unmarshal(data, &out.plan)
		case "tool_call.start":
			out.calls = append(out.calls, api.ToolCallStart{})
			return json.Unmarshal(data, &out.calls[len(out.calls)-1])
		case "chat.end":
			return json.Unmarshal(data, &out.end)
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	p.conversation = out.start.Conversation
	return out
}

// asked is the n-th request to the model.
func (p *profiled) asked(n int) agent.Request {
	p.Helper()
	all := p.script.Requests()
	if n >= len(all) {
		p.Fatalf("the model was asked %d times", len(all))
	}
	return all[n]
}

// heldBy is all that a request holds.
func heldBy(r agent.Request) string {
	all := []string{r.System}
	for _, m := range r.Messages {
		all = append(all, m.Role+": "+m.Text)
	}
	return strings.Join(all, "\n")
}

func sum(n int) replay.Reply {
	return replay.Call("calculator", fmt.Sprintf(`{"expression":"%d+0"}`, n))
}

// saysAlways says so, whatever it is asked.
func saysAlways(text string) func(int, agent.Request) replay.Reply {
	return func(int, agent.Request) replay.Reply { return replay.Text(text) }
}

// inTurn gives its replies in order, the last one for ever.
func inTurn(replies ...replay.Reply) func(int, agent.Request) replay.Reply {
	return func(n int, _ agent.Request) replay.Reply { return replies[min(n, len(replies)-1)] }
}

// party is another server's tool that ends when as many of its calls run as are
// expected, and returns how many ran at once.
type party struct {
	mu            sync.Mutex
	expected      int
	running, most int
	full          chan struct{} // closed when all of them run
}

func (p *party) begin(expected int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected, p.most, p.full = expected, 0, make(chan struct{})
}

func (p *party) join(ctx context.Context) {
	p.mu.Lock()
	p.running++
	p.most = max(p.most, p.running)
	if p.running == p.expected && p.expected > 0 {
		close(p.full)
		p.expected = 0 // it happens once
	}
	full := p.full
	p.mu.Unlock()
	select {
	case <-full:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}

func (p *party) serve(t *testing.T) string {
	m := mcp.NewServer(&mcp.Implementation{Name: "party", Version: "1"}, nil)
	mcp.AddTool(m, &mcp.Tool{Name: "join", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		p.join(ctx)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "joined"}}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(srv.Close)
	return srv.URL
}

// Every key of a profile has the effect that tools.toml describes, in whole turns over
// HTTP; so have 0 and negative values.
func TestProfiles(t *testing.T) {
	guests := &party{}
	h, err := host.Open(t.Context(), host.Config{
		Settings: host.Settings{
			Folders:  []plugin.Folder{{Path: guesttest.Shipped(t, "calculator", "long_text"), Trust: "granted"}},
			Archive:  archive.Config{Path: filepath.Join(t.TempDir(), "archive.db")},
			Servers:  []plugin.Server{{Name: "party", URL: guests.serve(t), TrustHints: true}},
			Parallel: 64, // a server gets a quarter,
		},
		CacheDir: guesttest.Cache(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := h.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	with := func(text string, reply func(int, agent.Request) replay.Reply) *profiled {
		return newProfiled(t, h, text, reply)
	}
	offered := func(p *profiled, n int) (names []string) {
		for _, name := range []string{"calculator", "long_text", "party__join"} {
			if r := p.asked(n); strings.Contains(r.System, name) || slices.ContainsFunc(toolNames(r), func(s string) bool { return s == name }) {
				names = append(names, name)
			}
		}
		return names
	}
	all := []string{"calculator", "long_text", "party__join"}
	tests := map[string]func(t *testing.T){
		"model": func(t *testing.T) {
			for text, want := range map[string]string{"[agent]\n": "demo", "[agent]\nmodel = \"other\"\n": "other"} {
				if got := with(text, saysAlways("ok")).ask("hi"); got.start.Model != want {
					t.Errorf("%q asks %s", text, got.start.Model)
				}
			}
			p := with("[agent]\n[agents.second]\nmodel = \"other\"\nsystem = \"Be second.\"\n", saysAlways("ok"))
			if got := p.asking(api.Ask{Message: "hi", Profile: "second"}); got.start.Model != "other" || !strings.Contains(p.asked(0).System, "Be second.") {
				t.Errorf("another profile: %+v", got.start)
			}
			if got := p.asking(api.Ask{Message: "hi", Profile: "second", Model: "demo"}); got.start.Model != "demo" {
				t.Errorf("a question's own model: %+v", got.start)
			}
		},
		"mode": func(t *testing.T) {
			for mode, native := range map[string]bool{"auto": false, "prompt": false, "native": true} {
				p := with("[agent]\nmode = \""+mode+"\"\n", saysAlways("ok"))
				if got := p.ask("hi"); (len(p.asked(0).Tools) > 0) != native || strings.Contains(p.asked(0).System, "<tool_call>") == native || native != (got.start.Mode == agent.ModeNative) {
					t.Errorf("%s: %s with %d native tools", mode, got.start.Mode, len(p.asked(0).Tools))
				}
			}
		},
		"tools": func(t *testing.T) {
			for list, want := range map[string][]string{``: all, `tools = ["calculator"]`: {"calculator"}, `tools = []`: nil} {
				p := with("[agent]\n"+list+"\n", inTurn(replay.Call("long_text", "{}"), replay.Text("ok")))
				got := p.ask("hi")
				if names := offered(p, 0); !slices.Equal(names, want) {
					t.Errorf("%q offers %q", list, names)
				}
				if ran := slices.ContainsFunc(got.end.Results, func(r api.ToolCallResult) bool { return r.OK }); ran != slices.Contains(want, "long_text") {
					t.Errorf("%q: what is not offered runs: %v", list, got.end.Results)
				}
			}
		},
		"deny_tools": func(t *testing.T) {
			p := with("[agent]\ntools = [\"calculator\", \"long_text\"]\ndeny_tools = [\"long_text\"]\n", saysAlways("ok"))
			if p.ask("hi"); !slices.Equal(offered(p, 0), []string{"calculator"}) {
				t.Errorf("offers %q", offered(p, 0))
			}
		},
		"locale": func(t *testing.T) {
			for locale, chinese := range map[string]bool{"auto": false, "en": false, "zh": true} {
				p := with("[agent]\nlocale = \""+locale+"\"\n", saysAlways("ok"))
				if got := p.ask("hello there"); strings.Contains(p.asked(0).System, "工具") != chinese || (got.start.Locale == "zh") != chinese {
					t.Errorf("%s: %s", locale, got.start.Locale)
				}
			}
			p := with("locale = \"zh\"\n[agent]\n", saysAlways("ok"))
			if got := p.ask("hello there"); got.start.Locale != "zh" {
				t.Errorf("left out, the file's own locale holds: %s", got.start.Locale)
			}
		},
		"system": func(t *testing.T) {
			p := with("[agent]\nsystem = \"Say aye.\"\n", saysAlways("aye"))
			if p.ask("hi"); !strings.Contains(p.asked(0).System, "Say aye.") {
				t.Error(p.asked(0).System)
			}
		},
		"enable_tool_calling": func(t *testing.T) {
			p := with("[agent]\nenable_tool_calling = false\n", inTurn(sum(1), replay.Text("ok")))
			if got := p.ask("hi"); len(offered(p, 0)) > 0 || got.end.Calls > 0 {
				t.Errorf("offers %q, %d calls", offered(p, 0), got.end.Calls)
			}
		},
		"enable_memory": func(t *testing.T) {
			for on, want := range map[string]int{"true": 3, "false": 1} {
				p := with("[agent]\nenable_memory = "+on+"\n", saysAlways("ok"))
				p.ask("one")
				if p.ask("two"); len(p.asked(1).Messages) != want {
					t.Errorf("%s sends %d messages", on, len(p.asked(1).Messages))
				}
			}
		},
		"memory_limit": func(t *testing.T) {
			const turns = 22 // 44 messages
			for limit, most := range map[int]int{4: 4, 0: agent.DefaultMemoryLimit, -1: 2 * turns} {
				p := with(fmt.Sprintf("[agent]\nmemory_limit = %d\n", limit), saysAlways("ok"))
				sent := 0
				for range turns + 1 {
					p.ask("hi")
					r := p.script.Requests()
					sent = max(sent, len(r[len(r)-1].Messages)-1)
				}
				last := len(p.asked(turns).Messages) - 1
				if sent != most || limit < 0 != (last == 2*turns) {
					t.Errorf("%d: at most %d earlier messages were sent, want %d; at last %d", limit, sent, most, last)
				}
			}
		},
		"enable_planning": func(t *testing.T) {
			for on, want := range map[string]bool{"true": true, "false": false} {
				p := with("[agent]\nenable_planning = "+on+"\n", inTurn(replay.Text("1. Look\n2. Tell"), replay.Text("done")))
				if got := p.ask("hi"); slices.Contains(got.events, "plan") != want || (got.end.Answer == "done") != want {
					t.Errorf("%s: %v, %q", on, got.events, got.end.Answer)
				}
			}
		},
		"max_planning_steps": func(t *testing.T) {
			steps := ""
			for i := range 14 {
				steps += fmt.Sprintf("%d. Step\n", i+1)
			}
			for most, want := range map[int]int{2: 2, 0: agent.DefaultMaxPlanningSteps, -1: 14} {
				p := with(fmt.Sprintf("[agent]\nenable_planning = true\nmax_planning_steps = %d\n", most), inTurn(replay.Text(steps), replay.Text("done")))
				got := p.ask("hi")
				if bound := fmt.Sprintf("at most %d", want); len(got.plan.Steps) != want || strings.Contains(heldBy(p.asked(0)), bound) != (most >= 0) {
					t.Errorf("%d: %d steps, and the model was asked:\n%s", most, len(got.plan.Steps), heldBy(p.asked(0)))
				}
			}
		},
		"enable_reflection": func(t *testing.T) {
			for on, want := range map[string]string{"true": "checked", "false": "draft"} {
				p := with("[agent]\nenable_reflection = "+on+"\n", inTurn(sum(1), replay.Text("draft"), replay.Text("checked")))
				if got := p.ask("hi"); got.end.Answer != want {
					t.Errorf("%s answers %q", on, got.end.Answer)
				}
			}
		},
		"fallback": func(t *testing.T) {
			for list, want := range map[string]string{"": "", `fallback = ["other"]`: "other"} {
				p := with("[agent]\n"+list+"\n", func(n int, _ agent.Request) replay.Reply {
					if n == 0 {
						return replay.Reply{Err: agent.NewModelError(agent.ModelOverloaded, "demo", tool.Textf("busy"), tool.Text{})}
					}
					return replay.Text("ok")
				})
				if got := p.asking(api.Ask{Message: "hi"}); want != "" && (got.end.Model != want || got.end.Answer != "ok") || want == "" && got.end.Answer != "" {
					t.Errorf("%q: %q of %s", list, got.end.Answer, got.end.Model)
				}
			}
		},
		"max_tool_calls": func(t *testing.T) {
			for most, want := range map[int]int{2: 2, 0: agent.DefaultMaxToolCalls, -1: 0} {
				p := with(fmt.Sprintf("[agent]\nmax_tool_calls = %d\n", most), func(n int, r agent.Request) replay.Reply {
					if strings.Contains(r.System, "calculator") && n < 30 && !strings.Contains(heldBy(r), "answer now") && !strings.Contains(heldBy(r), "Answer now") {
						return sum(n)
					}
					return replay.Text("ok")
				})
				got := p.ask("hi")
				if got.end.Calls != want || want > 0 && got.end.Reason != agent.ReasonMaxCalls || want == 0 && len(offered(p, 0)) > 0 {
					t.Errorf("%d: %d calls, %s", most, got.end.Calls, got.end.Reason)
				}
			}
		},
		"max_tool_result_length": func(t *testing.T) {
			for text, want := range map[string]int{"": 12000, "2000": 2000, "0": 4000, "-1": 4000, "10": 1000} {
				if text != "" {
					text = "max_tool_result_length = " + text
				}
				p := with("[agent]\n"+text+"\n", inTurn(replay.Call("long_text", "{}"), replay.Text("ok")))
				got := p.ask("hi")
				if shown := got.end.Results[0].Shown; got.start.Limit != want || shown > want || shown < min(want, 8000)/2 {
					t.Errorf("%q: %d, of which %d are shown", text, got.start.Limit, shown)
				}
			}
		},
		"max_corrections": func(t *testing.T) {
			for most, want := range map[int]int{1: 1, 0: agent.DefaultMaxCorrections, -1: 0} {
				p := with(fmt.Sprintf("[agent]\nmax_corrections = %d\n", most), func(n int, r agent.Request) replay.Reply {
					return replay.Text(fmt.Sprintf(`<tool_call>{"tool_name":"nobody_%d","arguments":{}}</tool_call>`, n))
				})
				got := p.ask("hi")
				corrected := 0
				for _, r := range p.script.Requests() {
					corrected = max(corrected, strings.Count(heldBy(r), "nobody_"))
				}
				if n := howOften(got.events, "tool_call.malformed"); n != want+1 || got.end.Reason != agent.ReasonMalformed {
					t.Errorf("%d: %d calls were malformed, %d sent back; %s", most, n, corrected, got.end.Reason)
				}
			}
		},
		"parallel_calls": func(t *testing.T) {
			group := ""
			for i := range 8 {
				group += fmt.Sprintf(`<tool_call>{"id":"c%d","tool_name":"party__join","arguments":{"n":%d}}</tool_call>`, i, i)
			}
			for parallel, want := range map[int]int{2: 2, 0: agent.DefaultParallel, -1: 1} {
				guests.begin(want)
				p := with(fmt.Sprintf("[agent]\nparallel_calls = %d\n", parallel), inTurn(replay.Text(group), replay.Text("ok")))
				if got := p.ask("hi"); got.end.Calls != 8 || guests.most != want {
					t.Errorf("%d: of %d calls %d ran at once", parallel, got.end.Calls, guests.most)
				}
			}
		},
		"token_budget": func(t *testing.T) {
			for budget, want := range map[int]agent.Reason{150: agent.ReasonTokens, 0: agent.ReasonAnswer, -1: agent.ReasonAnswer} {
				r := sum(1)
				r.Usage = &agent.Usage{Prompt: 100, Completion: 60}
				p := with(fmt.Sprintf("[agent]\ntoken_budget = %d\n", budget), inTurn(r, replay.Text("ok")))
				if got := p.ask("hi"); got.end.Reason != want || got.end.Answer != "ok" {
					t.Errorf("%d: %s, %q", budget, got.end.Reason, got.end.Answer)
				}
			}
		},
		"time_budget": func(t *testing.T) {
			for budget, want := range map[string]agent.Reason{"1ms": agent.ReasonTime, "0s": agent.ReasonAnswer} {
				p := with("[agent]\ntime_budget = \""+budget+"\"\n", func(int, agent.Request) replay.Reply { return replay.Reply{Text: "ok", Delay: 1 << 22} }) // 4 ms
				if got := p.ask("hi"); got.end.Reason != want {
					t.Errorf("%s: %s", budget, got.end.Reason)
				}
			}
		},
		"prefetch": func(t *testing.T) {
			p := with("[agent]\nprefetch = [\"calculator\"]\n", saysAlways("ok"))
			got := p.ask("6*7")
			if len(got.calls) != 1 || got.calls[0].Tool != "calculator" || got.calls[0].Format != "prefetch" || !strings.Contains(heldBy(p.asked(0)), "42") || len(p.script.Requests()) != 1 {
				t.Errorf("%+v", got.calls)
			}
		},
	}
	for f := range reflect.TypeFor[config.AgentSettings]().Fields() {
		key := f.Tag.Get("toml")
		test, ok := tests[key]
		if !ok {
			t.Errorf("nothing tells whether %s has an effect", key)
			continue
		}
		t.Run(key, test)
	}
}

func toolNames(r agent.Request) (names []string) {
	for _, s := range r.Tools {
		names = append(names, s.Name)
	}
	return names
}

func howOften(list []string, what string) (n int) {
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}
