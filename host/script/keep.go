package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of what is kept beside the answer of a script.
const (
	// mostNoted is how many calls a note names.
	mostNoted = 25
	// mostLogged is how much of what a script logs a note has, in bytes.
	mostLogged = 400
	// maxSources is how many sources the results of a script have for an agent.
	maxSources = 100
)

// as returns the tool whose result the answer is.
func (x *run) as() tool.Spec {
	if x.As.Name == "" {
		return tool.Spec{Name: Name, Output: Limits()}
	}
	return x.As
}

// Limits are those of a script's answer: of the agent that calls or the default for the
// characters, and always in the archive.
func Limits() tool.Limits { return tool.Limits{Archive: tool.ArchiveAlways} }

// keep archives the answer, with the script and its calls in one entry, and cuts it.
func (x *run) keep(ctx context.Context, answer string) (Outcome, error) {
	input, err := x.input()
	if err != nil {
		return Outcome{}, err
	}
	c := tool.Call{ID: x.CallID, Tool: x.as().Name, Args: input, Turn: x.Turn, MaxChars: x.MaxChars}
	r, err := x.session.IngestAs(ctx, x.as(), c, []byte(answer), x.note())
	r.Inner, r.Sources = x.Made, x.Sources
	if !x.Noted && r.Ref != nil { // a line about an equal earlier answer is for a model
		ref := *r.Ref
		ref.Again, r.Ref = false, &ref
	}
	return Outcome{Result: r, Calls: x.Made, Logged: x.Log}, err
}

// input is what the archive keeps beside the answer: what was asked for, the calls and
// what was logged.
func (x *run) input() (json.RawMessage, error) {
	asked := x.Input
	if asked == nil {
		var err error
		if asked, err = json.Marshal(map[string]string{"code": x.Source}); err != nil {
			return nil, err
		}
	}
	members := map[string]any{}
	if err := json.Unmarshal(asked, &members); err != nil {
		return nil, err
	}
	type call struct {
		Tool  string    `json:"tool"`
		UUID  string    `json:"uuid,omitempty"`
		Chars int       `json:"chars"`
		MS    int64     `json:"ms"`
		Fault tool.Code `json:"fault,omitempty"`
	}
	calls := make([]call, 0, len(x.Made))
	for _, m := range x.Made {
		calls = append(calls, call{m.Tool, m.UUID, m.Chars, m.Took.Milliseconds(), m.Fault})
	}
	members["_calls"] = calls
	if len(x.Log) > 0 {
		members["_logged"] = x.Log
	}
	return json.Marshal(members)
}

// note tells the model which calls the script made, and by which uuid each whole can be
// loaded; empty: it made none and logged nothing, or no model reads it.
func (x *run) note() string {
	if !x.Noted { // clients have all of it as data
		return ""
	}
	var calls []string
	failed := map[tool.Code][]string{}
	for i, m := range x.Made {
		switch {
		case m.Fault != "":
			// A model that repeats the note must not make the call: it has no shape of one.
			name, args, _ := strings.Cut(strings.TrimSuffix(x.Briefs[i], ")"), "(")
			failed[m.Fault] = append(failed[m.Fault], name+" – "+args)
		case m.UUID != "":
			calls = append(calls, fmt.Sprintf("%s %s", m.Tool, m.UUID))
		}
	}
	var out []string
	if n := len(calls); n > 0 {
		text := tool.Textf("[%d results of the script are whole in the archive; load_tool_history reads them: %s]", n, named(calls))
		if n == 1 {
			text = tool.Textf("[a result of the script is whole in the archive; load_tool_history reads it: %s]", calls[0])
		}
		out = append(out, msg.In(x.Locale, text))
	}
	if list := failed[tool.Denied]; len(list) > 0 {
		out = append(out, msg.In(x.Locale, tool.Textf("[calls of the script that were denied: %s]", named(list))))
	}
	if list := failed[tool.OutcomeUnknown]; len(list) > 0 {
		out = append(out, msg.In(x.Locale, tool.Textf("[calls of the script that were cut off, and whose outcome is not known: %s]", named(list))))
	}
	lines := strings.Join(x.Log[:len(x.Log)-len(x.told)], " | ")
	if len(lines) > mostLogged {
		lines = strings.ToValidUTF8(lines[:mostLogged], "") + "…"
	}
	if lines != "" {
		out = append(out, msg.In(x.Locale, tool.Textf("[the script logged: %s]", lines)))
	}
	for _, line := range x.told {
		out = append(out, "["+line+"]")
	}
	return strings.Join(out, " ")
}

// named lists calls, at most mostNoted.
func named(calls []string) string {
	list := strings.Join(calls[:min(len(calls), mostNoted)], ", ")
	if len(calls) > mostNoted {
		list += ", …"
	}
	return list
}
