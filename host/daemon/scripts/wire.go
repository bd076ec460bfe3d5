package scripts

import (
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/script"
)

// maxLine is how many characters of a script name it in a list.
const maxLine = 80

// resultOf returns what the client of a script reads.
func resultOf(s script.Status) api.ScriptResult {
	return api.ScriptResult{
		ToolCallResult: api.ResultOf(s.Result(), s.Updated.Sub(s.Created).Milliseconds(), s.Script.Locale),
		Script:         s.ID, State: string(s.State), Card: cardOf(s.Card), Logged: append([]string{}, s.Logged...),
	}
}

func summaryOf(s script.Status) api.ScriptSummary {
	line, _, _ := strings.Cut(strings.TrimSpace(s.Script.Source), "\n")
	return api.ScriptSummary{
		ID: s.ID, State: string(s.State), Conversation: s.Script.Scope.Conversation, Created: s.Created, Updated: s.Updated,
		Line: api.Clip(line, maxLine), Calls: len(s.Calls), Waiting: s.Waits,
	}
}

func runOf(s script.Status) api.ScriptRun {
	out := api.ScriptRun{
		ScriptSummary: summaryOf(s), Source: s.Script.Source, Args: s.Script.Args, Made: callsOf(s), Logged: append([]string{}, s.Logged...),
		Card: append([]api.ScriptQuestion{}, cardOf(s.Card)...), Stored: s.Bytes,
	}
	if s.Outcome != nil {
		r := api.ResultOf(s.Outcome.Result, s.Updated.Sub(s.Created).Milliseconds(), s.Script.Locale)
		out.Result = &r
	}
	return out
}

func callsOf(s script.Status) []api.ScriptCall {
	out := []api.ScriptCall{}
	for i, c := range s.Calls {
		call := api.ScriptCall{Tool: c.Tool, UUID: c.UUID, Produced: c.Chars, ElapsedMS: c.Took.Milliseconds(), Code: string(c.Fault)}
		if i < len(s.Briefs) {
			call.Brief = s.Briefs[i]
		}
		out = append(out, call)
	}
	return out
}

func cardOf(card []script.Question) (out []api.ScriptQuestion) {
	for _, q := range card {
		one := api.ScriptQuestion{Number: q.Number, Key: q.Key(), Tool: q.Tool, Plugin: q.Plugin, Why: q.Why, Args: q.Args}
		for _, from := range q.Sources {
			one.Sources = append(one.Sources, api.ScriptSource{Arg: from.Arg, From: from.From, UUID: from.UUID})
		}
		out = append(out, one)
	}
	return out
}
