package prompt

import (
	"encoding/json"
	"slices"

	"github.com/weirhost/weir/sdk/tool"
)

// questionNames are the names under which a tool takes a question in words.
var questionNames = []string{"query", "question", "q", "text", "prompt", "input", "keywords"}

// QuestionArguments puts a question into a tool's arguments: into the text that is
// named like a question, or else into the first required text. nil: the tool
// cannot be called with a question alone.
func QuestionArguments(s tool.Spec, question string) json.RawMessage {
	var best, required string
	for _, p := range params(s.Params, tool.En) {
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
	return json.RawMessage("{" + Quote(best) + ":" + Quote(question) + "}")
}
