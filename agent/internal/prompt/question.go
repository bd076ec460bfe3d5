package prompt

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/weirhost/weir/sdk/tool"
)

// questionNames are the names under which a tool takes a question in words.
var questionNames = []string{"query", "question", "q", "text", "prompt", "input", "keywords"}

// QuestionArguments puts a question into a tool's arguments, beside those that are
// given: into the text that is named like a question, or else into the first
// required text. nil: the tool needs more arguments.
func QuestionArguments(s tool.Spec, question string, given map[string]any) json.RawMessage {
	var best, required string
	for _, p := range params(s.Params, tool.En) {
		if _, is := given[p.name]; is {
			continue
		}
		if p.required {
			if required != "" || p.kind != "string" {
				return nil
			}
			required = p.name
		}
		if best == "" && p.kind == "string" && slices.Contains(questionNames, p.name) {
			best = p.name
		}
	}
	if required != "" {
		best = required
	}
	if best == "" {
		return nil
	}
	args := map[string]any{best: question}
	maps.Copy(args, given)
	out, err := json.Marshal(args)
	if err != nil {
		return nil // a value that JSON cannot hold, such as NaN
	}
	return out
}
