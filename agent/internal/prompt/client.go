package prompt

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// ClientTools describes the tools of a client that runs the loop itself, and how they are
// called, to a model without calling of its own: all of every description, with its line
// ends, and the whole JSON Schema of the arguments. oneCall tells the model to make one
// call in a reply at most.
func ClientTools(tools []tool.Spec, oneCall bool, l tool.Locale) string {
	w := For(l)
	calls := w.clientCalls
	if oneCall {
		calls = w.clientCall
	}
	var b strings.Builder
	b.WriteString(w.callForm + "\n" + strings.Replace(w.clientRules, "{calls}", calls, 1) + "\n" + w.toolsHead)
	for _, s := range tools {
		b.WriteString("\n" + WholeMark(s.Name))
		if s.Description != "" {
			b.WriteString(limit.Neutralise(s.Description) + "\n")
		}
		b.WriteString(argumentSchema(s.Params, w) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// argumentSchema writes a schema on one line, with every word of it.
func argumentSchema(schema json.RawMessage, w *Texts) string {
	if len(schema) == 0 || string(schema) == "null" {
		return w.noArguments
	}
	return w.argumentSchema + limit.Neutralise(unescape(compact(schema)))
}
