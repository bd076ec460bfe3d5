package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

// A Turn shows the events of one question: the answer on standard output, all else
// on standard error. On a terminal a finished call is one line, and a spinner shows
// what is in progress; elsewhere the start and the end of a call are lines. With
// Events it also prints each event as a line of JSON.
type Turn struct {
	*term.Printer
	// Quiet shows nothing but the answer.
	Quiet bool
	// Wait lets calls that need a permission wait for another terminal.
	Wait bool
	// Think shows the reasoning of the model as it arrives.
	Think bool
	// Complete adds to a problem what is known on this side alone; nil: nothing.
	Complete func(*api.Problem)
	// DemoNoted reports that a person knows already that the demo model answers.
	DemoNoted bool

	// End is the last event. Nil: the answer broke off.
	End *api.ChatEnd
	// Problem is what the turn ended with. Nil: it succeeded.
	Problem *api.Problem

	interactive bool // in a chat, where /show and /think can be typed

	mu           sync.Mutex    // held while anything is written
	spinner      *term.Spinner // nil: not a terminal
	open         bool          // the answer's last line has no line break yet
	ended        bool          // a line break was added for what is not the answer
	simulated    bool          // the demo model answers: its tokens cost nothing
	model        string
	switched     bool                         // another model answers than the one that was asked first
	calls        map[string]api.ToolCallStart // that run, by id
	archived     []string                     // uuids of archived results
	conversation string                       // that the question belongs to
	thoughts     strings.Builder
	thinking     time.Time // since when the model reasons; zero: it does not
}

// Run asks and shows the answer until it is complete. A person answers the calls
// that need a permission with answers; nil: no person can be asked.
func (t *Turn) Run(ctx context.Context, cl *client.Client, ask api.Ask, answers Answers) error {
	t.begin()
	defer t.finish()
	return t.ask(ctx, cl, ask, answers)
}

func (t *Turn) begin() {
	t.calls = map[string]api.ToolCallStart{}
	if t.Colours(t.Err) && !t.Quiet {
		t.spinner = term.NewSpinner(t.Err, t.Width, &t.mu)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.progress(t.Sprintf("connecting"))
	}
}

func (t *Turn) finish() {
	if t.spinner != nil {
		t.spinner.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endThought()
}

func (t *Turn) ask(ctx context.Context, cl *client.Client, ask api.Ask, answers Answers) error {
	ask.Approvals = answers != nil || t.Wait
	if answers == nil {
		return cl.Ask(ctx, ask, t.event)
	}
	q := newApprover(ctx, t.Printer, cl, answers, t.writeLine, t.writePrompt)
	defer q.close()
	return cl.Ask(ctx, ask, func(name string, data json.RawMessage) error {
		q.event(name, data)
		return t.event(name, data)
	})
}

// writeLine writes a line even if Quiet is set.
func (t *Turn) writeLine(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := ""
	if t.spinner != nil {
		before = t.spinner.Text()
	}
	t.clear()
	t.endLine()
	fmt.Fprintln(t.Err, s)
	t.progress(before)
}

func (t *Turn) writePrompt(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	fmt.Fprint(t.Err, s)
}

func (t *Turn) event(name string, data json.RawMessage) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Events {
		t.PrintEvent(name, data)
	}
	if name != "reasoning.delta" {
		t.endThought()
	}
	switch name {
	case "chat.start":
		t.started(data)
	case "message.delta", "reasoning.delta":
		var e api.TextPiece
		if json.Unmarshal(data, &e) != nil || e.Text == "" {
			return nil
		}
		if name == "message.delta" {
			t.answer(e.Text)
		} else {
			t.thought(e.Text)
		}
	case "approval.asked":
		var a api.Approval
		if json.Unmarshal(data, &a) == nil && t.Wait {
			t.clear()
			fmt.Fprintf(t.Err, "%s\n", ApprovalCard(t.Printer, a))
			t.Errf("  waiting: weir approvals allow %s, or deny\n", term.Visible(a.ID, 40))
			t.progress(t.Sprintf("waiting for a person"))
		}
	case "approval.answered":
		var e api.ApprovalAnswered
		if json.Unmarshal(data, &e) == nil && len(t.calls) == 1 { // else the next question may be on the line
			t.running(t.calls[e.CallID])
		}
	case "tool_call.start", "tool_call.progress", "tool_call.result", "tool_call.malformed":
		t.call(name, data)
	case "mode.switched", "model.repeated", "model.switched", "model.passed", "model.probing", "context.folded":
		t.incident(name, data)
	case "error":
		t.Problem = new(api.Problem)
		if err := json.Unmarshal(data, t.Problem); err != nil {
			return err
		}
		if t.Complete != nil {
			t.Complete(t.Problem)
		}
	case "chat.end":
		t.clear()
		t.End = new(api.ChatEnd)
		err := json.Unmarshal(data, t.End)
		t.sources(t.End.Sources)
		return err
	}
	return nil
}

func (t *Turn) started(data json.RawMessage) {
	var e api.ChatStart
	t.simulated = json.Unmarshal(data, &e) == nil && e.Simulated
	t.model, t.conversation = limit.Visible(e.Model), e.Conversation
	if t.simulated && !t.DemoNoted {
		t.DemoNoted = true
		t.note(t.Sprintf("the demo model answers: a script, not an AI"))
	}
	t.waiting()
}

// answer writes a part of the answer.
func (t *Turn) answer(s string) {
	if t.JSON {
		return
	}
	t.clear()
	if t.ended { // the line of a call has the first line's end of an empty line
		s, t.ended = strings.TrimPrefix(s, "\n"), false
	}
	if term.IsTerminal(t.Out) {
		s = term.Calm(s)
	}
	fmt.Fprint(t.Out, s)
	t.open = !strings.HasSuffix(s, "\n")
}

// sources writes the sources of the answer under it.
func (t *Turn) sources(all []agent.Source) {
	if t.JSON || t.Quiet || len(all) == 0 {
		return
	}
	t.endLine()
	fmt.Fprintf(t.Out, "\n%s\n", t.Sprintf("Sources:"))
	for _, s := range all {
		fmt.Fprintf(t.Out, "[%d] %s\n", s.N, strings.TrimSpace(term.Visible(s.Title, 100)+" "+limit.Visible(s.URL)))
	}
}

// incident shows the events that change how a turn goes on.
func (t *Turn) incident(name string, data json.RawMessage) {
	switch name {
	case "mode.switched":
		var e struct{ To, Why string }
		if json.Unmarshal(data, &e) == nil {
			t.note(t.Sprintf("tools are now called by %s: %s", e.To, limit.Visible(e.Why)))
		}
	case "model.repeated":
		var e api.ModelRepeated
		if json.Unmarshal(data, &e) == nil {
			wait := (time.Duration(e.Wait) * time.Millisecond).Round(100 * time.Millisecond).String()
			t.note(t.Sprintf("%s; asking again in %s", limit.Visible(t.Text(e.Message)), wait))
		}
	case "model.switched":
		var e api.ModelSwitched
		if json.Unmarshal(data, &e) == nil {
			t.model, t.simulated, t.switched = limit.Visible(e.To), e.Simulated, true
			t.note(t.Sprintf("%s; %s answers instead", limit.Visible(t.Text(e.Message)), t.model))
			t.waiting()
		}
	case "model.passed":
		var e api.ModelPassed
		if json.Unmarshal(data, &e) == nil {
			t.note(t.Sprintf("%s is not asked instead: %s", limit.Visible(e.Model), limit.Visible(t.Text(e.Message))))
		}
	case "model.probing":
		var e api.ModelProbing
		if json.Unmarshal(data, &e) == nil {
			t.note(t.Sprintf("asking %s whether it can call tools; once", limit.Visible(e.Model)))
			t.progress(t.Sprintf("waiting for the first token of %s", limit.Visible(e.Model)))
		}
	case "context.folded":
		var e api.Folded
		if json.Unmarshal(data, &e) == nil {
			t.note(t.Sprintf("📎 %d folded into placeholders, %s characters saved", len(e.UUIDs), term.Grouped(e.SavedChars)))
		}
	}
}

// note writes a line to standard error, after what is shown of the answer.
func (t *Turn) note(s string) {
	if t.Quiet {
		return
	}
	t.clear()
	t.endLine()
	fmt.Fprintln(t.Err, s)
}

func (t *Turn) endLine() {
	if t.open {
		fmt.Fprintln(t.Out)
		t.open, t.ended = false, true
	}
}

// clear removes the spinner.
func (t *Turn) clear() {
	if t.spinner != nil {
		t.spinner.Set("")
	}
}

// waiting shows that the model was asked and has not answered yet.
func (t *Turn) waiting() {
	t.clear() // its clock begins
	t.progress(t.Sprintf("waiting for the first token of %s", t.model))
}

// running shows that a call runs; one without a tool is not known here.
func (t *Turn) running(e api.ToolCallStart) {
	if e.Tool != "" {
		t.clear()
		t.progress(callText(e))
	}
}

// progress shows a spinner, unless the line holds a part of the answer. Its clock goes
// on if it showed one before.
func (t *Turn) progress(s string) {
	if t.spinner != nil && !t.open {
		t.spinner.Set(s)
	}
}

// Outcome returns the error that the turn ended with, nil after an answer. err is
// what Run returned. It also writes why an answer ended early, and its tokens.
func (t *Turn) Outcome(err error) error {
	t.endLine()
	if err == nil && t.Problem != nil {
		err = t.Problem
	}
	if err != nil && t.JSON && t.End != nil {
		// The result was printed as JSON already; this line is for people.
		t.Errf("weir: %s\n", err)
		return term.ExitError(exitCode(err))
	}
	if t.End != nil && t.End.Unsaved {
		t.Errf("weir: this question and its answer could not be saved: the data folder or the database cannot be written\n")
	}
	if t.End != nil && !t.Quiet && t.End.Reason != agent.ReasonAnswer && err == nil {
		t.Errf("(ended: %s)\n", string(t.End.Reason))
	}
	if t.End != nil && !t.Quiet && !t.simulated && t.End.Usage.Prompt+t.End.Usage.Completion > 0 {
		text := usageText(t.Printer, t.End.Usage, t.End.Cost)
		if t.switched {
			text = t.model + ": " + text
		}
		fmt.Fprintln(t.Err, t.Faint("("+text+")"))
	}
	return err
}

func exitCode(err error) int {
	var p *api.Problem
	var q *msg.Problem
	if errors.As(err, &p) && p.OfModel() || errors.As(err, &q) && strings.HasPrefix(q.Code, "model_") {
		return term.ExitModel
	}
	return term.ExitFailed
}

// usageText returns the tokens of requests and, if it is known, what they cost.
func usageText(p *term.Printer, u agent.Usage, cost *agent.Cost) string {
	in, out := term.Grouped(u.Prompt), term.Grouped(u.Completion)
	s := p.Sprintf("%s tokens in, %s out", in, out)
	if u.CachedPrompt > 0 {
		s = p.Sprintf("%s tokens in, %s of them cached, %s out", in, term.Grouped(u.CachedPrompt), out)
	}
	if u.Estimated {
		s = p.Sprintf("about %s", s)
	}
	if cost != nil {
		s += "; " + term.Money(cost.Amount) + " " + limit.Visible(cost.Currency)
	}
	return s
}
