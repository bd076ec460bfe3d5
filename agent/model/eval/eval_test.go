package eval

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/sdk/tool"
)

// load is the tool as a host describes it, in short.
func load() tool.Spec {
	return tool.Spec{Name: tool.LoadHistory, Description: "Load the whole result of an earlier tool call, or a part of it.",
		Params: json.RawMessage(`{"type":"object","properties":{"uuid":{"type":"string"},"lines":{"type":"string"},"grep":{"type":"string"}},"required":["uuid"]}`)}
}

// A model that makes each call as it is wanted is right in every mode: the questions, their
// tools and the judgement fit together.
func TestEachQuestionCanBeAnswered(t *testing.T) {
	kinds := map[Kind]int{}
	for _, q := range Questions() {
		kinds[q.Kind]++
		for _, mode := range []agent.Mode{agent.ModeNative, agent.ModePrompt} {
			out, refused := answer(t.Context(), &ideal{question: q}, q, mode, load())
			if !out.Right || out.Malformed > 0 || out.Failed || !refused.IsZero() || out.Tokens == 0 {
				t.Errorf("%s by %s: %+v %v", q.Name, mode, out, refused)
			}
		}
		b := &box{load: load(), facts: facts()}
		for _, c := range slices.Concat(q.Steps...) {
			if r, _ := b.Call(t.Context(), tool.Call{Tool: c.Tool, Args: c.args()}); r.Err != nil {
				t.Errorf("%s: %v", c.text(), r.Err)
			}
		}
	}
	total := 0
	for _, n := range kinds {
		total += n
	}
	if total != 20 || len(kinds) != 5 {
		t.Errorf("%v", kinds)
	}
	e := Expect([]agent.Mode{agent.ModeNative, agent.ModePrompt}, load())
	if e.Questions != 40 || e.Requests != 86 || e.Prompt < 20_000 || e.Prompt > 200_000 {
		t.Errorf("%+v", e)
	}
}

// A long log is not shown whole: only a load brings the line that is asked for.
func TestALogIsCutBeforeTheLineThatIsAskedFor(t *testing.T) {
	b := &box{load: load(), facts: facts()}
	for _, q := range Questions() {
		if q.Kind != LoadBack {
			continue
		}
		first := q.Steps[0][0]
		r, _ := b.Call(t.Context(), tool.Call{Tool: logTool, Args: first.args()})
		if strings.Contains(r.Shown.Text, q.Answer[0]) || !strings.Contains(r.Whole(), q.Answer[0]) {
			t.Errorf("%s: the model reads it at once", q.Name)
		}
		for _, args := range []string{`"grep":"` + q.Answer[0] + `"`, `"lines":"180-270"`, `"head":300`, `"tail":"250"`} {
			r, _ := b.Call(t.Context(), tool.Call{Tool: tool.LoadHistory, Args: json.RawMessage(`{"uuid":"` + r.Ref.UUID + `",` + args + `}`)})
			if r.Err != nil || !strings.Contains(r.Shown.Text, q.Answer[0]) {
				t.Errorf("%s by %s: %v", q.Name, args, r.Err)
			}
		}
	}
}

func TestWrong(t *testing.T) {
	q := Questions()[0]
	call := func(name, args string) tool.Call { return tool.Call{Tool: name, Args: json.RawMessage(args)} }
	good := call(weatherTool, `{"city":" bergen"}`)
	for want, c := range map[string]struct {
		calls  []tool.Call
		answer string
	}{
		"":                     {[]tool.Call{good, good}, "It is **11** °C."},
		"did not call get_wea": {nil, "11"},
		"which was not needed": {[]tool.Call{good, call(levelTool, `{"station":"K-08"}`)}, "11"},
		"it said nothing":      {[]tool.Call{good}, " "},
		"does not have 11":     {[]tool.Call{good}, "It rains."},
		`get_weather {"city":`: {[]tool.Call{call(weatherTool, `{"city":"Oslo"}`)}, "11"},
	} {
		if got := q.wrong(c.calls, c.answer).String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAdvice(t *testing.T) {
	native, byText := Row{Mode: agent.ModeNative, Asked: 20, Right: 18, Tokens: 50}, Row{Mode: agent.ModePrompt, Asked: 20, Right: 18, Tokens: 60}
	with := func(r Row, edit func(*Row)) Row { edit(&r); return r }
	for _, c := range []struct {
		about string
		rows  []Row
		want  agent.Mode
	}{
		{"as good, with fewer tokens", []Row{byText, native}, agent.ModeNative},
		{"as good, with fewer malformed calls", []Row{with(native, func(r *Row) { r.Malformed = 1 }), byText}, agent.ModePrompt},
		{"more right", []Row{native, with(byText, func(r *Row) { r.Right, r.Malformed = 19, 5 })}, agent.ModePrompt},
		{"a larger share of fewer questions", []Row{native, with(byText, func(r *Row) { r.Asked, r.Right = 10, 10 })}, agent.ModePrompt},
		{"as often wrong as right", []Row{with(native, func(r *Row) { r.Right = 10 })}, ""},
		{"one is not there", []Row{{Mode: agent.ModeNative, Refused: tool.Textf("no")}, byText}, agent.ModePrompt},
		{"nothing was asked", []Row{{Mode: agent.ModeNative}}, ""},
	} {
		if got, why := advise(c.rows); got != c.want || why.IsZero() || got != "" && !strings.Contains(why.String(), `set mode = "`+string(got)+`"`) {
			t.Errorf("%s: %q, %v", c.about, got, why)
		}
	}
}

// breaks is a model that ends the context at one of its requests, or fails at all of them.
type breaks struct {
	agent.Model
	at     int32
	asked  atomic.Int32
	cancel context.CancelFunc
	err    error
}

func (b *breaks) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	if b.asked.Add(1) == b.at {
		b.cancel()
	}
	if b.err != nil {
		return func(yield func(agent.Delta, error) bool) { yield(agent.Delta{}, b.err) }
	}
	return b.Model.Generate(ctx, r)
}

// An evaluation ends early where it has to, and says what it has by then.
func TestRunEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	modes := []agent.Mode{agent.ModePrompt}
	r := Run(ctx, &breaks{Model: demo.New(), at: 6, cancel: cancel}, modes, Options{Load: load(), Parallel: 1})
	if n := len(r.Outcomes); n == 0 || n >= 6 || r.Rows[0].Asked != n || !strings.Contains(r.Ended.String(), "interrupted") {
		t.Errorf("after an interrupt: %+v", r.Rows)
	}
	r = Run(t.Context(), demo.New(), modes, Options{Load: load(), Parallel: 1, Tokens: 1})
	if len(r.Outcomes) != 1 || !strings.Contains(r.Ended.String(), "tokens are used up") {
		t.Errorf("without tokens: %+v %v", r.Rows, r.Ended)
	}
	for code, want := range map[agent.ModelCode]int{agent.ModelAuth: 1, agent.ModelOverloaded: mostFailures} {
		e := agent.NewModelError(code, "m", tool.Textf("no"), tool.Text{})
		r = Run(t.Context(), &breaks{Model: demo.New(), err: e}, []agent.Mode{agent.ModeNative, agent.ModePrompt}, Options{Load: load(), Parallel: 1})
		if r.Err == nil || len(r.Outcomes) != want || r.Rows[0].Failed != want || r.Rows[0].Asked != 0 || r.Set != "" {
			t.Errorf("%s: %+v %v", code, r.Rows, r.Err)
		}
	}
	refuses := agent.NewModelError(agent.ModelBadRequest, "m", tool.Textf("this model does not support tools"), tool.Text{})
	r = Run(t.Context(), &breaks{Model: demo.New(), err: refuses}, []agent.Mode{agent.ModeNative}, Options{Load: load(), Parallel: 1})
	if r.Rows[0].Refused.IsZero() || r.Rows[0].Asked != 0 {
		t.Errorf("%+v", r.Rows)
	}
}

// The demo model, which is a script, has its own share.
func TestTheDemoModel(t *testing.T) {
	modes := Modes(t.Context(), demo.New())
	told := 0
	r := Run(t.Context(), demo.New(), modes, Options{Load: load(), Tell: func(_ Question, _ agent.Mode, ended *Outcome) {
		if ended != nil {
			told++
		}
	}})
	if len(modes) != 1 || len(r.Rows) != 1 || told != 20 || r.Rows[0].Asked != 20 || !r.Ended.IsZero() {
		t.Fatalf("%v %+v %v", modes, r.Rows, r.Ended)
	}
	if row := r.Rows[0]; row.Right != 4 || row.Malformed > 0 || r.Set != "" { // it knows its examples, and no answers
		t.Errorf("%+v %v", row, r.Outcomes)
	}
}
