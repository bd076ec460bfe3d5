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

// TokensText returns the tokens that a provider counted, of the prompt and of the
// completion, or a dash without any.
func TokensText(u agent.Usage) string {
	if u.Prompt+u.Completion == 0 {
		return "–"
	}
	s := term.Grouped(u.Prompt) + "+" + term.Grouped(u.Completion)
	if u.Estimated {
		s = "~" + s
	}
	return s
}

// TraceText describes how a question was answered: its requests and its calls.
func TraceText(p *term.Printer, t api.Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", term.Visible(t.Question, 200))
	fmt.Fprintf(&b, "%s", p.Sprintf("trace %d · %s · %s · %s · turn %d of conversation %s\n",
		t.ID, t.Started.Local().Format("2006-01-02 15:04:05"), limit.Visible(t.Model), term.Milliseconds(t.ElapsedMS), t.Turn, limit.Visible(t.Conversation)))
	b.WriteString(p.Sprintf("tools by %s · ended: %s", t.Mode, t.Reason))
	if t.Usage.Prompt+t.Usage.Completion > 0 {
		b.WriteString(" · " + usageText(p, t.Usage, t.Cost))
	}
	b.WriteString("\n")
	for _, s := range t.Switched {
		b.WriteString(p.Sprintf("%s; %s answered instead\n", limit.Visible(p.Text(s.Message)), limit.Visible(s.To)))
	}
	for _, s := range t.Passed {
		b.WriteString(p.Sprintf("%s was not asked instead: %s\n", limit.Visible(s.Model), limit.Visible(p.Text(s.Message))))
	}
	if len(t.Suggested) > 0 {
		b.WriteString(p.Sprintf("tools found by the question: %s\n", term.Visible(strings.Join(t.Suggested, ", "), 300)))
	}
	for _, note := range t.Notes {
		b.WriteString(limit.Visible(p.Text(note)) + "\n")
	}
	b.WriteString("\n")
	rows := [][]string{strings.Split(p.Sprintf("ROUND|TIME|FIRST|SENT|COUNTED|CALLS"), "|")}
	for _, r := range t.Rounds {
		if r.Round == 0 {
			rows = append(rows, []string{"0", "–", "–", "–", "–", fmt.Sprint(len(r.Calls))})
			continue
		}
		row := []string{fmt.Sprint(r.Round), term.Milliseconds(r.ElapsedMS), term.Milliseconds(r.FirstMS), "~" + term.Grouped(r.Sent.Total()), TokensText(r.Usage), fmt.Sprint(len(r.Calls))}
		if r.Error != "" {
			row[5] += " ✗ " + r.Error
		}
		rows = append(rows, row)
	}
	b.WriteString(term.Grid(rows, p.TableWidth()))
	for _, r := range t.Rounds {
		for _, call := range r.Calls {
			fmt.Fprintf(&b, "\n%d  %s", r.Round, tracedCall(p, call))
		}
	}
	if t.Calls > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// tracedCall describes one call.
func tracedCall(p *term.Printer, call api.TraceCall) string {
	s := term.Visible(call.Tool, 80)
	if args := string(call.Args); args != "" && args != "{}" {
		s += " " + term.Visible(args, 80)
	}
	s += "\n   "
	switch {
	case call.Error != "":
		s += "✗ " + string(call.Error)
	case call.Layer != "" || call.Summarized:
		s += cutText(p, cutCounts{call.Produced, cmp.Or(call.Read, call.Shown), call.Layer, call.Limit, call.Unit, call.Summarized})
	default:
		s += p.Sprintf("%s characters", term.Grouped(call.Produced))
	}
	s += " · " + term.Milliseconds(call.ElapsedMS)
	if call.Format != "" {
		s += " · " + call.Format
	}
	if call.LoadedUUID != "" {
		s += p.Sprintf(" · loaded ") + call.LoadedUUID
	}
	if call.FoundRank > 0 {
		s += p.Sprintf(" · found at place %d", call.FoundRank)
	}
	switch {
	case len(call.Found) > 0:
		s += "\n   " + p.Sprintf("found: %s", term.Visible(strings.Join(call.Found, ", "), 300))
	case call.Tool == tool.FindTools && call.Error == "":
		s += "\n   " + p.Sprintf("found: no tool")
	}
	if len(call.Refused) > 0 {
		s += "\n   " + p.Sprintf("refused: %s", term.Visible(strings.Join(call.Refused, ", "), 300))
	}
	if call.KeptUUID != "" {
		s += "\n   📎 weir archive show " + call.KeptUUID
	}
	for i, c := range call.Calls {
		branch := "├"
		if i == len(call.Calls)-1 {
			branch = "└"
		}
		outcome := p.Sprintf("%s characters", term.Grouped(c.Produced))
		if c.Code != "" {
			outcome = "✗ " + c.Code
		}
		s += fmt.Sprintf("\n   %s %s  %s · %s  %s", branch, term.Visible(c.Tool, 80), outcome, term.Milliseconds(c.ElapsedMS), c.UUID)
	}
	return s
}
