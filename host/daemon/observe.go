package daemon

import (
	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/turns"
)

// newObservers returns what reports the turn, in the order in which events pass.
func (t *turn) newObservers() turns.Observers {
	model, conversation := t.ask.Model, t.scope.Conversation
	t.stream = &turns.Stream{Emit: t.emit, Conversation: conversation, Model: model, Simulated: t.model.Info.Simulated, Resumable: t.ask.Resume}
	t.trace = &turns.Trace{
		Conversation: conversation, Question: t.ask.Message, Model: model, Profile: t.ask.Profile,
		Simulated: t.model.Info.Simulated, Now: t.d.now, End: &t.end,
	}
	return turns.Observers{
		t.trace,
		turns.Spans{Turn: t.spans},
		turns.Metrics{Counters: t.d.metrics, Model: model, Price: t.model.Price},
		turns.Log{Logger: t.d.log, Conversation: conversation, Model: model, End: &t.end},
		t.stream,
		t.calls,
	}
}

// observe sends an event to the observers. Pieces of a reply, of which there are many,
// go to the stream alone.
func (t *turn) observe(e agent.Event) {
	switch e := e.(type) {
	case agent.TextDelta:
		t.stream.Text(e.Text)
		return
	case agent.ReasoningDelta:
		t.stream.Reasoning(e.Text)
		return
	case agent.CallEnd:
		t.observers.Result(t.finished(e))
		return
	case agent.TurnStart:
		t.end.Conversation = t.scope.Conversation
		t.prof.Agent.Locale = e.Locale
	case agent.CallStart:
		t.format[e.Call.ID] = string(e.Format)
	case agent.ModeSwitched:
		t.d.learn(t.ask.Model, t.model, e.To)
	case agent.TurnEnd:
		t.sum(e)
	}
	t.observers.Observe(e)
}

// finished returns a finished call, without the uuid of a result that the archive drops
// at the end of the turn.
func (t *turn) finished(e agent.CallEnd) turns.Call {
	r, id := e.Result, ""
	if r.Ref != nil {
		id = r.Ref.UUID
	}
	if t.outlasts(r) {
		t.told[id] = true
	} else {
		r.Ref = nil
	}
	c := turns.Call{Result: r, Out: api.ResultWithText(r, e.Elapsed.Milliseconds(), e.Text), Format: t.format[r.CallID], Elapsed: e.Elapsed, UUID: id}
	t.end.Results = append(t.end.Results, c.Out)
	return c
}

// sum sets the sums of chat.end.
func (t *turn) sum(e agent.TurnEnd) {
	end := &t.end
	end.Usage, end.Cost, end.Asides = t.side.Total(e.Usage, t.model.Price.Cost(e.Usage))
	end.Reason, end.Rounds, end.Calls = e.Reason, e.Rounds, e.Calls
	end.ProducedChars, end.ShownChars, end.KeptChars = e.ProducedChars, e.ShownChars, e.KeptChars
	end.ElapsedMS, end.Faults = e.Elapsed.Milliseconds(), e.Faults
}
