package daemon

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/store"
)

// The most characters that a trace holds of a question and of a call's arguments.
const (
	traceQuestion = 200
	traceArgs     = 400
)

// round is the last one, or round 0 where none has begun.
func lastRound(tr *api.Trace) *api.TraceRound {
	if len(tr.Rounds) == 0 {
		tr.Rounds = []api.TraceRound{{}}
	}
	return &tr.Rounds[len(tr.Rounds)-1]
}

// called fills in what became of a call that was started.
func traceCalled(tr *api.Trace, r api.ToolCallResult) {
	calls := lastRound(tr).Calls
	for i := range calls {
		c := &calls[i]
		if c.ID != r.ID {
			continue
		}
		c.OK, c.ElapsedMS, c.Produced, c.Shown, c.Layer, c.Limit, c.Unit = r.OK, r.ElapsedMS, r.Produced, r.Shown, r.Layer, r.Limit, r.Unit
		c.KeptUUID, c.LoadedUUID, c.Summarized, c.Line = r.KeptUUID, r.LoadedUUID, r.Summarized, r.Line
		if r.Error != nil {
			c.Error = r.Error.Code
		}
	}
}

// note writes down what the trace holds of an event.
func (t *turn) note(e agent.Event) {
	tr := &t.trace
	switch e := e.(type) {
	case agent.TurnStart:
		tr.TraceHead = api.TraceHead{Conversation: t.scope.Conversation, Turn: e.Turn, Question: api.Clip(firstLine(t.ask.Message), traceQuestion),
			Model: t.ask.Model, Profile: t.ask.Profile, Mode: e.Mode, Simulated: t.model.Info.Simulated, Started: t.d.now().UTC()}
		tr.Window, tr.Limit, tr.Why = e.Window, e.Limit, e.Why
	case agent.ModeSwitched:
		tr.Mode = e.To
	case agent.Offered:
		tr.Tools = e.Tools
	case agent.CallStart:
		t.starting = append(t.starting, api.TraceCall{ToolCallStart: api.ToolCallStart{ID: e.Call.ID, Tool: e.Call.Tool, Args: shortArgs(e.Call.Args), Format: string(e.Format)}})
		if len(tr.Rounds) == 0 && t.asked == 0 { // ahead of the first request
			lastRound(tr).Calls, t.starting = append(lastRound(tr).Calls, t.starting...), nil
		}
	case agent.Budget:
		t.asked++
	case agent.RoundEnd:
		r := api.TraceRound{Round: e.Round, Sent: e.Sent, Usage: e.Usage, FirstMS: e.First.Milliseconds(), ElapsedMS: e.Elapsed.Milliseconds(), Calls: t.starting}
		t.starting = nil
		if e.Err != nil {
			r.Error = asProblem(e.Err).Code
		}
		tr.Rounds = append(tr.Rounds, r)
	case agent.Folded:
		tr.FoldedChars += e.SavedChars
	case agent.TurnEnd:
		tr.Reason, tr.ElapsedMS, tr.Requests, tr.Calls = e.Reason, e.Elapsed.Milliseconds(), e.Rounds, e.Calls
		tr.Usage, tr.Cost = t.end.Usage, t.end.Cost
		tr.ProducedChars, tr.ShownChars = e.ProducedChars, e.ShownChars
	}
}

// shortArgs are arguments as they are, or the beginning of their text.
func shortArgs(args json.RawMessage) json.RawMessage {
	if len(args) <= traceArgs && json.Valid(args) {
		return args
	}
	text, _ := json.Marshal(api.Clip(string(args), traceArgs)) // a string always marshals
	return text
}

// traced is the trace as it is stored.
func (t *turn) traced() *store.Trace {
	body, err := json.Marshal(t.trace)
	if err != nil { // plain data: only broken raw arguments can do this
		t.d.log.Error("a trace could not be written", "error", err)
		return nil
	}
	return &store.Trace{Turn: t.trace.Turn, Created: t.trace.Started, Body: body}
}

func (d *Daemon) listTraces(w http.ResponseWriter, r *http.Request) error {
	n, err := queryInt(r, "limit", 0)
	if err != nil {
		return err
	}
	list, err := d.store.Traces(r.Context(), archive.Scope{Principal: d.principal(r), Conversation: r.URL.Query().Get("conversation_id")}, n)
	if err != nil {
		return err
	}
	out := api.TraceList{Traces: make([]api.TraceHead, len(list))}
	for i, row := range list {
		tr, err := traceOf(row)
		if err != nil {
			return err
		}
		out.Traces[i] = tr.TraceHead
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

func (d *Daemon) showTrace(w http.ResponseWriter, r *http.Request) error {
	who := d.principal(r)
	var row store.Trace
	if name := r.PathValue("id"); name == "last" {
		list, err := d.store.Traces(r.Context(), archive.Scope{Principal: who, Conversation: r.URL.Query().Get("conversation_id")}, 1)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return api.Problemf(http.StatusNotFound, "no_trace", "ask something first", "no question was asked yet, or its conversation was deleted")
		}
		row = list[0]
	} else {
		id, err := strconv.ParseInt(name, 10, 64)
		if err == nil {
			row, err = d.store.Trace(r.Context(), who, id)
		}
		if err != nil {
			return api.Problemf(http.StatusNotFound, "no_trace", "`weir trace list` lists them", "there is no trace %q", api.Clip(name, 40))
		}
	}
	tr, err := traceOf(row)
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, tr)
	return nil
}

func traceOf(row store.Trace) (api.Trace, error) {
	var tr api.Trace
	if err := json.Unmarshal(row.Body, &tr); err != nil {
		return api.Trace{}, api.Problemf(http.StatusInternalServerError, "storage", "", "the trace %d cannot be read", row.ID)
	}
	tr.ID = row.ID
	return tr, nil
}

// progressPause is how long a call's next report of progress must wait, but for
// the last one.
const progressPause = 100 * time.Millisecond

// A pacer lets one report of each call through at a time. It is safe for
// concurrent use.
type pacer struct {
	mu   sync.Mutex
	last map[string]time.Time // by call
}

// may reports whether a report of this call is due.
func (p *pacer) may(call string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.last[call]; ok && now.Sub(last) < progressPause {
		return false
	}
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[call] = now
	return true
}

// progress tells the stream how a call gets on: not every report of a tool that
// reports without pause, but always its last.
func (t *turn) progress(p host.Progress) {
	if !t.pace.may(p.Call.ID, t.d.now()) && (p.Total <= 0 || p.Done < p.Total) {
		return
	}
	t.emit(api.EventProgress, api.ToolCallProgress{ID: p.Call.ID, Tool: p.Call.Tool, Done: p.Done, Total: p.Total, Message: p.Msg})
}
