package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// call shows the events of calls.
func (p *printer) call(name string, data json.RawMessage) {
	switch name {
	case "tool_call.start":
		var e daemon.ToolCallStart
		if json.Unmarshal(data, &e) != nil {
			return
		}
		what := term.Visible(e.Tool, 80) + " " + term.Visible(string(e.Args), 100)
		if p.live == nil {
			p.note("→ " + what)
			return
		}
		p.calls[e.ID] = e
		p.endLine()
		p.going(what)
	case "tool_call.progress":
		var e daemon.ToolCallProgress
		if json.Unmarshal(data, &e) == nil {
			p.going(term.Visible(e.Tool, 80) + " " + progressOf(e))
		}
	case "tool_call.result":
		var e daemon.ToolCallResult
		if json.Unmarshal(data, &e) == nil {
			p.result(e)
		}
	case "tool_call.malformed":
		var e daemon.ToolCallMalformed
		if json.Unmarshal(data, &e) == nil {
			p.note("✗ " + p.c.say("a call could not be read: ", "有一个调用无法识别: ") + e.Reason + " " + term.Visible(e.Tool, 80))
			p.waits()
		}
	}
}

// result tells what a call came to.
func (p *printer) result(e daemon.ToolCallResult) {
	if e.KeptUUID != "" {
		p.kept = append(p.kept, e.KeptUUID)
	}
	if p.live == nil {
		p.note("← " + limit.Visible(e.Line))
	} else {
		start := p.calls[e.ID]
		delete(p.calls, e.ID)
		p.note(p.c.callLine(start, e, p.talks))
	}
	if a := e.Approval; a != nil && !a.Allowed && a.By == "nobody" && e.Error != nil {
		p.note("  " + limit.Visible(e.Error.Msg) + howToAllow(e.Tool))
	}
	p.waits()
}

// progressOf tells how far a call is.
func progressOf(e daemon.ToolCallProgress) string {
	s := term.Grouped(e.Done)
	if e.Total > 0 {
		s += "/" + term.Grouped(e.Total)
	}
	return strings.TrimSpace(s + " " + term.Visible(e.Message, 200))
}

// callLine is one call as a person reads it: what it was asked, what it got,
// what of it was left out by which limit, and how to see the whole.
func (c *cli) callLine(start daemon.ToolCallStart, e daemon.ToolCallResult, inChat bool) string {
	parts := []string{term.Visible(e.Tool, 80)}
	if args := string(start.Args); args != "" && args != "{}" {
		parts[0] += " " + c.Faint(term.Visible(args, 60))
	}
	mark := "● "
	switch {
	case e.Error != nil:
		mark = "✗ "
		parts = append(parts, string(e.Error.Code)+": "+term.Visible(e.Error.Msg, 160))
	case e.Layer != "" || e.Summarized:
		parts = append(parts, c.cutOf(e.Produced, e.Shown, e.Layer, e.Limit, e.Unit, e.Summarized))
	default:
		parts = append(parts, c.say(term.Grouped(e.Produced)+" characters", term.Grouped(e.Produced)+" 字符"))
	}
	if e.Unkept {
		parts = append(parts, c.say("not kept", "未能保存"))
	}
	parts = append(parts, c.Faint(term.Milliseconds(e.ElapsedMS)))
	if e.KeptUUID != "" && (e.Layer != "" || e.Summarized) {
		if inChat {
			parts = append(parts, "/show "+term.ShortID(e.KeptUUID))
		} else {
			parts = append(parts, "weir archive show "+e.KeptUUID)
		}
	}
	return mark + strings.Join(parts, " · ")
}

// cutOf says what of a result is shown, and by which limit no more of it.
func (c *cli) cutOf(produced, shown int, l tool.Layer, n int, u tool.Unit, summarized bool) string {
	numbers := term.Grouped(produced) + " → " + term.Grouped(shown)
	if summarized {
		return c.say(numbers+" characters, a summary by a model", numbers+" 字符，由模型摘要")
	}
	lines, zhLines := "", ""
	if u == tool.Lines {
		lines, zhLines = " lines", " 行"
	}
	s := c.say(numbers+" characters ("+layerName(l, false), numbers+" 字符（"+layerName(l, true))
	if n > 0 {
		s += " " + term.Grouped(n) + c.say(lines, zhLines)
	}
	return s + c.say(")", "）")
}

// layerName is a layer of limits as people call it.
func layerName(l tool.Layer, zh bool) string {
	names, ok := map[tool.Layer][2]string{
		tool.LayerTool: {"tool limit", "工具上限"}, tool.LayerOperator: {"operator limit", "管理员上限"}, tool.LayerDefault: {"default limit", "默认上限"},
		tool.LayerCeiling: {"ceiling", "系统上限"}, tool.LayerAgent: {"agent limit", "智能体上限"}, tool.LayerRound: {"round limit", "本轮份额"},
		tool.LayerLoad: {"room left", "剩余空间"},
	}[l]
	if !ok {
		names = [2]string{string(l) + " limit", string(l) + " 上限"}
	}
	if zh {
		return names[1]
	}
	return names[0]
}

// thought shows a piece of what the model thinks, or how much it has thought.
func (p *printer) thought(s string) {
	if p.c.JSON {
		return
	}
	if p.thinking.IsZero() {
		p.thinking = time.Now()
		p.thoughts.Reset()
		p.endLine()
	}
	p.thoughts.WriteString(s)
	switch {
	case p.think && !p.quiet:
		p.clear()
		fmt.Fprint(p.c.Err, p.c.Faint(term.Calm(s)))
	default:
		n := len([]rune(p.thoughts.String()))
		p.going(p.c.say("thinking, "+term.Grouped(n)+" characters", "思考中，"+term.Grouped(n)+" 字符"))
	}
}

// endThought closes a thought with one line.
func (p *printer) endThought() {
	if p.thinking.IsZero() {
		return
	}
	took := term.Milliseconds(time.Since(p.thinking).Milliseconds())
	p.thinking = time.Time{}
	switch {
	case p.quiet:
	case p.think:
		fmt.Fprintln(p.c.Err)
	case p.live != nil:
		n := term.Grouped(len([]rune(p.thoughts.String())))
		s := p.c.say("∴ thought for "+took+", "+n+" characters", "∴ 思考了 "+took+"，"+n+" 字符")
		if p.talks {
			s += p.c.say(" · /think shows it", " · /think 可查看")
		}
		p.note(p.c.Faint(s))
	}
}
