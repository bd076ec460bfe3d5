package chat

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// ExplainText describes what was sent to the model for a question, which results
// were cut, and what that saved.
func ExplainText(p *term.Printer, t api.Trace) string {
	var b strings.Builder
	outf := func(format string, args ...any) { b.WriteString(p.Sprintf(format, args...) + "\n") }
	window := p.Sprintf("an unknown window")
	if t.Window > 0 {
		window = p.Sprintf("a window of %s tokens", term.Grouped(t.Window))
	}
	outf("What was sent (tokens are estimates)")
	outf("  to %s, tools called by %s, %s", limit.Visible(t.Model), t.Mode, window)
	if t.Limit > 0 {
		outf("  at most %s characters of one result, decided by: %s", term.Grouped(t.Limit), whyText(t))
	}
	for _, g := range t.Limits {
		outf("  %s characters (%s; without it %s): %s", term.Grouped(g.Chars), limit.LayerName(g.By, p.Locale()), limit.Name(g.NextBy, g.Next, tool.Chars, p.Locale()), limit.Visible(strings.Join(g.Tools, ", ")))
	}
	tools := 0
	if len(t.Tools) > 0 {
		names := make([]string, len(t.Tools))
		for i, tl := range t.Tools {
			tools += tl.Tokens
			names[i] = limit.Visible(tl.Name) + " " + term.Grouped(tl.Tokens)
			if tl.Brief {
				names[i] += p.Sprintf(" (one line)")
			}
		}
		outf("  tools: %d (%s tokens): %s", len(names), term.Grouped(tools), strings.Join(names, " · "))
	}
	for _, r := range t.Rounds {
		if r.Round > 0 {
			outf("  request %d: %s", r.Round, sentText(p, r, tools))
		}
	}
	explainCuts(p, t, outf)
	explainSavings(p, t, outf)
	return b.String()
}

// sentText describes the parts of one request. The system prompt contains the
// tools, with as many tokens.
func sentText(p *term.Printer, r api.TraceRound, tools int) string {
	s := p.Sprintf("%s tokens", term.Grouped(r.Sent.Total()))
	if n := r.Usage.Prompt; n > 0 {
		s += p.Sprintf(" (counted: %s)", term.Grouped(n))
	}
	s += " = "
	var parts []string
	add := func(name string, n int) {
		if n > 0 {
			parts = append(parts, name+" "+term.Grouped(n))
		}
	}
	tools = min(tools, r.Sent.System)
	add(p.Sprintf("rules"), r.Sent.System-tools)
	add(p.Sprintf("tools"), tools)
	add(p.Sprintf("history"), r.Sent.History)
	add(p.Sprintf("question"), r.Sent.Question)
	add(p.Sprintf("replies"), r.Sent.Replies)
	add(p.Sprintf("results"), r.Sent.Results)
	add(p.Sprintf("notes"), r.Sent.Notes)
	return s + strings.Join(parts, " + ")
}

// explainCuts describes the results that were cut or loaded.
func explainCuts(p *term.Printer, t api.Trace, outf func(string, ...any)) {
	cut := 0
	for _, r := range t.Rounds {
		for _, call := range r.Calls {
			if call.Layer == "" && !call.Summarized && call.LoadedUUID == "" {
				continue
			}
			if cut++; cut == 1 {
				outf("What was cut, kept and loaded")
			}
			name := limit.Visible(call.Tool)
			switch {
			case call.LoadedUUID != "":
				outf("  round %d: %s loaded %s characters of %s", r.Round, name, term.Grouped(call.Shown), call.LoadedUUID)
			default:
				outf("  round %d: %s %s", r.Round, name, cutText(p, cutCounts{call.Produced, cmp.Or(call.Read, call.Shown), call.Layer, call.Limit, call.Unit, call.Summarized}))
			}
			if call.KeptUUID != "" {
				outf("    the whole: weir archive show %s", call.KeptUUID)
			}
		}
	}
	if cut == 0 {
		outf("Nothing was cut.")
	}
}

// explainSavings describes what the limits and the placeholders saved.
func explainSavings(p *term.Printer, t api.Trace, outf func(string, ...any)) {
	saved := t.ProducedChars - t.ShownChars
	if saved <= 0 && t.FoldedChars <= 0 {
		return
	}
	outf("What the limits saved")
	if saved > 0 {
		s := p.Sprintf("  %s of %s characters (%d %%)", term.Grouped(saved), term.Grouped(t.ProducedChars), saved*100/t.ProducedChars)
		if n := tokensSaved(t, saved); n > 0 {
			s += p.Sprintf(", about %s tokens in every later request", term.Grouped(n))
		}
		outf("%s", s)
	}
	if t.FoldedChars > 0 {
		outf("  placeholders took another %s characters out of what the next question sends", term.Grouped(t.FoldedChars))
	}
}

// tokensSaved estimates the tokens of the characters that were cut, from the
// tokens of those that were sent.
func tokensSaved(t api.Trace, chars int) int {
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

// whyText returns the reason for the limit of a trace, which keeps it in English, as a
// sentence for any reader.
func whyText(t api.Trace) tool.Text {
	configured := new(int)
	if n, _ := fmt.Sscanf(t.Why, "max_tool_result_length = %d", configured); n == 0 {
		configured = nil
	}
	if _, why := limit.Agent(configured, t.Window); why.String() == t.Why {
		return why
	}
	return tool.Text{Format: t.Why}
}
