package main

import (
	"fmt"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

// explained tells what a question made weir send to the model, what was cut
// from results and what that saved.
func (c *cli) explained(t daemon.Trace) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	window := c.say("an unknown window", "窗口未知")
	if t.Window > 0 {
		window = c.say("a window of "+term.Grouped(t.Window)+" tokens", "窗口 "+term.Grouped(t.Window)+" 词元")
	}
	p(c.say("What was sent (tokens are estimates)", "发送了什么（词元数为估算）"))
	p(c.say("  to %s, tools called by %s, %s", "  模型 %s，工具调用方式 %s，%s"), limit.Visible(t.Model), t.Mode, window)
	if t.Limit > 0 {
		p(c.say("  at most %s characters of one result, decided by: %s", "  单个结果最多 %s 字符，依据: %s"), term.Grouped(t.Limit), t.Why)
	}
	tools := 0
	if len(t.Tools) > 0 {
		names := make([]string, len(t.Tools))
		for i, tl := range t.Tools {
			tools += tl.Tokens
			names[i] = limit.Visible(tl.Name) + " " + term.Grouped(tl.Tokens)
			if tl.Brief {
				names[i] += c.say(" (one line)", "（一行）")
			}
		}
		p(c.say("  %d tools, %s tokens: %s", "  %d 个工具，%s 词元: %s"), len(names), term.Grouped(tools), strings.Join(names, " · "))
	}
	for _, r := range t.Rounds {
		if r.Round > 0 {
			p(c.say("  request %d: %s", "  请求 %d: %s"), r.Round, c.sentOf(r, tools))
		}
	}
	c.explainCuts(t, p)
	c.explainSaving(t, p)
	return b.String()
}

// sentOf tells the parts of one request; of the system prompt, tools tokens are
// the tools'.
func (c *cli) sentOf(r daemon.TraceRound, tools int) string {
	s := c.say(term.Grouped(r.Sent.Total())+" tokens", term.Grouped(r.Sent.Total())+" 词元")
	if n := r.Usage.Prompt; n > 0 {
		s += c.say(" (counted: "+term.Grouped(n)+")", "（计费 "+term.Grouped(n)+"）")
	}
	s += c.say(" = ", " = ")
	var parts []string
	add := func(name string, n int) {
		if n > 0 {
			parts = append(parts, name+" "+term.Grouped(n))
		}
	}
	tools = min(tools, r.Sent.System)
	add(c.say("rules", "规则"), r.Sent.System-tools)
	add(c.say("tools", "工具"), tools)
	add(c.say("history", "历史"), r.Sent.History)
	add(c.say("question", "问题"), r.Sent.Question)
	add(c.say("replies", "回复"), r.Sent.Replies)
	add(c.say("results", "结果"), r.Sent.Results)
	add(c.say("notes", "提示"), r.Sent.Notes)
	return s + strings.Join(parts, " + ")
}

func (c *cli) explainCuts(t daemon.Trace, p func(string, ...any)) {
	cut := 0
	for _, r := range t.Rounds {
		for _, call := range r.Calls {
			if call.Layer == "" && !call.Summarized && call.LoadedUUID == "" {
				continue
			}
			if cut++; cut == 1 {
				p(c.say("What was cut, kept and loaded", "截断、保存与载入"))
			}
			name := limit.Visible(call.Tool)
			switch {
			case call.LoadedUUID != "":
				p(c.say("  round %d: %s loaded %s characters of %s", "  第 %d 轮: %s 载入了 %[4]s 的 %[3]s 字符"), r.Round, name, term.Grouped(call.Shown), call.LoadedUUID)
			default:
				p(c.say("  round %d: %s %s", "  第 %d 轮: %s %s"), r.Round, name, c.cutOf(call.Produced, call.Shown, call.Layer, call.Limit, call.Unit, call.Summarized))
			}
			if call.KeptUUID != "" {
				p(c.say("    the whole: weir archive show %s", "    全文: weir archive show %s"), call.KeptUUID)
			}
		}
	}
	if cut == 0 {
		p(c.say("Nothing was cut.", "没有截断任何内容。"))
	}
}

func (c *cli) explainSaving(t daemon.Trace, p func(string, ...any)) {
	saved := t.ProducedChars - t.ShownChars
	if saved <= 0 && t.FoldedChars <= 0 {
		return
	}
	p(c.say("What the limits saved", "上限节省了多少"))
	if saved > 0 {
		s := c.say(fmt.Sprintf("  %s of %s characters (%d %%)", term.Grouped(saved), term.Grouped(t.ProducedChars), saved*100/t.ProducedChars),
			fmt.Sprintf("  %s / %s 字符（%d%%）", term.Grouped(saved), term.Grouped(t.ProducedChars), saved*100/t.ProducedChars))
		if n := tokensSaved(t, saved); n > 0 {
			s += c.say(", about "+term.Grouped(n)+" tokens in every request behind them", "，之后每次请求约省 "+term.Grouped(n)+" 词元")
		}
		p("%s", s)
	}
	if t.FoldedChars > 0 {
		p(c.say("  placeholders took another %s characters out of what the next question sends", "  占位符又为下一个问题省去 %s 字符"), term.Grouped(t.FoldedChars))
	}
}

// tokensSaved is what the characters left out would have taken, by what those
// shown took.
func tokensSaved(t daemon.Trace, chars int) int {
	var most agent.Parts
	for _, r := range t.Rounds {
		if r.Sent.Results > most.Results {
			most = r.Sent
		}
	}
	if t.ShownChars <= 0 || most.Results == 0 {
		return 0
	}
	return int(float64(most.Results) / float64(t.ShownChars) * float64(chars))
}
