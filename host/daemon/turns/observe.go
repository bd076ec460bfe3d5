package turns

import (
	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough/beside"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// newObservers returns what reports the turn, in the order in which events pass.
func (t *turn) newObservers(box toolbox) Observers {
	model, conversation := t.ask.Model, t.scope.Conversation
	t.stream = &Stream{Emit: t.emit, Conversation: conversation, Model: model, Simulated: t.model.Info.Simulated, Resumable: t.ask.Resume, Began: t.began, Limits: box.limits}
	t.trace = &Trace{
		Conversation: conversation, Question: t.ask.Message, Model: model, Profile: t.ask.Profile,
		Simulated: t.model.Info.Simulated, Now: t.s.Now, End: &t.end, Limits: box.limits,
	}
	spans := Spans{Turn: t.spans}
	t.metrics = &Metrics{Counters: t.s.Metrics, Model: model, Price: t.model.Price}
	t.log = &Log{Logger: t.s.Logger, Conversation: conversation, Model: model, End: &t.end}
	t.inner = Observers{spans, t.metrics, t.log, t.calls}
	return Observers{t.trace, spans, NewSearches(t.s.Metrics), t.metrics, t.log, t.stream, t.calls}
}

// observe sends an event to the observers. Pieces of a reply, of which there are many,
// go to the stream alone.
func (t *turn) observe(e agent.Event) {
	switch e := e.(type) {
	case agent.TextDelta:
		t.stream.Text(e.Text)
		t.run.pieces.add(e.Text, "")
		return
	case agent.ReasoningDelta:
		t.stream.Reasoning(e.Text)
		t.run.pieces.add("", e.Text)
		t.thought = true
		return
	case agent.CallEnd:
		t.observers.Result(t.finished(e))
		return
	case agent.TurnStart:
		t.end.Conversation = t.scope.Conversation
		t.prof.Agent.Locale = e.Locale
		t.answers(t.candidate(e.Model)) // a turn that goes on may have another one already
	case agent.ModelSwitched:
		e.From = t.ask.Model
		t.answers(t.candidate(e.To))
		t.observers.Observe(e)
		return
	case agent.CallStart:
		t.thought = false
		t.format[e.Call.ID] = string(e.Format)
	case agent.TurnEnd:
		e = t.split(e)
		t.sum(e)
		t.observers.Observe(e)
		return
	}
	t.observers.Observe(e)
}

// finished returns a finished call.
func (t *turn) finished(e agent.CallEnd) Call {
	r, id := e.Result, ""
	r.Tool = beside.Tools(t.prof.Agent.Caller).Real(r.Tool)
	if r.Ref != nil {
		id = r.Ref.UUID
	}
	if a, ok := t.decided.Load(r.CallID); ok && r.Approval == nil { // the turn ended before the call
		r.Approval = a.(*tool.Approval)
	}
	c := Call{Result: r, Out: api.ResultWithText(r, e.Elapsed.Milliseconds(), e.Text), Format: t.format[r.CallID], Elapsed: e.Elapsed, UUID: id}
	t.end.Results = append(t.end.Results, c.Out)
	return c
}

// sum sets the sums of chat.end.
func (t *turn) sum(e agent.TurnEnd) {
	end := &t.end
	end.Model = t.ask.Model
	end.Usage, end.Cost, end.Asides = t.side.Total(e.Usage, t.model.Price.Cost(e.Usage))
	end.Reason, end.Rounds, end.Calls = e.Reason, e.Rounds, e.Calls
	end.ProducedChars, end.ShownChars, end.KeptChars = e.ProducedChars, e.ShownChars, e.KeptChars
	end.ElapsedMS, end.Faults = e.Elapsed.Milliseconds(), e.Faults
}

// progress tells the stream how a call gets on: not every report of a tool that
// reports without pause, but always its last.
func (t *turn) progress(p host.Progress) {
	if !t.pace.may(p.Call.ID, t.s.Now()) && (p.Total <= 0 || p.Done < p.Total) {
		return
	}
	t.emit(api.EventProgress, api.ToolCallProgress{ID: p.Call.ID, Tool: p.Call.Tool, Done: p.Done, Total: p.Total, Message: p.Msg})
}
