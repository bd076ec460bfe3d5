package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"

	"github.com/weirhost/weir/sdk/tool"
)

// A printer shows the events of a turn: the answer on stdout, all else on
// stderr. On a terminal a call is one line once it is done, and what goes on
// until then is a line that comes and goes; elsewhere both its beginning and
// its end are lines.
type printer struct {
	c     *cli
	quiet bool
	wait  bool // for leave from another terminal
	think bool // show what the model thinks as it comes
	talks bool // in a chat, where there are /show and /think

	mu   sync.Mutex    // held while anything is written
	live *term.Spinner // nil: not a terminal
	open bool          // the answer's last line is not ended yet
	// simulated says that a script answers, whose tokens nobody pays.
	simulated bool
	model     string
	calls     map[string]daemon.ToolCallStart // that run, by id
	kept      []string                        // uuids of archived results
	// conversation is the one that was answered in.
	conversation string
	thoughts     strings.Builder
	thinking     time.Time // since when; zero: it does not
	end          *daemon.ChatEnd
	problem      *daemon.Problem
}

// begin takes a terminal, which finish gives back.
func (p *printer) begin() {
	p.calls = map[string]daemon.ToolCallStart{}
	if p.c.Colours(p.c.Err) && !p.quiet {
		p.live = term.NewSpinner(p.c.Err, p.c.Width, &p.mu)
	}
}

func (p *printer) finish() {
	if p.live != nil {
		p.live.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endThought()
}

// chat asks and prints, and lets a person answer what needs their leave; keys
// are theirs, nil: nobody is there.
func (p *printer) chat(ctx context.Context, cl *session, ask daemon.Ask, keys answerer) error {
	ask.Approvals = keys != nil || p.wait
	if keys == nil {
		return cl.Ask(ctx, ask, p.event)
	}
	q := newConsenter(ctx, cl, keys, p.c.say, p.tell, p.hint)
	defer q.close()
	return cl.Ask(ctx, ask, func(name string, data json.RawMessage) error {
		q.event(name, data)
		return p.event(name, data)
	})
}

// tell writes a line whatever the flags say.
func (p *printer) tell(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.endLine()
	fmt.Fprintln(p.c.Err, s)
}

func (p *printer) hint(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprint(p.c.Err, s)
}

func (p *printer) event(name string, data json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c.Events {
		p.c.PrintEvent(name, data)
	}
	if name != "reasoning.delta" {
		p.endThought()
	}
	switch name {
	case "chat.start":
		p.started(data)
	case "message.delta", "reasoning.delta":
		var e daemon.TextPiece
		if json.Unmarshal(data, &e) != nil || e.Text == "" {
			return nil
		}
		if name == "message.delta" {
			p.text(e.Text)
		} else {
			p.thought(e.Text)
		}
	case "approval.asked":
		var a daemon.Approval
		if json.Unmarshal(data, &a) == nil && p.wait {
			p.clear()
			fmt.Fprintf(p.c.Err, "%s\n  %s weir approvals allow %s, or deny\n", requestCard(a, p.c.say), p.c.say("waiting:", "等待批准:"), term.Visible(a.ID, 40))
		}
	case "tool_call.start", "tool_call.progress", "tool_call.result", "tool_call.malformed":
		p.call(name, data)
	case "mode.switched", "model.repeated", "context.folded":
		p.happened(name, data)
	case "error":
		p.problem = new(daemon.Problem)
		return json.Unmarshal(data, p.problem)
	case "chat.end":
		p.clear()
		p.end = new(daemon.ChatEnd)
		return json.Unmarshal(data, p.end)
	}
	return nil
}

func (p *printer) started(data json.RawMessage) {
	var e daemon.ChatStart
	p.simulated = json.Unmarshal(data, &e) == nil && e.Simulated
	p.model, p.conversation = limit.Visible(e.Model), e.Conversation
	if p.simulated && !p.c.demoTold {
		p.c.demoTold = true
		p.note(p.c.say("the demo model answers: a script, not an AI", "由演示模型回答：它是脚本，不是 AI"))
	}
	p.waits()
}

// text writes a piece of the answer.
func (p *printer) text(s string) {
	if p.c.JSON {
		return
	}
	p.clear()
	if term.IsTerminal(p.c.Out) {
		s = term.Calm(s)
	}
	fmt.Fprint(p.c.Out, s)
	p.open = !strings.HasSuffix(s, "\n")
}

// happened tells what else befell a turn.
func (p *printer) happened(name string, data json.RawMessage) {
	switch name {
	case "mode.switched":
		var e struct{ To, Why string }
		if json.Unmarshal(data, &e) == nil {
			p.note(p.c.say("tools are now called by ", "工具调用方式改为 ") + e.To + p.c.say(": ", "：") + limit.Visible(e.Why))
		}
	case "model.repeated":
		var e daemon.ModelRepeated
		if json.Unmarshal(data, &e) == nil {
			wait := (time.Duration(e.Wait) * time.Millisecond).Round(100 * time.Millisecond).String()
			p.note(limit.Visible(e.Message.String()) + p.c.say("; asking again in "+wait, "；"+wait+" 后重试"))
		}
	case "context.folded":
		var e daemon.Folded
		if json.Unmarshal(data, &e) == nil {
			p.note(p.c.say(fmt.Sprintf("📎 %d folded into placeholders, %s characters saved", len(e.UUIDs), term.Grouped(e.SavedChars)),
				fmt.Sprintf("📎 %d 个结果折叠为占位符，节省 %s 字符", len(e.UUIDs), term.Grouped(e.SavedChars))))
		}
	}
}

// note writes a line on stderr, behind whatever of the answer stands there.
func (p *printer) note(s string) {
	if p.quiet {
		return
	}
	p.clear()
	p.endLine()
	fmt.Fprintln(p.c.Err, s)
}

func (p *printer) endLine() {
	if p.open {
		fmt.Fprintln(p.c.Out)
		p.open = false
	}
}

// clear takes the line that comes and goes away.
func (p *printer) clear() {
	if p.live != nil {
		p.live.Set("")
	}
}

// waits shows that the model has been asked and says nothing yet.
func (p *printer) waits() { p.going(p.c.say("waiting for "+p.model, "等待 "+p.model)) }

// going shows what goes on, where nothing of the answer stands on the line.
func (p *printer) going(s string) {
	if p.live != nil && !p.open {
		p.live.Set(s)
	}
}

// outcome is how the turn ended for the command: the error event's problem, or
// the stream's own error.
func (p *printer) outcome(err error) error {
	p.endLine()
	if err == nil && p.problem != nil {
		err = p.problem
	}
	if p.end != nil && p.end.Reason == agent.ReasonNoAnswer && err == nil {
		err = &daemon.Problem{Code: "model_" + string(agent.ReasonNoAnswer),
			Msg:  tool.Text{Format: p.c.say("the model said nothing, however often it was asked", "模型多次被询问仍没有回答")},
			Hint: tool.Text{Format: p.c.say("`weir model test` tries it; another model may do better", "用 `weir model test` 试一试，或换一个模型")}}
	}
	if err != nil && p.c.JSON && p.end != nil {
		// The envelope was printed with what there is; the rest is for people.
		fmt.Fprintln(p.c.Err, "weir: "+err.Error())
		var pr *daemon.Problem
		if errors.As(err, &pr) && strings.HasPrefix(pr.Code, "model_") {
			return exitError(exitModel)
		}
		return exitError(exitFailed)
	}
	if p.end != nil && p.end.Unsaved {
		fmt.Fprintln(p.c.Err, p.c.say("weir: this question and its answer could not be saved: the data folder cannot be written",
			"weir: 问题和回答无法保存：数据目录不可写 (could not be saved)"))
	}
	if p.end != nil && !p.quiet && p.end.Reason != agent.ReasonAnswer && err == nil {
		fmt.Fprintln(p.c.Err, p.c.say("(ended: "+string(p.end.Reason)+")", "（结束原因: "+string(p.end.Reason)+"）"))
	}
	if p.end != nil && !p.quiet && !p.simulated && p.end.Usage.Prompt+p.end.Usage.Completion > 0 {
		p.dim("(" + p.c.usageLine(p.end.Usage, p.end.Cost) + ")")
	}
	return err
}

// dim writes a line on stderr that is less loud than others, where that can be.
func (p *printer) dim(s string) { fmt.Fprintln(p.c.Err, p.c.Faint(s)) }

// usageLine tells tokens and, where it is known, what they cost.
func (c *cli) usageLine(u agent.Usage, cost *agent.Cost) string {
	s := term.Grouped(u.Prompt) + c.say(" tokens in, ", " 词元输入，")
	if u.CachedPrompt > 0 {
		s += c.say(term.Grouped(u.CachedPrompt)+" of them cached, ", "其中 "+term.Grouped(u.CachedPrompt)+" 来自缓存，")
	}
	s += term.Grouped(u.Completion) + c.say(" out", " 输出")
	if u.Estimated {
		s = c.say("about ", "约 ") + s
	}
	if cost != nil {
		s += c.say("; ", "；") + term.Money(cost.Amount) + " " + limit.Visible(cost.Currency)
	}
	return s
}
