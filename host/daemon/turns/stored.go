package turns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// open reads the stored conversation. A history that the client of /v1 has brought is that
// of a new one, and is to be stored with what the turn begins with. given are the results
// of the client's own tools.
func (t *turn) open(ctx context.Context, session *host.Session, brought []agent.Message) (history, add []agent.Message, given []tool.Result, err error) {
	if t.stored, err = t.messages(ctx); err != nil {
		return nil, nil, nil, err
	}
	if history = brought; len(t.stored) == 0 {
		add = brought
	} else if history, err = Messages(t.stored); err != nil {
		return nil, nil, nil, err
	}
	refresh(ctx, session, history)
	given, err = t.given(ctx, session, history)
	return history, add, given, err
}

// put saves the question before the model is asked, if it can be. It returns the messages
// before the question.
func (t *turn) put(ctx context.Context, session *host.Session, brought []agent.Message) ([]agent.Message, error) {
	history, add, given, err := t.open(ctx, session, brought)
	if err != nil {
		return nil, err
	}
	if len(given) > 0 {
		results := t.tell(given, lastTurn(history))
		add, history = append(add, results), append(history, results)
	}
	add = append(add, agent.Message{Role: agent.RoleUser, Text: t.ask.Message, Typed: t.ask.typed, Turn: lastTurn(history) + 1, At: t.s.Now()})
	return history, t.save(ctx, add)
}

// take returns the messages of a turn that waits for the results of the client's tools, and
// these.
func (t *turn) take(ctx context.Context, session *host.Session, brought []agent.Message) ([]agent.Message, []tool.Result, error) {
	history, add, given, err := t.open(ctx, session, brought)
	if err != nil {
		return nil, nil, err
	}
	return history, given, t.save(ctx, add)
}

// refresh gives placeholders the summaries that a model has written since they were
// folded.
func refresh(ctx context.Context, session *host.Session, history []agent.Message) {
	for _, m := range history {
		for i := range m.Results {
			e := &m.Results[i]
			if !e.Folded || e.Ephemeral || e.Ref == nil {
				continue
			}
			if now := session.Ref(ctx, e.Ref.UUID); now != nil && now.Summary != e.Ref.Summary {
				ref := *e.Ref
				ref.Summary = now.Summary
				e.Ref, e.Text = &ref, agent.Placeholder(ref, e.Tool, m.Locale)
			}
		}
	}
}

// messages reads the stored conversation. Of one that is not there, or is another
// principal's, there are none; save tells the two apart.
func (t *turn) messages(ctx context.Context) ([]store.Message, error) {
	if t.ask.Conversation == "" {
		return nil, nil
	}
	stored, err := t.s.Store.Messages(ctx, t.scope)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err == nil && len(stored) > 0 && stored[0].Passed {
		return nil, api.Problemf(http.StatusBadRequest, "passed_conversation", "ask in that program, or begin a new conversation", "the history of this conversation is with the program that asked in it")
	}
	return stored, err
}

// save appends what the turn begins with.
func (t *turn) save(ctx context.Context, add []agent.Message) error {
	if len(add) == 0 && !t.run.shared() {
		return nil
	}
	rows := t.rows(add)
	var err error
	if !t.run.shared() {
		err = t.s.Store.Begin(ctx, t.conversation(), rows)
	} else {
		err = t.s.Store.BeginRun(ctx, t.conversation(), rows, lastRow(t.stored).Seq, t.run.Run, t.run.keep.ID())
	}
	if errors.Is(err, store.ErrBusy) {
		return busyProblem()
	}
	if errors.Is(err, archive.ErrFull) && !t.run.Resumed { // to answer without a memory of it is better than not to answer
		t.s.Logger.Error("the question could not be saved", "conversation", t.scope.Conversation, "error", err)
		t.unsaved, t.run = true, t.atEnd()
		return nil
	}
	if t.run.shared() && errors.Is(err, archive.ErrUnreachable) { // it may be stored
		go t.unask(context.WithoutCancel(ctx), lastRow(t.stored).Seq, len(rows))
	}
	t.stored = append(t.stored, rows...)
	return err
}

// unask takes the question back, which is refused, when the database is there again.
func (t *turn) unask(ctx context.Context, had, rows int) {
	r := *t.run.Run
	r.Resumed = false
	for began := time.Now(); time.Since(began) < retryFor; time.Sleep(retryEvery) {
		err := t.s.Store.Finish(t.run.fenced(ctx), t.scope, store.Turn{From: had + 1, Last: had + rows, Run: &r})
		if !errors.Is(err, archive.ErrUnreachable) { // it is not stored, or not any more
			return
		}
	}
}

// remarkFailure notes at the last message why the turn ended: who opens the conversation
// again reads what the stream said. That somebody stopped it the reason says.
func remarkFailure(messages []agent.Message, err error) {
	if err == nil || errors.Is(err, context.Canceled) || len(messages) == 0 {
		return
	}
	p, last := api.AsProblem(err), &messages[len(messages)-1]
	said := map[tool.Locale]agent.Failure{}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		said[l] = agent.Failure{Message: msg.In(l, p.Msg), Hint: msg.In(l, p.Hint)}
	}
	last.Remarks = append(slices.Clip(last.Remarks), agent.Remark{Failed: said})
}

func (t *turn) conversation() store.Conversation {
	return store.Conversation{ID: t.scope.Conversation, Principal: t.scope.Principal, Profile: t.ask.Profile, Title: t.title}
}

// store writes the outcome of the turn in one commit: the new and changed messages, the
// call log, and the fingerprints of the conversation.
func (t *turn) store(ctx context.Context, out agent.Turn, had int, failed error) error {
	from := min(out.From, had, len(t.stored))
	if q := from; q == had && len(t.stored) > had && out.Messages[q].Role == agent.RoleUser && out.Messages[q].Remarks == nil && out.Messages[q].Held == nil {
		from++ // the store has the question already
	}
	change := store.Turn{Last: lastRow(t.stored).Seq, Trace: t.traced(), Messages: t.rows(out.Messages[from:]), Calls: t.calls.Rows, Fingerprints: t.marks(out), Usage: t.sums(out), Run: t.run.run(failed)}
	if from < len(t.stored) {
		change.From = t.stored[from].Seq
	}
	if t.unsaved { // there may be room again
		change.Run = nil
		if err := t.s.Store.Begin(ctx, t.conversation(), nil); err != nil {
			return err
		}
	}
	stored := false
	if t.run.Resumed && t.ask.Closing != nil {
		if last, done := t.ask.Closing(t.run.show, t.end, failed); done != nil {
			change.Events = last
			defer func() { done(stored) }() // also after a panic
		}
	}
	err := t.s.Store.Finish(ctx, t.scope, change)
	stored = err == nil
	t.run.ended = stored
	return err
}

// sums are what the turn took.
func (t *turn) sums(out agent.Turn) *store.TurnUsage {
	u := t.end.Usage
	s := &store.TurnUsage{
		Turn: lastTurn(out.Messages), Model: t.ask.Model, Reason: string(t.end.Reason), Duration: time.Duration(t.end.ElapsedMS) * time.Millisecond,
		Prompt: u.Prompt, Completion: u.Completion, CachedPrompt: u.CachedPrompt, CacheWrite: u.CacheWrite,
	}
	if c := t.end.Cost; c != nil {
		s.Cost, s.Currency = &c.Amount, c.Currency
	}
	return s
}

// rows gives messages their stored form.
func (t *turn) rows(ms []agent.Message) []store.Message {
	out := make([]store.Message, len(ms))
	for i, m := range ms {
		body, err := json.Marshal(m)
		if err != nil { // plain data: only broken raw arguments can do this
			t.s.Logger.Error("a message could not be written", "role", m.Role, "error", err)
		}
		out[i] = store.Message{Turn: m.Turn, Role: string(m.Role), Content: content(m), Thinking: m.Reasoning, Model: m.Model, Body: body, Created: m.At}
	}
	return out
}

func content(m agent.Message) string {
	if m.Role != agent.RoleResults {
		return m.Text
	}
	var b strings.Builder
	for _, e := range m.Results {
		b.WriteString(e.Tool + ":\n" + e.Text + "\n")
	}
	return b.String()
}

// Messages returns stored messages as the agent has them.
func Messages(rows []store.Message) ([]agent.Message, error) {
	out := make([]agent.Message, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.Body, &out[i]); err != nil {
			return nil, api.Problemf(http.StatusInternalServerError, "storage", "begin a new conversation", "message %d of this conversation cannot be read", i+1)
		}
	}
	return out, nil
}

func lastTurn(ms []agent.Message) int {
	if len(ms) == 0 {
		return 0
	}
	return ms[len(ms)-1].Turn
}

func lastRow(rows []store.Message) store.Message {
	if len(rows) == 0 {
		return store.Message{}
	}
	return rows[len(rows)-1]
}

// traced returns the trace in its stored form.
func (t *turn) traced() *store.Trace {
	body, err := json.Marshal(t.trace.Record)
	if err != nil { // only invalid raw arguments can cause this
		t.s.Logger.Error("a trace could not be written", "error", err)
		return nil
	}
	return &store.Trace{Turn: t.trace.Record.Turn, Created: t.trace.Record.Started, Body: body}
}

// reached reads how far a turn is, and returns the messages up to its question.
func (t *turn) reached(ctx context.Context) (history []agent.Message, err error) {
	if t.stored, err = t.messages(ctx); err != nil {
		return nil, err
	}
	if history, err = Messages(t.stored); err != nil {
		return nil, err
	}
	if err = t.steps(); err != nil {
		return nil, err
	}
	ours := func(c agent.Checkpoint) bool { return len(c.Added) == 0 || c.Added[0].Turn == lastTurn(history) }
	switch before, q := t.run.before, agent.Question(history); {
	case q < 0, len(before) > 0 && !ours(before[0]), len(before) == 0 && q < len(history)-1:
		return nil, fmt.Errorf("the question of the turn %s is not stored", t.run.Turn)
	}
	return history, nil
}

// steps reads what other daemons have stored of the turn.
func (t *turn) steps() error {
	for _, body := range t.run.Steps {
		var s step
		if err := json.Unmarshal(body, &s); err != nil {
			return err
		}
		t.run.before = append(t.run.before, s.Checkpoint)
		t.calls.Rows, t.end.Results = append(t.calls.Rows, s.Calls...), append(t.end.Results, s.Results...)
		t.run.sent = s.Sent
	}
	t.run.calls, t.run.results = len(t.calls.Rows), len(t.end.Results)
	t.end.Conversation = t.scope.Conversation
	return nil
}

// announce tells the client how far the turn is that goes on: it drops the text that it has
// got since, and gets the calls and results that it has not.
func (t *turn) announce(ctx context.Context) error {
	shown := map[string]bool{}
	for n := 0; ; {
		list, _, err := t.s.Store.EventsAfter(ctx, t.scope.Principal, t.run.Turn, n)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			n = e.Last
			for frame := range bytes.SplitSeq(e.Data, []byte("\n\n")) {
				head, data, _ := bytes.Cut(frame, []byte("\ndata: "))
				var of struct{ ID string }
				_ = json.Unmarshal(data, &of) // other events have none
				_, name, _ := bytes.Cut(head, []byte("event: "))
				shown[string(name)+" "+of.ID] = true
			}
		}
	}
	if len(shown) == 0 {
		return nil
	}
	t.stream.Goes(t.run.sent)
	for _, m := range agent.Apply([]agent.Message{{Role: agent.RoleUser}}, t.run.before)[1:] {
		for _, c := range m.Calls {
			if !shown[api.EventCall+" "+c.ID] {
				t.emit(api.EventCall, api.ToolCallStart{ID: c.ID, Tool: c.Tool, Args: c.Args})
			}
		}
	}
	for _, r := range t.end.Results {
		if !shown[api.EventResult+" "+r.ID] {
			t.stream.Result(Call{Out: r})
		}
	}
	t.run.show()
	return nil
}
