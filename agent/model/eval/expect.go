package eval

import (
	"context"
	"fmt"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// replyTokens is what a reply is thought to have, in tokens. A model that thinks needs more.
const replyTokens = 80

// An Estimate is what an evaluation is expected to use.
type Estimate struct{ Questions, Requests, Prompt, Completion int }

// Bound is the most tokens of an evaluation if nothing else is wanted.
func (e Estimate) Bound() int { return tokensFactor * e.Tokens() }

// Tokens are those of prompts and replies together.
func (e Estimate) Tokens() int { return e.Prompt + e.Completion }

// Expect returns what the questions take in these modes, by asking a model that makes each
// call as it is wanted.
func Expect(modes []agent.Mode, load tool.Spec) Estimate {
	var e Estimate
	for _, mode := range modes {
		for _, q := range Questions() {
			m := &ideal{question: q}
			answer(context.Background(), m, q, mode, load)
			e.Questions++
			e.Requests += m.asked
			e.Prompt += m.prompt
			e.Completion += replyTokens * m.asked
		}
	}
	return e
}

// An ideal model makes the calls of one question and answers it.
type ideal struct {
	question      Question
	asked, prompt int
}

// Generate implements agent.Model.
func (m *ideal) Generate(_ context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		var count agent.Estimator
		tokens := count.Tokens(r.System)
		for _, msg := range r.Messages {
			tokens += count.Tokens(msg.Text)
		}
		for _, t := range r.Tools {
			tokens += count.Declaration(t, r.Locale)
		}
		n := m.asked
		m.asked++
		m.prompt += tokens
		end := agent.Delta{Usage: &agent.Usage{Prompt: tokens, Completion: replyTokens}, Finish: agent.FinishStop}
		if n >= len(m.question.Steps) {
			text := "Good bye."
			for _, a := range m.question.Answer {
				text += " " + a
			}
			if yield(agent.Delta{Text: text}, nil) {
				yield(end, nil)
			}
			return
		}
		for i, w := range m.question.Steps[n] {
			id := fmt.Sprintf("call_%d_%d", n, i)
			d := agent.Delta{Text: fmt.Sprintf("<tool_call>{\"id\":%q,\"tool_name\":%q,\"arguments\":%s}</tool_call>\n", id, w.Tool, w.args())}
			if len(r.Tools) > 0 {
				d = agent.Delta{Call: &tool.Call{ID: id, Tool: w.Tool, Args: w.args()}}
				end.Finish = agent.FinishCalls
			}
			if !yield(d, nil) {
				return
			}
		}
		yield(end, nil)
	}
}
