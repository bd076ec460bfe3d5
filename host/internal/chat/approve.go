package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

// An approver asks the person at the terminal about the calls that need a
// permission, one at a time, while the answer is streamed.
type approver struct {
	*term.Printer
	cl        *client.Client
	answers   Answers
	writeLine func(string)
	prompt    func(string)

	mu    sync.Mutex
	open  map[string]*request
	queue chan *request
	done  chan struct{}
}

// A request is one call that needs a permission. ctx ends when it is settled
// elsewhere.
type request struct {
	api.Approval
	ctx     context.Context
	settle  context.CancelFunc
	outcome string // guarded by approver.mu
}

// newApprover starts to ask. The caller must call close.
func newApprover(ctx context.Context, p *term.Printer, cl *client.Client, answers Answers, writeLine, prompt func(string)) *approver {
	q := &approver{Printer: p, cl: cl, answers: answers, writeLine: writeLine, prompt: prompt,
		open: map[string]*request{}, queue: make(chan *request, 64), done: make(chan struct{})}
	go func() {
		defer close(q.done)
		for a := range q.queue {
			q.ask(ctx, a)
		}
	}()
	return q
}

// close ends the requests that are still open.
func (q *approver) close() {
	q.mu.Lock()
	for _, a := range q.open {
		a.settle()
	}
	q.mu.Unlock()
	close(q.queue)
	<-q.done
}

// event handles the events of approvals.
func (q *approver) event(name string, data json.RawMessage) {
	switch name {
	case "approval.asked":
		a := &request{}
		if json.Unmarshal(data, &a.Approval) != nil {
			return
		}
		a.ctx, a.settle = context.WithCancel(context.Background())
		q.mu.Lock()
		q.open[a.ID] = a
		q.mu.Unlock()
		q.queue <- a
	case "approval.answered":
		var e api.ApprovalAnswered
		if json.Unmarshal(data, &e) != nil {
			return
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if a := q.open[e.ID]; a != nil {
			a.outcome = e.Answer
			a.settle()
			delete(q.open, e.ID)
		}
	}
}

// Answers is the source of a person's answers. One goroutine at a time may use it.
type Answers interface {
	// TypedAhead returns how many lines were typed already. They do not answer a
	// question that is asked now.
	TypedAhead() int
	// Next returns the first line after those. ok is false if the input or ctx has
	// ended.
	Next(ctx context.Context, after int) (line string, ok bool)
}

// decisions are the answers that a person can type, and what is sent for each.
var decisions = map[string]string{
	"y": api.AnswerOnce, "yes": api.AnswerOnce, "a": api.AnswerAlways, "always": api.AnswerAlways, "n": api.AnswerDeny, "no": api.AnswerDeny,
}

// answerOf reads a line that a person typed: a decision, or numbers of several calls, which
// are allowed then. The zero Answer: it is neither.
func answerOf(line string, calls []api.ApprovalCall) api.Answer {
	line = strings.ToLower(strings.TrimSpace(line))
	if answer := decisions[line]; answer != "" || len(calls) < 2 {
		return api.Answer{Answer: answer}
	}
	out := api.Answer{Answer: api.AnswerOnce}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t,，、", r) }) {
		n, err := strconv.Atoi(word)
		if err != nil || !slices.ContainsFunc(calls, func(c api.ApprovalCall) bool { return c.Number == n }) {
			return api.Answer{}
		}
		out.Only = append(out.Only, n)
	}
	slices.Sort(out.Only)
	switch out.Only = slices.Compact(out.Only); len(out.Only) {
	case 0:
		return api.Answer{}
	case len(calls):
		out.Only = nil
	}
	return out
}

// ask shows one request and waits for its answer.
func (q *approver) ask(ctx context.Context, a *request) {
	defer a.settle()
	if a.ctx.Err() != nil {
		return
	}
	both, cancel := context.WithCancel(a.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	q.writeLine(ApprovalCard(q.Printer, a.Approval))
	prompt, hint := q.Sprintf("allow it? [y] once  [a] always here  [n] no: "), q.Sprintf("  type y, a or n")
	if n := len(a.Calls); n > 1 {
		prompt = q.Sprintf("allow them? [y] all  [a] all, and later ones of these tools  [n] none, or the numbers of those to allow: ")
		hint = q.Sprintf("  type y, a, n or numbers as %s", fmt.Sprintf("%d,%d", a.Calls[0].Number, a.Calls[n-1].Number))
	}
	for {
		before := q.answers.TypedAhead()
		q.prompt(prompt)
		line, ok := q.answers.Next(both, before)
		answer := answerOf(line, a.Calls)
		switch {
		case !ok && both.Err() != nil:
			q.settled(a)
			return
		case !ok:
			answer.Answer = api.AnswerDeny // the input has ended
			q.writeLine("")
		case answer.Answer == "":
			q.writeLine(hint)
			continue
		}
		q.send(ctx, a, answer)
		return
	}
}

// send sends the answer to the daemon.
func (q *approver) send(ctx context.Context, a *request, answer api.Answer) {
	err := q.cl.Post(ctx, "/api/approvals/"+url.PathEscape(a.ID), answer, nil)
	var p *api.Problem
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &p):
		q.writeLine("  " + q.Text(p.Msg))
	default:
		q.writeLine("  " + q.Text(msg.Of(err)))
	}
}

// settled writes that an answer is no longer needed.
func (q *approver) settled(a *request) {
	q.mu.Lock()
	outcome := a.outcome
	q.mu.Unlock()
	outcome = cmp.Or(outcome, "it ended")
	q.writeLine("\n  " + q.Sprintf("no answer is needed any more: %s", limit.Visible(outcome)))
}

// ApprovalCard returns a request for a person. Nothing in it can steer the
// terminal or imitate a line of weir.
func ApprovalCard(p *term.Printer, a api.Approval) string {
	var b strings.Builder
	quote := func(text string) {
		for line := range strings.SplitSeq(limit.Visible(text), "\n") {
			b.WriteString("  │ " + line + "\n")
		}
	}
	if len(a.Calls) > 0 {
		b.WriteString(p.Sprintf("? %d calls of a script ask for permission: %s", len(a.Calls), term.Visible(a.Tool, 80)))
	} else {
		b.WriteString(p.Sprintf("? %s asks for permission", term.Visible(a.Tool, 80)))
	}
	if a.Plugin != "" && a.Plugin != a.Tool {
		b.WriteString(p.Sprintf(" (plugin %s)", term.Visible(a.Plugin, 80)))
	}
	b.WriteString("\n  " + term.Visible(a.Why, 600) + "\n")
	for _, c := range a.Calls {
		fmt.Fprintf(&b, "  %d: %s\n", c.Number, term.Visible(c.Tool, 80))
		quote(c.Args)
		for _, arg := range slices.Sorted(maps.Keys(c.From)) {
			quote(term.Visible(arg, 60) + " ← " + term.Visible(c.From[arg], 200))
		}
	}
	switch {
	case len(a.Calls) == 0:
		quote(a.Args)
		if a.LeftOut > 0 {
			b.WriteString(p.Sprintf("  %s characters are left out here; all of them: weir approvals show %s\n", term.Grouped(a.LeftOut), a.ID))
		}
	default:
		b.WriteString(p.Sprintf("  the script:\n"))
		quote(a.Script)
		if a.LeftOut > 0 {
			b.WriteString(p.Sprintf("  parts may be left out here, at […]; all of it: weir approvals show %s\n", a.ID))
		}
	}
	b.WriteString(p.Sprintf("  always: %s", term.Visible(a.Always, 600)))
	return b.String()
}
