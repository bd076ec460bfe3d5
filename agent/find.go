package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// How many tools a note with a question tells: those that it is about, more if it names
// more, and those that the conversation used most.
const (
	maxFitting = 5
	maxUsed    = 3
)

// A finding is how a turn's tools are found. The zero finding: they are all told.
type finding struct {
	in   Finder
	told map[string]bool // the tools that the prompt tells, or a provider is given
}

// finder returns the toolbox's Finder; nil: it has none, or a tool of its own has the
// name of one that a search needs.
func (s *setup) finder() Finder {
	f, ok := s.box.(Finder)
	if !ok || slices.ContainsFunc([]string{prompt.FindTool, prompt.DescribeTool, prompt.CallTool}, func(own string) bool { return prompt.HasTool(s.prompt.Tools, own) }) {
		return nil
	}
	return f
}

// searches reports whether the tools are more than the prompt has room for.
func (s *setup) searches() bool { return s.finding.in != nil }

// isDeclared reports whether the prompt tells a tool, or a provider is given it.
func (s *setup) isDeclared(name string) bool { return s.finding.told[name] }

// declared returns isDeclared for rendering; nil: every tool is.
func (s *setup) declared() func(name string) bool {
	if !s.searches() {
		return nil
	}
	return s.isDeclared
}

// offered returns the descriptions of those of the named tools that this turn offers.
func (s *setup) offered(names []string) []tool.Spec {
	var out []tool.Spec
	for _, name := range names {
		if i := slices.IndexFunc(s.specs, func(t tool.Spec) bool { return t.Name == name }); i >= 0 {
			out = append(out, s.specs[i])
		}
	}
	return out
}

// findTools answers a call of find_tools.
func (r *run) findTools(ctx context.Context, c tool.Call) (tool.Result, *ToolsFound) {
	query, count, ok := prompt.FindArgs(c)
	if !ok {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: &tool.Error{Code: tool.BadArgs, Msg: prompt.For(r.locale).BadFind}}, nil
	}
	specs := r.offered(r.finding.in.FindTools(ctx, query, count))
	return prompt.Found(c, specs, r.mode == ModeNative, r.locale), &ToolsFound{CallID: c.ID, Query: query, Names: namesOf(specs)}
}

func namesOf(specs []tool.Spec) []string {
	out := make([]string, len(specs))
	for i, s := range specs {
		out[i] = s.Name
	}
	return out
}

// noteTools describes to the model, with the question, the tools that it names and those
// that the conversation used most, whole, and those that it is about, on a line each,
// unless the messages have them. The
// system prompt and the tools that a provider is given do not change for that.
func (r *run) noteTools() {
	if !r.searches() {
		return
	}
	question := r.msgs[r.memory.question].Text
	fitting := r.offered(r.finding.in.FindTools(r.ctx, question, prompt.MostFound))
	pinned, others := []tool.Spec{}, []tool.Spec{}
	for _, s := range fitting {
		if strings.Contains(question, s.Name) {
			pinned = append(pinned, s)
		} else {
			others = append(others, s)
		}
	}
	others = others[:min(len(others), max(maxFitting-len(pinned), 0))]
	r.emit(ToolsFound{Query: question, Names: namesOf(slices.Concat(pinned, others))})
	for _, s := range r.offered(r.mostUsed()) {
		if !prompt.HasTool(pinned, s.Name) {
			pinned = append(pinned, s)
		}
	}
	known := func(s tool.Spec) bool { return r.isDeclared(s.Name) || r.isTold(s.Name) }
	pinned = slices.DeleteFunc(pinned, known)
	others = slices.DeleteFunc(others, func(s tool.Spec) bool { return known(s) || prompt.HasTool(pinned, s.Name) })
	if len(pinned)+len(others) == 0 {
		return
	}
	r.add(note(prompt.FoundNote(pinned, others, r.prompt.Budget, r.mode == ModeNative, r.locale), r.turn, r.locale))
}

// mostUsed returns the names of the tools that the conversation called most.
func (r *run) mostUsed() []string {
	counts := map[string]int{}
	for _, m := range r.msgs[:r.memory.question] {
		for _, c := range m.Calls {
			counts[c.Tool]++
		}
	}
	names := slices.Collect(maps.Keys(counts))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), maxUsed)]
}

// isTold reports whether a message that is sent tells a tool's arguments.
func (r *run) isTold(name string) bool {
	mark := prompt.SignatureMark(name)
	for _, m := range r.msgs[r.memory.first:] {
		if m.Role == RoleNote && (strings.Contains(m.Text, mark) || strings.Contains(m.Text, prompt.WholeMark(name))) {
			return true
		}
		for _, e := range m.Results {
			if e.Tool == prompt.FindTool && !e.Folded && strings.Contains(e.Text, mark) {
				return true
			}
		}
	}
	return false
}

// unwrap returns the call that a call of call_tool asks for, and what is wrong with it.
// From here on it is a call of that tool like any other: it is held against quotations,
// limited, approved, counted and logged under the tool's own name.
func (r *run) unwrap(name string, args []byte) (tool.Call, *tool.Error) {
	c := tool.Call{Tool: name, Args: args}
	if name != prompt.CallTool || !r.searches() {
		return c, nil
	}
	inner, ok := c.Target()
	if name, _ := tool.Named(inner.Tool, r.specs); name != "" {
		inner.Tool = name
	}
	switch {
	case !ok:
		return c, &tool.Error{Code: tool.BadArgs, Msg: prompt.For(r.locale).BadCallTool}
	case inner.Tool == prompt.CallTool || !prompt.HasTool(r.specs, inner.Tool):
		m := parse.Malformed{Reason: parse.ReasonUnknownTool, Name: inner.Tool, Format: formatNative}
		return c, &tool.Error{Code: tool.UnknownTool, Msg: r.correction(m)}
	}
	return inner, nil
}
