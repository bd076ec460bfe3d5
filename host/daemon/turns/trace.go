package turns

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// The most characters of a question and of a call's arguments in a trace.
const (
	traceQuestion = 200
	traceArgs     = 400
)

// A Trace records the turn for /api/traces.
type Trace struct {
	// Record is what has happened so far. Observe fills the rest of its head.
	Record api.Trace

	Conversation, Question, Model, Profile string
	Simulated                              bool
	Now                                    func() time.Time
	// End has the usage of the whole turn when agent.TurnEnd arrives.
	End *api.ChatEnd

	// Limits are as in Stream.
	Limits func(chars int) []plugin.LimitGroup

	found    Ranks           // by the turn's searches
	starting []api.TraceCall // calls of the reply that is being read
	requests int
}

// Observe implements Observer.
func (t *Trace) Observe(e agent.Event) {
	tr := &t.Record
	switch e := e.(type) {
	case agent.TurnStart:
		tr.TraceHead = api.TraceHead{
			Conversation: t.Conversation, Turn: e.Turn, Question: api.Clip(FirstLine(t.Question), traceQuestion),
			Model: t.Model, Profile: t.Profile, Mode: e.Mode, Simulated: t.Simulated, Started: t.Now().UTC(),
		}
		tr.Window, tr.Limit, tr.Why = e.Window, e.Limit, e.Why.String()
	case agent.ModeSwitched:
		tr.Mode = e.To
		tr.Notes = append(tr.Notes, tool.Textf("tools are now called by %s: %s", e.To, e.Why))
	case agent.ModelRepeated:
		if len(e.Without) > 0 {
			tr.Notes = append(tr.Notes, api.AsProblem(e.Err).Msg)
		}
	case agent.ModelSwitched:
		p := api.AsProblem(e.Err)
		tr.Switched = append(tr.Switched, api.ModelSwitched{From: e.From, To: e.To, Code: p.Code, Message: p.Msg, Mode: e.Mode, Simulated: t.Simulated, Window: e.Window, Limit: e.Limit, Why: e.Why.String()})
		tr.Model, tr.Mode, tr.Simulated = e.To, e.Mode, t.Simulated
		tr.Window, tr.Limit, tr.Why = e.Window, e.Limit, e.Why.String()
	case agent.ModelPassed:
		tr.Passed = append(tr.Passed, api.ModelPassed{Model: e.Model, Message: e.Why})
	case agent.LongPrompt:
		tr.Notes = append(tr.Notes, longPromptText(e))
	case agent.Offered:
		tr.Tools, tr.Limits = e.Tools, t.Limits(tr.Limit)
	case agent.CallStart:
		t.starting = append(t.starting, api.TraceCall{ToolCallStart: api.ToolCallStart{ID: e.Call.ID, Tool: e.Call.Tool, Args: shortArgs(e.Call.Args), Format: string(e.Format)}})
		if len(tr.Rounds) == 0 && t.requests == 0 { // before the first request
			last := t.round()
			last.Calls, t.starting = append(last.Calls, t.starting...), nil
		}
	case agent.ToolsFound:
		t.search(e)
	case agent.Budget:
		t.requests++
	case agent.RoundEnd:
		r := api.TraceRound{Round: e.Round, Model: t.Model, Sent: e.Sent, Usage: e.Usage, FirstMS: e.First.Milliseconds(), ElapsedMS: e.Elapsed.Milliseconds(), Calls: t.starting}
		r.AtMS = max(0, t.Now().Add(-e.Elapsed).Sub(tr.Started).Milliseconds())
		t.starting = nil
		if e.Err != nil {
			r.Error = api.AsProblem(e.Err).Code
		}
		tr.Rounds = append(tr.Rounds, r)
	case agent.MalformedCall:
		last := t.round()
		last.Malformed = append(last.Malformed, malformed(e))
	case agent.Folded:
		tr.FoldedChars += e.SavedChars
		t.round().FoldedChars += e.SavedChars
	case agent.TurnEnd:
		tr.Reason, tr.ElapsedMS, tr.Requests, tr.Calls = e.Reason, e.Elapsed.Milliseconds(), e.Rounds, e.Calls
		tr.Usage, tr.Cost = t.End.Usage, t.End.Cost
		tr.ProducedChars, tr.ShownChars = e.ProducedChars, e.ShownChars
	}
}

func longPromptText(e agent.LongPrompt) tool.Text {
	if e.Window <= 0 {
		return tool.Textf("the system prompt is very long (%d characters) and may exceed the model's window, which is unknown", e.Chars)
	}
	return tool.Textf("the system prompt is very long (%d characters, about %d tokens) and may exceed the model's window of %d tokens", e.Chars, e.Tokens, e.Window)
}

// Result implements Observer.
func (t *Trace) Result(done Call) {
	r := done.Out
	calls := t.round().Calls
	for i := range calls {
		c := &calls[i]
		if c.ID != r.ID {
			continue
		}
		c.OK, c.ElapsedMS, c.Produced, c.Shown, c.Read, c.Layer, c.Limit, c.Unit = r.OK, r.ElapsedMS, r.Produced, r.Shown, r.Read, r.Layer, r.Limit, r.Unit
		c.KeptUUID, c.LoadedUUID, c.Summarized, c.Line, c.Refused = r.KeptUUID, r.LoadedUUID, r.Summarized, r.Line, r.Refused
		c.FoundRank, c.Calls = t.found[r.Tool], r.Calls
		if r.Approval != nil {
			c.WaitedMS = r.Approval.Waited.Milliseconds()
		}
		if r.Error != nil {
			c.Error = r.Error.Code
		}
	}
}

// search records what a search for tools has found.
func (t *Trace) search(e agent.ToolsFound) {
	if t.found == nil {
		t.found = Ranks{}
	}
	t.found.Add(e.Names)
	if e.CallID == "" {
		t.Record.Suggested = e.Names
		return
	}
	for i, c := range t.round().Calls {
		if c.ID == e.CallID {
			t.round().Calls[i].Found = append([]string{}, e.Names...)
		}
	}
}

// round returns the last round, or a new round 0 if there is none.
func (t *Trace) round() *api.TraceRound {
	if len(t.Record.Rounds) == 0 {
		t.Record.Rounds = []api.TraceRound{{}}
	}
	return &t.Record.Rounds[len(t.Record.Rounds)-1]
}

// malformed is the wire form of a call that could not be read.
func malformed(e agent.MalformedCall) api.ToolCallMalformed {
	return api.ToolCallMalformed{Reason: string(e.Malformed.Reason), Tool: e.Malformed.Name, Format: string(e.Malformed.Format), Note: e.Note}
}

// shortArgs returns arguments unchanged, or the beginning of long or invalid ones as a
// JSON string.
func shortArgs(args json.RawMessage) json.RawMessage {
	if len(args) <= traceArgs && json.Valid(args) {
		return args
	}
	text, _ := json.Marshal(api.Clip(string(args), traceArgs)) // a string always marshals
	return text
}

// FirstLine returns the first line of s without white space around it.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
