package api

import (
	"net/http"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// NoAnswer returns the problem of a turn that ended for a reason without an error and without
// an answer. thought says that the model's last reply was thinking alone.
//
// The reason is its code. The status is 400, because clients repeat requests after others,
// and with these the calls.
func NoAnswer(r agent.Reason, thought bool) *Problem {
	p := &Problem{Status: http.StatusBadRequest, Code: string(r)}
	switch r {
	case agent.ReasonMalformed:
		p.Msg, p.Hint = tool.Textf("the model's tool calls could not be read, and it gave no answer"), tool.Textf("`weir model test` shows how the model calls tools; another model may do better")
	case agent.ReasonMaxCalls:
		p.Msg, p.Hint = tool.Textf("the tool calls of the question are used up, and the model gave no answer"), tool.Textf("raise max_tool_calls, or ask for less at once")
	case agent.ReasonRepeated:
		p.Msg, p.Hint = tool.Textf("the model made the same call again and again, and gave no answer"), tool.Textf("ask in another way; another model may do better")
	case agent.ReasonTokens:
		p.Msg, p.Hint = tool.Textf("the tokens of the question are used up, and the model gave no answer"), tool.Textf("raise token_budget, or ask for less at once")
	case agent.ReasonTime:
		p.Msg, p.Hint = tool.Textf("the time of the question is used up, and the model gave no answer"), tool.Textf("raise time_budget, or ask for less at once")
	case agent.ReasonLength:
		p.Msg, p.Hint = tool.Textf("the reply reached its length limit before an answer began"), tool.Textf("raise max_tokens, or let the model think less")
	default:
		p.Code = string(agent.ReasonNoAnswer)
		p.Msg, p.Hint = tool.Textf("the model said nothing, however often it was asked"), tool.Textf("`weir model test` tries it; another model may do better")
		if thought {
			p.Msg = tool.Textf("the model thought, and gave no answer")
		}
	}
	return p
}

// WrongAnswer returns the problem of a turn whose answer is not what its request asked for.
func WrongAnswer(fault tool.Text) *Problem {
	p := Problemf(http.StatusBadRequest, string(agent.ReasonFormat), "ask again; another model may do better", "the answer is not what response_format asks for: %v", fault)
	p.Param = "response_format"
	return p
}

// OfModel reports whether the model is what failed: its provider did, or it gave no answer.
func (p *Problem) OfModel() bool {
	return strings.HasPrefix(p.Code, modelPrefix) || p.Code == string(agent.ReasonFormat) || NoAnswer(agent.Reason(p.Code), false).Code == p.Code
}
