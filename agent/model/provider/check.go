package provider

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A Report is what Test found out.
type Report struct {
	Info agent.ModelInfo `json:"-"` // in JSON info, see MarshalJSON
	// OK says that the model can be used; tools by prompt need no more.
	OK bool `json:"ok"`
	// Steps are what was tried, in order; a failed question ends them.
	Steps []Step `json:"steps"`
	// NativeTools says whether the provider's own tool calling works; nil: not tried.
	NativeTools *bool `json:"native_tools"`
	// Reply is the beginning of what the model answered, at most 200 characters.
	Reply string `json:"reply"`
	// Usage sums both questions.
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
	// Code, Msg and Hint say what is wrong; Msg alone may also explain a success.
	Code agent.ModelCode `json:"code,omitempty"`
	Msg  string          `json:"message,omitempty"`
	Hint string          `json:"hint,omitempty"`
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
	StepQuestion StepName = "question" // one tiny question
	StepTools    StepName = "tools"    // one question with a tool
)

// testTokens leaves a thinking model room to come to its answer.
const testTokens = 512

// Test describes m, asks it one tiny question and then one that calls a tool
// by the provider's own tool calling. Texts are in the language l.
func Test(ctx context.Context, m agent.Model, l tool.Locale) Report {
	var r Report
	r.describe(ctx, m)
	reply, ok := r.try(ctx, m, StepQuestion, question(l))
	r.OK = ok
	if ok {
		r.Reply = beginning(reply.text, 200)
		r.tools(ctx, m, l)
	}
	return r
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

// tools asks for a call and reports whether the model replied, whatever it said.
func (r *Report) tools(ctx context.Context, m agent.Model, l tool.Locale) (replied bool) {
	req := question(l)
	req.Messages[0].Text = say(l, "What is the level of the river at the weir? Use the tool.", "水坝处的河水水位是多少？请使用工具。")
	req.Tools = []tool.Spec{{
		Name: "river_level", Description: "Gives the level of the river at a place.", DescriptionZh: "查询某处的河水水位。",
		Params: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}`),
	}}
	reply, ok := r.try(ctx, m, StepTools, req)
	works := ok && reply.called
	r.NativeTools = &works
	last := &r.Steps[len(r.Steps)-1]
	switch {
	case works:
		last.Msg = say(l, "native tool calling works", "原生工具调用可用")
		return true
	case ok:
		last.OK = false
		last.Msg = say(l, "the model answered without calling the tool", "模型未调用工具就直接回答了")
	}
	last.Hint = say(l, "tools are called by prompt instead; nothing has to be changed", "将改用提示词方式调用工具，无需修改")
	return ok
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
		s.Code, s.Msg, s.Hint = me.Code, me.Msg, me.Hint
	case err != nil:
		s.Msg = err.Error()
	}
	return s
}

func question(l tool.Locale) agent.Request {
	return agent.Request{
		MaxTokens: testTokens, Locale: l,
		Messages: []agent.ChatMessage{{Role: "user", Text: say(l, "Answer with the one word: ready", "请只回答两个字：就绪")}},
	}
}

func beginning(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
