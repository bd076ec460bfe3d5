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
	"github.com/weirhost/weir/sdk/tool"
)

// A TraceHead is one turn in a few numbers.
type TraceHead struct {
	// ID names the trace; a later turn has a greater one.
	ID           int64        `json:"id,omitempty"`
	Conversation string       `json:"conversation_id"`
	Turn         int          `json:"turn"`
	Question     string       `json:"question"` // its first line, at most 200 characters
	Model        string       `json:"model"`
	Profile      string       `json:"profile"`
	Mode         agent.Mode   `json:"mode"` // at the end
	Simulated    bool         `json:"simulated,omitempty"`
	Reason       agent.Reason `json:"reason"`
	Started      time.Time    `json:"started_at"`
	ElapsedMS    int64        `json:"elapsed_ms"`
	Requests     int          `json:"requests"` // to the model
	Calls        int          `json:"calls"`
	Usage        agent.Usage  `json:"usage"`          // as in chat.end
	Cost         *agent.Cost  `json:"cost,omitempty"` // absent: unknown
	// ProducedChars is what the tools produced, ShownChars what the model saw of it.
	ProducedChars int `json:"produced_chars"`
	ShownChars    int `json:"shown_chars"`
}

// A Trace is how one turn went: what was sent to the model in each round, what
// came back, and what its calls got.
type Trace struct {
	TraceHead
	Window int    `json:"window"` // tokens; 0: unknown
	Limit  int    `json:"limit"`  // the agent's, characters of one result
	Why    string `json:"why"`    // what decided it
	// Tools are those that the model could call. Only a question asked with
	// explain tells them.
	Tools  []agent.ToolCost `json:"tools,omitempty"`
	Rounds []TraceRound     `json:"rounds"`
	// FoldedChars is what placeholders took away from what the next request holds.
	FoldedChars int `json:"folded_chars,omitempty"`
}

// A TraceRound is one request to the model with the calls of its reply. Round 0
// has no request: its calls were made ahead of the first.
type TraceRound struct {
	Round     int         `json:"round"`
	Sent      agent.Parts `json:"sent"` // estimated
	Usage     agent.Usage `json:"usage"`
	FirstMS   int64       `json:"first_ms"`        // until the first piece of the reply; 0: at once, or none came
	ElapsedMS int64       `json:"elapsed_ms"`      // of the request; the calls come behind it
	Error     string      `json:"error,omitempty"` // the code of what went wrong
	Calls     []TraceCall `json:"calls,omitempty"`
}

// A TraceCall is one call with what became of its result.
type TraceCall struct {
	ToolCallStart
	OK        bool      `json:"ok"`
	Error     tool.Code `json:"error,omitempty"`
	ElapsedMS int64     `json:"elapsed_ms"`
	Produced  int       `json:"produced"` // characters
	Shown     int       `json:"shown"`
	// Layer, Limit and Unit say which limit left something out; empty: all is shown.
	Layer      tool.Layer `json:"layer,omitempty"`
	Limit      int        `json:"limit,omitempty"`
	Unit       tool.Unit  `json:"unit,omitempty"`
	KeptUUID   string     `json:"kept_uuid,omitempty"`
	LoadedUUID string     `json:"loaded_uuid,omitempty"`
	Summarized bool       `json:"summarized,omitempty"`
	Line       string     `json:"line"`
}

// A TraceList is what GET /api/traces answers.
type TraceList struct {
	Traces []TraceHead `json:"traces"`
}

// The most characters that a trace holds of a question and of a call's arguments.
const (
	traceQuestion = 200
	traceArgs     = 400
)

// round is the last one, or round 0 where none has begun.
func (tr *Trace) round() *TraceRound {
	if len(tr.Rounds) == 0 {
		tr.Rounds = []TraceRound{{}}
	}
	return &tr.Rounds[len(tr.Rounds)-1]
}

// called fills in what became of a call that was started.
func (tr *Trace) called(r ToolCallResult) {
	calls := tr.round().Calls
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
		tr.TraceHead = TraceHead{Conversation: t.scope.Conversation, Turn: e.Turn, Question: clip(firstLine(t.ask.Message), traceQuestion),
			Model: t.ask.Model, Profile: t.ask.Profile, Mode: e.Mode, Simulated: t.model.Info.Simulated, Started: t.d.now().UTC()}
		tr.Window, tr.Limit, tr.Why = e.Window, e.Limit, e.Why
	case agent.ModeSwitched:
		tr.Mode = e.To
	case agent.Offered:
		tr.Tools = e.Tools
	case agent.CallStart:
		t.starting = append(t.starting, TraceCall{ToolCallStart: ToolCallStart{e.Call.ID, e.Call.Tool, shortArgs(e.Call.Args), string(e.Format)}})
		if len(tr.Rounds) == 0 && t.asked == 0 { // ahead of the first request
			tr.round().Calls, t.starting = append(tr.round().Calls, t.starting...), nil
		}
	case agent.Budget:
		t.asked++
	case agent.RoundEnd:
		r := TraceRound{Round: e.Round, Sent: e.Sent, Usage: e.Usage, FirstMS: e.First.Milliseconds(), ElapsedMS: e.Elapsed.Milliseconds(), Calls: t.starting}
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
	text, _ := json.Marshal(clip(string(args), traceArgs)) // a string always marshals
	return text
}

// traced is the trace as it is stored.
func (t *turn) traced() *archive.Trace {
	body, err := json.Marshal(t.trace)
	if err != nil { // plain data: only broken raw arguments can do this
		t.d.log.Error("a trace could not be written", "error", err)
		return nil
	}
	return &archive.Trace{Turn: t.trace.Turn, Created: t.trace.Started, Body: body}
}

func (d *Daemon) listTraces(w http.ResponseWriter, r *http.Request) error {
	n, err := queryInt(r, "limit", 0)
	if err != nil {
		return err
	}
	list, err := d.cfg.Host.Archive().Traces(r.Context(), archive.Scope{Principal: d.principal(r), Conversation: r.URL.Query().Get("conversation_id")}, n)
	if err != nil {
		return err
	}
	out := TraceList{make([]TraceHead, len(list))}
	for i, row := range list {
		tr, err := traceOf(row)
		if err != nil {
			return err
		}
		out.Traces[i] = tr.TraceHead
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (d *Daemon) showTrace(w http.ResponseWriter, r *http.Request) error {
	store, who := d.cfg.Host.Archive(), d.principal(r)
	var row archive.Trace
	if name := r.PathValue("id"); name == "last" {
		list, err := store.Traces(r.Context(), archive.Scope{Principal: who, Conversation: r.URL.Query().Get("conversation_id")}, 1)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return problem(http.StatusNotFound, "no_trace", "ask something first", "no question was asked yet, or its conversation was deleted")
		}
		row = list[0]
	} else {
		id, err := strconv.ParseInt(name, 10, 64)
		if err == nil {
			row, err = store.Trace(r.Context(), who, id)
		}
		if err != nil {
			return problem(http.StatusNotFound, "no_trace", "`weir trace list` lists them", "there is no trace %q", clip(name, 40))
		}
	}
	tr, err := traceOf(row)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, tr)
	return nil
}

func traceOf(row archive.Trace) (Trace, error) {
	var tr Trace
	if err := json.Unmarshal(row.Body, &tr); err != nil {
		return Trace{}, problem(http.StatusInternalServerError, "storage", "", "the trace %d cannot be read", row.ID)
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
	t.emit(eventProgress, ToolCallProgress{p.Call.ID, p.Call.Tool, p.Done, p.Total, p.Msg})
}
