package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/limit"
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
	// Scripts says whether the model writes scripts that call tools; nil: not tried, or it
	// failed for another reason.
	Scripts *bool `json:"scripts"`
	// Measured is what long prompts found out about the window; nil: it was not measured.
	Measured *Measured `json:"measured,omitempty"`
	// Reply is the beginning of what the model answered, at most 200 characters.
	Reply string `json:"reply"`
	// Usage sums all questions.
	Usage agent.Usage `json:"usage"`
}

// MarshalJSON writes the report with the model's description as info.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	type info struct {
		Name           string `json:"name"`
		Provider       string `json:"provider"`
		Model          string `json:"model"`
		Window         int    `json:"window"` // tokens; 0: unknown
		FromTable      bool   `json:"from_table,omitempty"`
		NativeTools    *bool  `json:"native_tools"`
		StartInThought bool   `json:"start_in_thought,omitempty"`
		Simulated      bool   `json:"simulated"`
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
	StepMeasure  StepName = "measure"  // how long may a prompt be, where that is asked for
	StepQuestion StepName = "question" // one tiny question
	StepTools    StepName = "tools"    // one question with a tool, by the provider's own tool calling
	StepPrompt   StepName = "prompt"   // the same by text, where the provider's own does not work
	StepScript   StepName = "script"   // one question that a script answers
)

// TestOptions say how Test asks. The zero value asks in English.
type TestOptions struct {
	// Locale is the language of the questions.
	Locale tool.Locale
	// Bound is the most time of one step; 0: DefaultStepBound, negative: no bound.
	Bound time.Duration
	// Script is the tool that runs a script, and RunScript runs the code of one with the
	// tools of a box; nil: no script is tried.
	Script    tool.Spec
	RunScript func(ctx context.Context, code string, box agent.Toolbox) (tool.Result, error)
	// Measure is the longest prompt that measures the window, in tokens; 0: it is not
	// measured. MeasureCost returns what that costs at most.
	Measure int
	// Tell is called with each step when it ends; nil: no call.
	Tell func(Step)
}

// DefaultStepBound is the most time of one step of Test. It leaves a server on this
// machine the time to load its model.
const DefaultStepBound = time.Minute

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
// by the provider's own tool calling, else by text, as agents do.
func Test(ctx context.Context, m agent.Model, o TestOptions) Report {
	t := tester{TestOptions: o, model: m}
	return t.run(ctx)
}

// A tester is one run of Test.
type tester struct {
	Report
	TestOptions
	model agent.Model
}

func (t *tester) run(ctx context.Context) Report {
	t.describe(ctx)
	reply, asked := t.ask(ctx, StepQuestion, question(t.Locale))
	t.add(asked)
	if t.OK = asked.OK; !t.OK {
		return t.Report
	}
	t.Reply = beginning(reply.text, 200)
	roomy := t.window()
	if t.Info.Simulated {
		return t.Report
	}
	if t.Measure > 0 {
		t.measure(ctx)
	}
	if t.tools(ctx); t.NativeTools == nil {
		t.OK = false
	} else if !*t.NativeTools {
		t.OK = t.prompt(ctx)
	}
	if t.OK {
		t.script(ctx)
	}
	t.OK = t.OK && roomy
	return t.Report
}

// add records a step that has ended.
func (t *tester) add(s Step) {
	t.Steps = append(t.Steps, s)
	if t.Tell != nil {
		t.Tell(s)
	}
}

// step runs one step within its bound.
func (t *tester) step(ctx context.Context, name StepName, do func(context.Context) error) Step {
	bound := cmp.Or(t.Bound, DefaultStepBound)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if bound > 0 {
		limited, cancel = context.WithTimeout(ctx, bound)
	}
	defer cancel()
	begin := time.Now()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = agent.NewModelError(agent.ModelUnreachable, t.Info.Name, tool.Textf("no answer within %s", bound),
			tool.Textf("the server may still be loading the model; `weir model test --timeout 5m` waits longer"))
	}
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

// window says whether what is known of the window is enough.
func (t *tester) window() bool {
	s := Step{Name: StepWindow, OK: true, Msg: tool.Textf("%d tokens", t.Info.Window)}
	if t.Info.FromTable {
		s.Msg = tool.Textf("%d tokens, by weir's table of hosted services", t.Info.Window)
	}
	name := t.Info.Name
	switch n := t.Info.Window; {
	case n <= 0:
		s.Msg = tool.Textf("the server does not say how long its window is")
		s.Hint = tool.Textf("set window in [models.%s], in tokens; `weir model test --window` measures it. Without it weir keeps results short", name)
	case n < leastWindow:
		s.OK, s.Code = false, agent.ModelWindow
		s.Msg = tool.Textf("the window of %d tokens is too small for tools", n)
		s.Hint = tool.Textf("let the server load the model with %d or more (Ollama: window in [models.%s]; llama.cpp: -c; vLLM: --max-model-len; LM Studio: context length), or choose another", goodWindow, name)
	case n < goodWindow:
		s.Hint = tool.Textf("results will be cut short; %d or more is better", goodWindow)
	}
	t.add(s)
	return s.OK
}

func (t *tester) describe(ctx context.Context) {
	d, ok := t.model.(agent.Describer)
	if !ok {
		return
	}
	var unlisted tool.Text
	s := t.step(ctx, StepDescribe, func(ctx context.Context) (err error) {
		if t.Info, err = d.Describe(ctx); err == nil {
			unlisted = Unlisted(ctx, t.model, t.Info.Model)
		}
		return err
	})
	if s.OK {
		s.Msg = unlisted
	}
	t.add(s)
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

// tools asks for a call by the provider's own tool calling and reports whether the reply
// says something about it: one that is empty, or was cut off, does not.
func (t *tester) tools(ctx context.Context) (replied bool) {
	req := question(t.Locale)
	req.Messages[0].Text = levelQuestion(t.Locale)
	req.Tools = new(river).Tools()
	reply, s := t.ask(ctx, StepTools, req)
	defer func() { t.add(s) }()
	switch s.Code {
	case agent.ModelRateLimited, agent.ModelUnreachable, agent.ModelAuth: // which says nothing about tools
		return false
	}
	works := s.OK && reply.called
	replied = s.OK && (works || reply.broken || reply.other != "" || reply.finish != agent.FinishLength && strings.TrimSpace(reply.text) != "")
	t.NativeTools = &works
	switch {
	case works:
		s.Msg = tool.Textf("native tool calling works")
		return true
	case s.OK && reply.other != "":
		s.Msg = tool.Textf("the model called %s, which was not offered", reply.other)
	case s.OK && reply.broken:
		s.Msg = tool.Textf("the arguments of the model's call are not JSON")
	case s.OK && reply.finish == agent.FinishLength:
		s.Msg = tool.Textf("the reply was cut off by the length limit before a call")
	case s.OK && !replied:
		s.Msg = tool.Textf("the reply was empty")
	case s.OK:
		s.Msg = tool.Textf("the model answered without calling the tool")
	}
	s.OK = false
	s.Hint = tool.Textf("tools are called by prompt instead; nothing has to be changed")
	return replied
}

// prompt runs one turn of an agent whose only tool is river, by text.
func (t *tester) prompt(ctx context.Context) bool {
	cfg := agent.Defaults()
	cfg.Mode, cfg.Locale, cfg.MaxToolCalls, cfg.MaxTokens = agent.ModePrompt, t.Locale, 2, testTokens
	box := &river{}
	var out agent.Turn
	s := t.step(ctx, StepPrompt, func(ctx context.Context) error {
		loop, err := agent.New(cfg, t.model, box, nil)
		if err == nil {
			out, err = loop.Run(ctx, nil, levelQuestion(t.Locale))
		}
		return err
	})
	t.Usage = t.Usage.Add(out.Usage)
	switch {
	case !s.OK:
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
	t.add(s)
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
	broken bool   // a call has arguments that are not JSON
	other  string // a tool that was called and not offered
	finish agent.Finish
}

// ask asks one question and returns how it went.
func (t *tester) ask(ctx context.Context, name StepName, req agent.Request) (answer, Step) {
	var a answer
	first := time.Duration(0)
	s := t.step(ctx, name, func(ctx context.Context) error {
		begin := time.Now()
		for d, err := range t.model.Generate(ctx, req) {
			if err != nil {
				return err
			}
			if first == 0 {
				first = time.Since(begin)
			}
			a.text += d.Text
			switch c := d.Call; {
			case c == nil || len(req.Tools) == 0:
			case c.Tool != req.Tools[0].Name:
				a.other = limit.Visible(c.Tool)
			default:
				a.called, a.broken = json.Valid(c.Args), !json.Valid(c.Args)
			}
			a.finish = d.Finish
			if d.Usage != nil {
				t.Usage = t.Usage.Add(*d.Usage)
			}
		}
		return nil
	})
	s.FirstToken = first
	return a, s
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
