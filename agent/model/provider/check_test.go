package provider

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

func TestTest(t *testing.T) {
	type replies = []func(func(agent.Delta, error) bool)
	end := agent.Delta{Usage: &agent.Usage{Prompt: 5, Completion: 1}, Finish: agent.FinishStop}
	ready := says(agent.Delta{Text: "ready\n"}, end)
	calls := says(agent.Delta{Call: &tool.Call{Tool: "river_level", Args: json.RawMessage(`{"place":"weir"}`)}},
		agent.Delta{Usage: &agent.Usage{Prompt: 5, Completion: 1}, Finish: agent.FinishCalls})
	badCall := says(agent.Delta{Call: &tool.Call{Tool: "river_level", Args: json.RawMessage(`{"pl`)}}, agent.Delta{Finish: agent.FinishCalls})
	inText := says(agent.Delta{Text: `<tool_call>{"tool_name":"river_level","arguments":{"place":"weir"}}</tool_call>`}, end)
	answer := says(agent.Delta{Text: "It is 2.31 m."}, end)
	noKey := &agent.ModelError{Code: agent.ModelAuth, Msg: "the key was refused", Hint: "set X"}
	noTools := &agent.ModelError{Code: agent.ModelBadRequest, Msg: "no tools", Hint: "native_tools = false"}
	limited := &agent.ModelError{Code: agent.ModelRateLimited, Msg: "too fast", Hint: "wait"}
	described, asked := Step{Name: StepDescribe, OK: true}, Step{Name: StepQuestion, OK: true}
	wide := Step{Name: StepWindow, OK: true, Msg: tool.Text{Format: "32768 tokens"}}
	native := Step{Name: StepTools, OK: true, Msg: tool.Text{Format: "native tool calling works"}}
	ignored := Step{Name: StepTools, Msg: tool.Text{Format: "the model answered without calling the tool"}, Hint: tool.Text{Format: "tools are called by prompt instead; nothing has to be changed"}}
	broken, other, empty := ignored, ignored, ignored
	broken.Msg.Format, other.Msg.Format, empty.Msg.Format = "the arguments of the model's call are not JSON", "the model called calculator, which was not offered", "the reply was empty"
	byText := Step{Name: StepPrompt, OK: true, Msg: tool.Text{Format: "tool calling by text works"}}
	yes, no := true, false
	for _, c := range []struct {
		name    string
		window  int
		descErr error
		replies replies
		ok      bool
		native  *bool
		steps   []Step // without times
	}{
		{"all well", 32768, nil, replies{ready, calls}, true, &yes, []Step{described, asked, wide, native}},
		{"by text", 32768, nil, replies{ready, ready, inText, answer}, true, &no, []Step{described, asked, wide, ignored, byText}},
		{"a call whose arguments are broken is none", 32768, nil, replies{ready, badCall, inText, answer}, true, &no, []Step{described, asked, wide, broken, byText}},
		{"another tool is called", 32768, nil, replies{ready, says(agent.Delta{Call: &tool.Call{ID: "1", Tool: "calculator", Args: json.RawMessage(`{}`)}}, end), inText, answer}, true, &no, []Step{described, asked, wide, other, byText}},
		{"the reply is empty", 32768, nil, replies{ready, says(end), inText, answer}, true, &no, []Step{described, asked, wide, empty, byText}},
		{"tools are refused", 32768, nil, replies{ready, fails(noTools), inText, answer}, true, &no,
			[]Step{described, asked, wide, {Name: StepTools, Code: agent.ModelBadRequest, Msg: tool.Text{Format: "no tools"}, Hint: ignored.Hint}, byText}},
		{"the rate is limited before tools are tried", 32768, nil, replies{ready, fails(limited)}, false, nil,
			[]Step{described, asked, wide, {Name: StepTools, Code: agent.ModelRateLimited, Msg: tool.Text{Format: "too fast"}, Hint: tool.Text{Format: "wait"}}}},
		{"in no way at all", 32768, nil, replies{ready, ready, ready}, false, &no, []Step{described, asked, wide, ignored,
			{Name: StepPrompt, Msg: tool.Text{Format: "the model did not call the tool by text either"}, Hint: tool.Text{Format: "choose a model that follows instructions better: small ones often cannot"}}}},
		{"by text, and the result is passed over", 32768, nil, replies{ready, ready, inText, ready}, true, &no, []Step{described, asked, wide, ignored,
			{Name: StepPrompt, OK: true, Msg: tool.Text{Format: "the tool is called by text, but the answer does not use its result"}, Hint: tool.Text{Format: "answers may be wrong; a larger model does better"}}}},
		{"the window is not known", 0, nil, replies{ready, calls}, true, &yes, []Step{described, asked,
			{Name: StepWindow, OK: true, Msg: tool.Text{Format: "the server does not say how long its window is"}, Hint: tool.Text{Format: "set window in [models.mine], in tokens; `weir model test --window` measures it. Without it weir keeps results short"}}, native}},
		{"a wrong key ends it", 0, noKey, replies{fails(noKey)}, false, nil,
			[]Step{{Name: StepDescribe, Code: agent.ModelAuth, Msg: tool.Text{Format: "the key was refused"}, Hint: tool.Text{Format: "set X"}}, {Name: StepQuestion, Code: agent.ModelAuth, Msg: tool.Text{Format: "the key was refused"}, Hint: tool.Text{Format: "set X"}}}},
		{"an error of no kind", 0, nil, replies{fails(errors.New("odd"))}, false, nil, []Step{described, {Name: StepQuestion, Msg: tool.Text{Format: "odd"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &canned{info: agent.ModelInfo{Name: "mine", Window: c.window}, descErr: c.descErr, replies: c.replies}
			r := Test(t.Context(), m, TestOptions{})
			for i := range r.Steps {
				r.Steps[i].Elapsed, r.Steps[i].FirstToken = 0, 0
			}
			if r.OK != c.ok || !cmp.Equal(r.NativeTools, c.native) || len(m.asked) != len(c.replies) {
				t.Errorf("OK %v, native %v, %d questions", r.OK, r.NativeTools, len(m.asked))
			}
			if d := cmp.Diff(c.steps, r.Steps, cmp.Comparer(func(a, b tool.Text) bool { return a.String() == b.String() })); d != "" {
				t.Errorf("steps (-want +got):\n%s", d)
			}
			if r.OK && (r.Reply != "ready" || r.Usage.Prompt < 5) {
				t.Errorf("reply %q, usage %+v", r.Reply, r.Usage)
			}
		})
	}
}

func TestSmallWindows(t *testing.T) {
	for window, want := range map[int]struct {
		ok   bool
		says string
	}{
		2048: {false, "too small"}, 4096: {true, "8192"}, 8192: {true, "8192 tokens"},
	} {
		ready := says(agent.Delta{Text: "x"}, agent.Delta{Finish: agent.FinishStop})
		calls := says(agent.Delta{Call: &tool.Call{Tool: "river_level", Args: json.RawMessage(`{}`)}}, agent.Delta{Finish: agent.FinishCalls})
		m := &canned{info: agent.ModelInfo{Name: "m", Window: window}, replies: []func(func(agent.Delta, error) bool){ready, calls}}
		r := Test(t.Context(), m, TestOptions{Locale: tool.Zh})
		step := r.Steps[2]
		said := strings.Contains(step.Msg.String()+step.Hint.String(), want.says)
		if r.OK != want.ok || step.OK != want.ok || !said {
			t.Errorf("a window of %d: %+v", window, step)
		}
	}
}

// Tell receives every step when it ends, and a silent model ends its step at the bound.
func TestStepsAreToldAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{canned{info: agent.ModelInfo{Name: "slow"}}}
		var told []StepName
		began := time.Now()
		r := Test(t.Context(), m, TestOptions{Bound: 20 * time.Second, Tell: func(s Step) { told = append(told, s.Name) }})
		last := r.Steps[len(r.Steps)-1]
		if r.OK || testtime.Since(began) != 20*time.Second || !slices.Equal(told, []StepName{StepDescribe, StepQuestion}) {
			t.Errorf("OK %v after %s, told %v", r.OK, testtime.Since(began), told)
		}
		if last.Code != agent.ModelUnreachable || last.Msg.String() != "no answer within 20s" || !strings.Contains(last.Hint.String(), "--timeout") {
			t.Errorf("%+v", last)
		}
	})
}

// A mute model describes itself and answers nothing.
type mute struct{ canned }

func (*mute) Generate(ctx context.Context, _ agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		<-ctx.Done()
		yield(agent.Delta{}, ctx.Err())
	}
}

// A model that is not an AI is not asked for tools.
func TestSimulatedModels(t *testing.T) {
	m := &canned{info: agent.ModelInfo{Name: "demo", Window: 32768, Simulated: true}, replies: []func(func(agent.Delta, error) bool){
		says(agent.Delta{Text: "a script"}, agent.Delta{Finish: agent.FinishStop})}}
	if r := Test(t.Context(), m, TestOptions{}); !r.OK || r.NativeTools != nil || len(m.asked) != 1 {
		t.Errorf("%+v after %d questions", r, len(m.asked))
	}
}
