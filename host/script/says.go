package script

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// Result returns what a model reads of a script: what became of it, or that it waits and
// how a person sees it.
func (s Status) Result() tool.Result {
	if s.Outcome != nil {
		return s.Outcome.Result
	}
	name := Name
	if s.Script.As.Name != "" {
		name = s.Script.As.Name
	}
	r := tool.Result{CallID: s.Script.CallID, Tool: name, Inner: s.Calls}
	switch {
	case s.State == journal.Waiting && !s.Script.Noted: // a person or a program reads it
		r.Err = tool.NewError(tool.Waiting, tool.Textf("the script has not ended: it waits for a person (calls: %d)", s.Waits),
			tool.Textf("`weir scripts show %s` shows the calls, and `weir scripts resume %s` answers them", s.ID, s.ID))
		return r
	case s.State == journal.Waiting:
		r.Err = tool.NewError(tool.Waiting, tool.Textf("the script has not ended: it waits for a person (calls: %d)", s.Waits),
			tool.Textf("do not run it again; tell the person that `weir scripts show %s` shows the calls, and that the script goes on when they are answered", s.ID))
		return r
	}
	r.Err = tool.NewError(tool.Waiting, tool.Textf("the script has not ended: weir stops, and it goes on when weir starts again"),
		tool.Textf("do not run it again; `weir scripts show %s` shows what becomes of it", s.ID))
	return r
}

// Request returns the card as one request: all calls that wait, with the script.
func (s Status) Request(now time.Time) (approval.Request, error) {
	var calls []approval.ScriptCall
	var tools, plugins, why []string
	add := func(to *[]string, text string) {
		if text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, q := range s.Card {
		c := approval.ScriptCall{Number: q.Number, Tool: q.Tool, Args: q.Args}
		for _, from := range q.Sources {
			if c.From == nil {
				c.From = map[string]string{}
			}
			c.From[from.Arg] = from.From
		}
		calls = append(calls, c)
		add(&tools, q.Tool)
		add(&plugins, q.Plugin)
		add(&why, q.Why)
	}
	args, err := json.Marshal(map[string]any{"calls": calls, "script": s.Script.Source})
	always := msg.In(s.Script.Locale, tool.Textf("also later calls of %s by this script", strings.Join(tools, ", ")))
	return approval.Request{
		Principal: s.Script.Scope.Principal, Conversation: s.Script.Scope.Conversation, CallID: s.Script.CallID, Tool: strings.Join(tools, ", "), Plugin: strings.Join(plugins, ", "),
		Args: args, Calls: calls, Script: s.Script.Source, Why: strings.Join(why, "; "), Always: always, Locale: s.Script.Locale, Expires: now.Add(approval.DefaultTimeout),
	}, err
}

// Verdicts returns an answer to Request as one to each call of the card.
func (s Status) Verdicts(a approval.Answer) map[int]Verdict {
	out := map[int]Verdict{}
	for _, q := range s.Card {
		out[q.Number] = Verdict{Allow: a.Allows(q.Number), Later: a.Verdict == approval.Always && a.Allows(q.Number), By: a.By, Digest: q.Digest}
	}
	return out
}
