// Package demo is the offline demo model. It is a script, not an AI. A table of
// patterns (patterns.go) leads from a question to a call of a tool that comes with
// weir; for other tools it knows the questions of their examples, and calls that are
// written out, such as word_count text="a b". Its answers quote what the tools
// returned, and it loads parts of earlier results back (load.go). It shows a whole turn
// without a key, a download or a network.
//
// It reads nothing but the request. The same request always has the same reply.
package demo

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Window is the context window that the model claims, in tokens.
const Window = 32768

// chunkChars is how many characters one piece of a streamed reply holds.
const chunkChars = 24

// A Model is the demo model. The zero value is ready; it is safe for
// concurrent use.
type Model struct{}

var (
	_ agent.Model     = Model{}
	_ agent.Describer = Model{}
)

// New makes a demo model.
func New() Model { return Model{} }

// Describe says that the model is simulated.
func (Model) Describe(context.Context) (agent.ModelInfo, error) {
	return agent.ModelInfo{Name: "demo", Provider: "demo", Model: "demo", Window: Window, NativeTools: new(false), Simulated: true}, nil
}

// Generate streams the reply to r.
func (Model) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if r.NoCalls {
			r.Tools = nil
		}
		text, calls := reply(read(r))
		native := len(r.Tools) > 0
		if !native {
			for _, c := range calls {
				text = strings.TrimSpace(text + "\n" + callText(c))
			}
		}
		for _, s := range pieces(text) {
			if ctx.Err() != nil {
				yield(agent.Delta{}, ctx.Err())
				return
			}
			if !yield(agent.Delta{Text: s}, nil) {
				return
			}
		}
		finish := agent.FinishStop
		for i := range calls {
			if native {
				finish = agent.FinishCalls
				if !yield(agent.Delta{Call: &calls[i]}, nil) {
					return
				}
			}
		}
		usage := usageOf(r, text)
		yield(agent.Delta{Usage: &usage, Finish: finish}, nil)
	}
}

// usageOf counts tokens by the agent's own estimate.
func usageOf(r agent.Request, reply string) agent.Usage {
	var e agent.Estimator
	prompt := e.Tokens(r.System)
	for _, m := range r.Messages {
		prompt += e.Tokens(m.Text)
	}
	return agent.Usage{Prompt: prompt, Completion: e.Tokens(reply)}
}

func pieces(s string) (out []string) {
	for piece := range slices.Chunk([]rune(s), chunkChars) {
		out = append(out, string(piece))
	}
	return out
}

// reply decides what to do next: call tools, or answer.
func reply(s scene) (text string, calls []tool.Call) {
	w := textsOf(s.locale)
	switch {
	case s.wantsCheck:
		return "OK", nil
	case s.wantsPlan:
		return plan(s), nil
	case s.final:
		return answer(s), nil
	}
	if calls = next(s); len(calls) > 0 {
		names := make([]string, len(calls))
		for i, c := range calls {
			names[i] = c.Tool
		}
		return w.calling(names), calls
	}
	return answer(s), nil
}

// plan lists the calls that would be made, as numbered steps.
func plan(s scene) string {
	calls := next(s)
	if len(calls) == 0 {
		return answer(s)
	}
	w := textsOf(s.locale)
	var b strings.Builder
	for i, c := range calls {
		b.WriteString(w.step(i+1, c.Tool))
	}
	b.WriteString(w.lastStep(len(calls) + 1))
	return b.String()
}
