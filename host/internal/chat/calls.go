package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// call shows the events of tool calls.
func (t *Turn) call(name string, data json.RawMessage) {
	switch name {
	case "tool_call.start":
		var e api.ToolCallStart
		if json.Unmarshal(data, &e) != nil {
			return
		}
		if t.spinner == nil {
			t.note("→ " + callText(e))
			return
		}
		t.calls[e.ID] = e
		t.endLine()
		t.running(e)
	case "tool_call.progress":
		var e api.ToolCallProgress
		if json.Unmarshal(data, &e) == nil {
			t.progress(term.Visible(e.Tool, 80) + " " + progressText(e))
		}
	case "tool_call.result":
		var e api.ToolCallResult
		if json.Unmarshal(data, &e) == nil {
			t.result(e)
		}
	case "tool_call.malformed":
		var e api.ToolCallMalformed
		if json.Unmarshal(data, &e) == nil {
			what := t.Sprintf("a call could not be read: %s", e.Reason) + " " + term.Visible(e.Tool, 80)
			if e.Reason == string(parse.ReasonUnknownTool) {
				what = t.Sprintf("%s cannot be called; `weir plugin list` says why", term.Visible(e.Tool, 80))
			}
			t.note("✗ " + what)
			t.waiting()
		}
	}
}

// callText is the tool of a call and its arguments.
func callText(e api.ToolCallStart) string {
	return term.Visible(e.Tool, 80) + " " + term.Visible(string(e.Args), 100)
}

// result shows the outcome of a call.
func (t *Turn) result(e api.ToolCallResult) {
	if e.KeptUUID != "" {
		t.archived = append(t.archived, e.KeptUUID)
	}
	if t.spinner == nil && t.Locale() == tool.En { // the line has one language
		t.note("← " + limit.Visible(e.Line))
	} else {
		start := t.calls[e.ID]
		delete(t.calls, e.ID)
		t.note(callLine(t.Printer, start, e, t.interactive))
	}
	if a := e.Approval; a != nil && !a.Allowed && a.By == "nobody" && e.Error != nil {
		t.note("  " + limit.Visible(e.Error.Msg) + t.Sprintf("\n  to allow it, ask in a terminal or on the page, or write in tools.toml:\n%s",
			fmt.Sprintf("    [[approvals.rule]]\n    tool   = %q\n    action = \"allow\"", term.Visible(e.Tool, 80))))
	}
	t.waiting()
}

// progressText returns how far a call is.
func progressText(e api.ToolCallProgress) string {
	s := term.Grouped(e.Done)
	if e.Total > 0 {
		s += "/" + term.Grouped(e.Total)
	}
	return strings.TrimSpace(s + " " + term.Visible(e.Message, 200))
}

// callLine returns one line for a finished call: its arguments, the size of its
// result, the limit that cut it, and how to read the whole result.
func callLine(p *term.Printer, start api.ToolCallStart, e api.ToolCallResult, interactive bool) string {
	parts := []string{term.Visible(e.Tool, 80)}
	if args := string(start.Args); args != "" && args != "{}" {
		parts[0] += " " + p.Faint(term.Visible(args, 60))
	}
	mark := "● "
	switch {
	case e.Error != nil:
		mark = "✗ "
		parts = append(parts, string(e.Error.Code)+": "+term.Visible(e.Error.Msg, 160))
	case e.Layer != "" || e.Summarized:
		parts = append(parts, cutText(p, cutCounts{e.Produced, cmp.Or(e.Read, e.Shown), e.Layer, e.Limit, e.Unit, e.Summarized}))
	default:
		parts = append(parts, p.Sprintf("%s characters", term.Grouped(e.Produced)))
	}
	if e.Unkept {
		parts = append(parts, p.Sprintf("not archived"))
	}
	if e.Incomplete {
		parts = append(parts, p.Sprintf("only the first %s kept", tool.Bytes(tool.MaxWhole)))
	}
	parts = append(parts, p.Faint(term.Milliseconds(e.ElapsedMS)))
	if e.KeptUUID != "" && (e.Layer != "" || e.Summarized) {
		if interactive {
			parts = append(parts, "/show "+term.ShortID(e.KeptUUID))
		} else {
			parts = append(parts, "weir archive show "+e.KeptUUID)
		}
	}
	line := mark + strings.Join(parts, " · ")
	for i, f := range e.Parts {
		line += "\n  " + fileText(p, e.KeptUUID, i, f)
	}
	return line
}

// fileText names a picture or another file of a result, with the command that saves it.
func fileText(p *term.Printer, uuid string, n int, f tool.Part) string {
	name, number := f.Name, ""
	if n > 0 {
		number = fmt.Sprintf(" --part %d", n)
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
	}
	if name == "" || len(name) > 60 || strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) >= 0 || name[0] == '-' || name[0] == '.' {
		name = "FILE" // what a shell would read otherwise is not proposed
	}
	return p.Sprintf("%s, %s bytes: weir archive show %s%s --output %s", term.Visible(f.MIME, 60), term.Grouped(f.Bytes), uuid, number, name)
}

// cutCounts are how much a model reads of a result, and the limit that decided.
type cutCounts struct {
	produced, read int // characters
	by             tool.Layer
	limit          int
	unit           tool.Unit
	summarized     bool
}

// cutText describes a cut.
func cutText(p *term.Printer, c cutCounts) string {
	numbers := term.Grouped(c.produced) + " → " + term.Grouped(c.read)
	switch {
	case c.summarized:
		return p.Sprintf("%s characters, a summary by a model", numbers)
	case c.limit <= 0:
		return p.Sprintf("%s characters (%s)", numbers, limit.LayerName(c.by, p.Locale()))
	}
	return p.Sprintf("%s characters (%s)", numbers, limit.Name(c.by, c.limit, c.unit, p.Locale()))
}

// thought shows a part of the model's reasoning, or how long it is.
func (t *Turn) thought(s string) {
	if t.JSON {
		return
	}
	if t.thinking.IsZero() {
		t.thinking = time.Now()
		t.thoughts.Reset()
		t.endLine()
	}
	t.thoughts.WriteString(s)
	switch {
	case t.Think && !t.Quiet:
		t.clear()
		fmt.Fprint(t.Err, t.Faint(term.Calm(s)))
	default:
		t.progress(t.Sprintf("thinking, %s characters", t.thoughtSize()))
	}
}

func (t *Turn) thoughtSize() string { return term.Grouped(len([]rune(t.thoughts.String()))) }

// endThought replaces the reasoning by one line.
func (t *Turn) endThought() {
	if t.thinking.IsZero() {
		return
	}
	took := term.Milliseconds(time.Since(t.thinking).Milliseconds())
	t.thinking = time.Time{}
	switch {
	case t.Quiet:
	case t.Think:
		fmt.Fprintln(t.Err)
	case t.spinner != nil:
		s := t.Sprintf("∴ thought for %s, %s characters", took, t.thoughtSize())
		if t.interactive {
			s += t.Sprintf(" · /think shows it")
		}
		t.note(t.Faint(s))
	}
}
