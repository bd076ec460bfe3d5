package provider

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A Report is what Test found out.
type Report struct {
	Info agent.ModelInfo `json:"-"` // in JSON info, see MarshalJSON
	// OK says that the model can be used, with tools in one way or the other.
	OK bool `json:"ok"`
	// Steps are what was tried, in order; a failed question ends them.
	Steps []Step `json:"steps"`
	// NativeTools says whether the provider's own tool calling works; nil: not
	// tried, or it failed for a reason that has nothing to do with tools.
	NativeTools *bool `json:"native_tools"`
	// Reply is the beginning of what the model answered, at most 200 characters.
	Reply string `json:"reply"`
	// Usage sums all questions.
	Usage agent.Usage `json:"usage"`
}

// MarshalJSON writes the report with the model's description as info.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	type info struct {
		Name        string `json:"name"`
		Provider    string `json:"provider"`
		Model       string `json:"model"`
		Window      int    `json:"window"` // tokens; 0: unknown
		NativeTools *bool  `json:"native_tools"`
		Simulated   bool   `json:"simulated"`
	}
	return json.Marshal(struct {
		Info info `json:"info"`
		plain
	}{info(r.Info), plain(r)})
}

// A Step is one thing that was tried.
type Step struct {
	Name    StepName      `json:"name"`
	OK      bool          `json:"ok"`
	Elapsed time.Duration `json:"-"` // in JSON elapsed_ms
	// FirstToken is the time to the first delta of a question; 0: there was
	// none. In JSON it is first_token_ms.
	FirstToken time.Duration `json:"-"`
	// Code, Msg and Hint describe the problem and its fix. Msg alone may also explain
	// a success.
	Code agent.ModelCode `json:"code,omitempty"`
	Msg  tool.Text       `json:"message,omitzero"`
	Hint tool.Text       `json:"hint,omitzero"`
}

// MarshalJSON writes both times as whole milliseconds.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	return json.Marshal(struct {
		plain
		Elapsed    int64 `json:"elapsed_ms"`
		FirstToken int64 `json:"first_token_ms"`
	}{plain(s), s.Elapsed.Milliseconds(), s.FirstToken.Milliseconds()})
}

// StepName says what a Step tried.
type StepName string

// The steps of Test.
const (
	StepDescribe StepName = "describe" // ask the server what the model is
	StepWindow   StepName = "window"   // is there room for tools
	StepQuestion StepName = "question" // one tiny question
	StepTools    StepName = "tools"    // one question with a tool, by the provider's own tool calling
	StepPrompt   StepName = "prompt"   // the same by text, where the provider's own does not work
)

const (
	// testTokens leaves a thinking model room to come to its answer.
	testTokens = 2048
	// leastWindow is the window, in tokens, under which tools do not work: the
	// system prompt with a handful of them takes most of it.
	leastWindow = 4096
	// goodWindow is the window, in tokens, from which on results need no special
	// care.
	goodWindow = 8192
)

// Test describes m, asks it one tiny question and then one that calls a tool:
// by the provider's own tool calling, else by text, as agents do. The questions are
// in the language l.
func Test(ctx context.Context, m agent.Model, l tool.Locale) Report {
	var r Report
	r.describe(ctx, m)
	reply, ok := r.try(ctx, m, StepQuestion, question(l))
	r.OK = ok
	if !ok {
		return r
	}
	r.Reply = beginning(reply.text, 200)
	roomy := r.window()
	if r.Info.Simulated {
		return r
	}
	if r.tools(ctx, m, l); r.NativeTools == nil {
		r.OK = false
	} else if !*r.NativeTools {
		r.OK = r.prompt(ctx, m, l)
	}
	r.OK = r.OK && roomy
	return r
}

// window says whether what is known of the window is enough.
func (r *Report) window() bool {
	s := Step{Name: StepWindow, OK: true, Msg: tool.Textf("%d tokens", r.Info.Window)}
	name := r.Info.Name
	switch n := r.Info.Window; {
	case n <= 0:
		s.Msg = tool.Textf("the server does not say how long its window is")
		s.Hint = tool.Textf("set window in [models.%s], in tokens; without it weir keeps results short", name)
	case n < leastWindow:
		s.OK, s.Code = false, agent.ModelWindow
		s.Msg = tool.Textf("the window of %d tokens is too small for tools", n)
		s.Hint = tool.Textf("let the server load the model with %d or more (Ollama: window in [models.%s]; llama.cpp: -c; vLLM: --max-model-len; LM Studio: context length), or choose another", goodWindow, name)
	case n < goodWindow:
		s.Hint = tool.Textf("results will be cut short; %d or more is better", goodWindow)
	}
	r.Steps = append(r.Steps, s)
	return s.OK
}

func (r *Report) describe(ctx context.Context, m agent.Model) {
	d, ok := m.(agent.Describer)
	if !ok {
		return
	}
	begin := time.Now()
	info, err := d.Describe(ctx)
	r.Info = info
	r.Steps = append(r.Steps, stepOf(StepDescribe, begin, err))
}

// river is the one tool of the tests. It is safe for concurrent use.
type river struct {
	mu     sync.Mutex
	called bool
}

// level is what the tool answers, and what the model has to pass on.
const level = "2.31"

func (*river) Tools() []tool.Spec {
	return []tool.Spec{{
		Name: "river_level", Description: "Gives the level of the river at a place.", DescriptionZh: "查询某处的河水水位。",
		Params: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}`),
	}}
}

func (t *river) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called = true
	r := tool.Result{CallID: c.ID, Tool: c.Tool}.WithWhole("level: " + level + " m")
	r.Shown = tool.View{Text: r.Whole(), TotalChars: len(r.Whole()), TotalLines: 1}
	return r, nil
}

// tools asks for a call by the provider's own tool calling and reports whether
// the model replied, whatever it said.
func (r *Report) tools(ctx context.Context, m agent.Model, l tool.Locale) (replied bool) {
	req := question(l)
	req.Messages[0].Text = levelQuestion(l)
	req.Tools = new(river).Tools()
	reply, ok := r.try(ctx, m, StepTools, req)
	last := &r.Steps[len(r.Steps)-1]
	switch last.Code {
	case agent.ModelRateLimited, agent.ModelUnreachable, agent.ModelAuth: // which says nothing about tools
		return false
	}
	works := ok && reply.called
	r.NativeTools = &works
	switch {
	case works:
		last.Msg = tool.Textf("native tool calling works")
		return true
	case ok:
		last.OK = false
		last.Msg = tool.Textf("the model answered without calling the tool")
	}
	last.Hint = tool.Textf("tools are called by prompt instead; nothing has to be changed")
	return ok
}

// prompt runs one turn of an agent whose only tool is river, by text.
func (r *Report) prompt(ctx context.Context, m agent.Model, l tool.Locale) bool {
	cfg := agent.Defaults()
	cfg.Mode, cfg.Locale, cfg.MaxToolCalls, cfg.MaxTokens = agent.ModePrompt, l, 2, testTokens
	box := &river{}
	begin := time.Now()
	loop, err := agent.New(cfg, m, box, nil)
	var out agent.Turn
	if err == nil {
		out, err = loop.Run(ctx, nil, levelQuestion(l))
	}
	r.Usage = r.Usage.Add(out.Usage)
	s := stepOf(StepPrompt, begin, err)
	switch {
	case err != nil:
	case !box.called:
		s.OK = false
		s.Msg = tool.Textf("the model did not call the tool by text either")
		s.Hint = tool.Textf("choose a model that follows instructions better: small ones often cannot")
	case !strings.Contains(out.Answer, level):
		s.Msg = tool.Textf("the tool is called by text, but the answer does not use its result")
		s.Hint = tool.Textf("answers may be wrong; a larger model does better")
	default:
		s.Msg = tool.Textf("tool calling by text works")
	}
	r.Steps = append(r.Steps, s)
	return s.OK
}

func levelQuestion(l tool.Locale) string {
	if l == tool.Zh {
		return "水坝处的河水水位是多少？请使用工具。"
	}
	return "What is the level of the river at the weir? Use the tool."
}

type answer struct {
	text   string
	called bool
}

// try asks one question and records how it went. The last step is its own.
func (r *Report) try(ctx context.Context, m agent.Model, name StepName, req agent.Request) (answer, bool) {
	var a answer
	begin, first := time.Now(), time.Duration(0)
	var fail error
	for d, err := range m.Generate(ctx, req) {
		if err != nil {
			fail = err
			break
		}
		if first == 0 {
			first = time.Since(begin)
		}
		a.text += d.Text
		if c := d.Call; c != nil && len(req.Tools) > 0 && c.Tool == req.Tools[0].Name && json.Valid(c.Args) {
			a.called = true
		}
		if d.Usage != nil {
			r.Usage = r.Usage.Add(*d.Usage)
		}
	}
	s := stepOf(name, begin, fail)
	s.FirstToken = first
	r.Steps = append(r.Steps, s)
	return a, fail == nil
}

func stepOf(name StepName, begin time.Time, err error) Step {
	s := Step{Name: name, OK: err == nil, Elapsed: time.Since(begin)}
	var me *agent.ModelError
	switch {
	case errors.As(err, &me):
		s.Code = me.Code
		s.Msg, s.Hint = me.Texts()
	case err != nil:
		s.Msg = tool.Text{Format: err.Error()}
	}
	return s
}

func question(l tool.Locale) agent.Request {
	text := "Answer with the one word: ready"
	if l == tool.Zh {
		text = "请只回答两个字：就绪"
	}
	return agent.Request{
		MaxTokens: testTokens, Locale: l,
		Messages: []agent.ChatMessage{{Role: "user", Text: text}},
	}
}

func beginning(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
