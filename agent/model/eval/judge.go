package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// mostCalls is how many calls a question may make. The longest needs three.
const mostCalls = 8

// answer asks one question in one mode. refused says that the provider does not take tools.
func answer(ctx context.Context, m agent.Model, q Question, mode agent.Mode, load tool.Spec) (out Outcome, refused tool.Text) {
	cfg := agent.Defaults()
	cfg.Mode, cfg.Locale, cfg.MaxToolCalls = mode, q.Locale, mostCalls
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &box{load: load, facts: facts()}
	out = Outcome{Mode: mode, Kind: q.Kind, Question: q.Name}
	loop, err := agent.New(cfg, m, b, agent.ObserverFunc(func(e agent.Event) {
		switch e := e.(type) {
		case agent.MalformedCall:
			out.Malformed++
		case agent.CallEnd:
			if e.Result.Err != nil && e.Result.Err.Code == tool.UnknownTool {
				out.Malformed++
			}
		case agent.ModeSwitched:
			refused = tool.Textf("the provider's tool calling does not work: %s", e.Why)
			cancel() // the rest would be of the other mode
		}
	}))
	if err != nil {
		return fail(out, err), refused
	}
	began := time.Now()
	turn, err := loop.Run(ctx, nil, q.Ask)
	out.Millis = time.Since(began).Milliseconds()
	out.Tokens, out.Malformed = turn.Usage.Prompt+turn.Usage.Completion, out.Malformed+b.bad
	if mode == agent.ModeNative && agent.IsModelCode(err, agent.ModelBadRequest) {
		me, _ := errors.AsType[*agent.ModelError](err)
		msg, _ := me.Texts()
		return out, tool.Textf("the provider's tool calling does not work: %s", msg)
	}
	if err != nil {
		return fail(out, err), refused
	}
	out.Why = q.wrong(b.calls, turn.Answer)
	out.Right = out.Why.IsZero()
	return out, refused
}

func fail(out Outcome, err error) Outcome {
	out.Failed, out.err, out.Why = true, err, tool.Textf("%s", err)
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		out.Why = me.Text()
	}
	return out
}

// wrong returns what is wrong with the calls and the answer; zero: nothing is.
func (q Question) wrong(calls []tool.Call, answer string) tool.Text {
	wanted := slices.Concat(q.Steps...)
	for _, c := range calls {
		if !slices.ContainsFunc(wanted, func(w Want) bool { return w.Tool == c.Tool }) {
			return tool.Textf("it called %s, which was not needed", c.Tool)
		}
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(calls, w.is) {
			return tool.Textf("it did not call %s", w.text())
		}
	}
	if strings.TrimSpace(answer) == "" {
		return tool.Textf("it said nothing")
	}
	for _, text := range q.Answer {
		if !containsOne(answer, text) {
			return tool.Textf("its answer does not have %s", strings.ReplaceAll(text, "|", " / "))
		}
	}
	return tool.Text{}
}

// is reports whether a call is the wanted one.
func (w Want) is(c tool.Call) bool {
	args := map[string]any{}
	if c.Tool != w.Tool || json.Unmarshal(c.Args, &args) != nil {
		return false
	}
	for name, values := range w.Args {
		same := func(v string) bool { return v == "*" || plain(v) == plain(fmt.Sprint(args[name])) }
		if !slices.ContainsFunc(strings.Split(values, "|"), same) {
			return false
		}
	}
	return true
}

// args returns the arguments of the call, with the first value of each.
func (w Want) args() json.RawMessage {
	first := map[string]string{}
	for name, values := range w.Args {
		first[name], _, _ = strings.Cut(values, "|")
	}
	raw, err := json.Marshal(first)
	if err != nil {
		panic(err) // texts always encode
	}
	return raw
}

func (w Want) text() string { return w.Tool + " " + string(w.args()) }

func containsOne(text, values string) bool {
	return slices.ContainsFunc(strings.Split(values, "|"), func(v string) bool { return strings.Contains(plain(text), plain(v)) })
}

// plain returns a text without case, spaces and marks of emphasis.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "*", "", "_", "").Replace(s))
}
