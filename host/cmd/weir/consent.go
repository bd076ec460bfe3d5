package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

// A consenter asks whoever sits at the terminal about the calls that need their
// leave, one after the other, beside the stream of the answer.
type consenter struct {
	cl   *session
	keys answerer
	say  func(en, zh string) string
	tell func(string) // a line on the terminal
	hint func(string) // what stands in front of the answer

	mu    sync.Mutex
	open  map[string]*asking
	queue chan *asking
	done  chan struct{}
}

// asking is one request; ctx ends when it is settled elsewhere.
type asking struct {
	daemon.Approval
	ctx    context.Context
	settle context.CancelFunc
	how    string // what it came to; guarded by consenter.mu
}

// newConsenter starts to ask. close must be called.
func newConsenter(ctx context.Context, cl *session, keys answerer, say func(en, zh string) string, tell, hint func(string)) *consenter {
	q := &consenter{cl: cl, keys: keys, say: say, tell: tell, hint: hint, open: map[string]*asking{}, queue: make(chan *asking, 64), done: make(chan struct{})}
	go func() {
		defer close(q.done)
		for a := range q.queue {
			q.ask(ctx, a)
		}
	}()
	return q
}

// close ends what is still being asked.
func (q *consenter) close() {
	q.mu.Lock()
	for _, a := range q.open {
		a.settle()
	}
	q.mu.Unlock()
	close(q.queue)
	<-q.done
}

// event takes the events of approvals from the stream.
func (q *consenter) event(name string, data json.RawMessage) {
	switch name {
	case "approval.asked":
		a := &asking{}
		if json.Unmarshal(data, &a.Approval) != nil {
			return
		}
		a.ctx, a.settle = context.WithCancel(context.Background())
		q.mu.Lock()
		q.open[a.ID] = a
		q.mu.Unlock()
		q.queue <- a
	case "approval.answered":
		var e daemon.ApprovalAnswered
		if json.Unmarshal(data, &e) != nil {
			return
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if a := q.open[e.ID]; a != nil {
			a.how = e.Answer
			a.settle()
			delete(q.open, e.ID)
		}
	}
}

// An answerer is where a person's answers come from. One goroutine at a time
// may take.
type answerer interface {
	// ahead is how much was typed already, which is no answer to what comes now.
	ahead() int
	// take returns what is typed behind that. false: the input or ctx has ended.
	take(ctx context.Context, ahead int) (string, bool)
}

// answers are what a person can type, and what is sent for it.
var answers = map[string]string{"y": "once", "yes": "once", "a": "always", "always": "always", "n": "deny", "no": "deny"}

// ask shows one request and waits for its answer.
func (q *consenter) ask(ctx context.Context, a *asking) {
	defer a.settle()
	if a.ctx.Err() != nil {
		return
	}
	both, cancel := context.WithCancel(a.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	q.tell(requestCard(a.Approval, q.say))
	for {
		ahead := q.keys.ahead()
		q.hint(q.say("allow it? [y] once  [a] always here  [n] no: ", "允许吗？[y] 一次  [a] 始终允许  [n] 不允许: "))
		line, ok := q.keys.take(both, ahead)
		answer := answers[strings.ToLower(strings.TrimSpace(line))]
		switch {
		case !ok && both.Err() != nil:
			q.settled(a)
			return
		case !ok:
			answer = "deny" // the input has ended: nobody is there
			q.tell("")
		case answer == "":
			q.tell(q.say("  type y, a or n", "  请按 y、a 或 n"))
			continue
		}
		q.send(ctx, a, answer)
		return
	}
}

// send gives the answer to the daemon.
func (q *consenter) send(ctx context.Context, a *asking, answer string) {
	var p *daemon.Problem
	switch err := q.cl.Post(ctx, "/api/approvals/"+url.PathEscape(a.ID), map[string]string{"answer": answer}, nil); {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &p):
		q.tell("  " + p.Msg.String())
	default:
		q.tell("  " + err.Error())
	}
}

// settled tells that no answer is needed any more.
func (q *consenter) settled(a *asking) {
	q.mu.Lock()
	how := a.how
	q.mu.Unlock()
	if how == "" {
		how = "it ended"
	}
	q.tell("\n  " + q.say("no answer is needed any more: ", "无需再回答: ") + limit.Visible(how))
}

// requestCard is a request as a person reads it. Nothing in it can steer the
// terminal or look like a line of ours.
func requestCard(a daemon.Approval, say func(en, zh string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, say("? %s asks for your leave", "? %s 请求许可"), term.Visible(a.Tool, 80))
	if a.Plugin != "" && a.Plugin != a.Tool {
		fmt.Fprintf(&b, say(" (plugin %s)", "（插件 %s）"), term.Visible(a.Plugin, 80))
	}
	fmt.Fprintf(&b, "\n  %s\n", term.Visible(a.Why, 600))
	for line := range strings.SplitSeq(limit.Visible(a.Args), "\n") {
		b.WriteString("  │ " + line + "\n")
	}
	if a.LeftOut > 0 {
		fmt.Fprintf(&b, say("  %s characters are left out here; all of them: weir approvals show %s\n", "  此处省略了 %s 个字符；全部内容: weir approvals show %s\n"), term.Grouped(a.LeftOut), a.ID)
	}
	fmt.Fprintf(&b, say("  always: %s", "  始终允许: %s"), term.Visible(a.Always, 600))
	return b.String()
}

// howToAllow tells a person how a call that nobody could be asked about may run.
func howToAllow(name string) string {
	return "\n  to allow it, ask in a terminal or on the page, or write in tools.toml:\n" +
		fmt.Sprintf("    [[approvals.rule]]\n    tool   = %q\n    action = \"allow\"", term.Visible(name, 80))
}
