// Package prompt writes everything that the agent says to a model: the system
// prompt with the tools (prompt.go, schema.go), the placeholders of archived
// results (placeholder.go) and the sentences of a turn (texts.go), in English and
// Chinese. It does not know what a turn is: the same input gives the same bytes, so
// that a provider's prompt cache holds. Cache stores what was written for one list
// of tools.
//
// # Files
//
//   - texts: every sentence
//   - prompt: the system prompt
//   - schema: arguments of a tool
//   - find: the search of tools
//   - placeholder: placeholders
//   - results: the results of a round
//   - client: the tools of a client with a loop of its own
//   - script: declarations for scripts
//   - question: a question as an argument
//   - json, locale: calls as text, the language
//   - cache: what is written once
package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent/internal/recall"
	"github.com/weirhost/weir/agent/internal/tokens"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// DescribeTool is the agent's own tool: it tells the arguments of tools that
// the system prompt has no room for.
const DescribeTool = tool.DescribeTool

// LoadTool is the tool whose placeholder rules the prompt explains.
const LoadTool = tool.LoadHistory

// examplesShare is the part of the tools' budget that examples may take.
const examplesShare = 4

// A System is the text every request of a turn begins with.
type System struct {
	Text  string
	Chars int
	Raw   float64 // uncalibrated tokens
	// Describes says that describe_tool is offered: it tells more of a tool than the text.
	Describes bool
	chosen    bool // which tools are told whole depends on the first question
	// Declared are the tools that a provider is given where the others are searched for,
	// in either mode; nil: all.
	Declared []tool.Spec
	// Written is how each tool is in the text; empty in native mode.
	Written []ToolEntry
}

// A ToolEntry is a tool as it is in a system prompt.
type ToolEntry struct {
	Name, Text string
	Brief      bool // with one line
}

// Input is what a system prompt depends on. The same input always gives
// the same bytes, so that a provider's prompt cache holds over turns.
type Input struct {
	Locale tool.Locale
	Native bool // by the provider's own tool calling
	Tools  []tool.Spec
	texts  *toolTexts // of tools, where they are written already; nil: they are not
	// Budget bounds the tools' part, in characters; negative: no bound.
	Budget int
	// Finding says how tools are found that there is no room for; nil: they are not.
	Finding *Finding
	// First is the first question of the conversation: it decides which tools
	// are shown whole when not all can be.
	First string
	Extra string
	// Across says that results of the user's earlier conversations can be read.
	Across bool
	// Json asks for an answer that is one JSON object, schema for its JSON Schema;
	// nil: any object.
	Json   bool
	Schema json.RawMessage
	Today  time.Time
}

func New(in Input) System {
	w := For(in.Locale)
	parts := []string{w.intro}
	var list toolList
	switch {
	case len(in.Tools) == 0:
	case in.Native:
		parts = append(parts, w.introTools, w.nativeRules)
		if in.Finding != nil && in.Budget >= 0 {
			if t := in.written(); searches(in, t) {
				list = listFound(in, t)
				parts = append(parts, list.text)
			}
		}
	default:
		list = listTools(in)
		parts = append(parts, w.introTools, w.callForm+"\n"+w.callRules, list.text, w.plainHead+"\n"+w.plainExample)
	}
	if !in.Json && slices.ContainsFunc(in.Tools, func(s tool.Spec) bool { return s.Hints.Network }) {
		parts = append(parts, w.citeRules)
	}
	if HasTool(in.Tools, tool.RunScript) {
		if part := scriptPart(in, list.declared != nil); part != "" {
			parts = append(parts, part)
		}
	}
	if HasTool(in.Tools, LoadTool) {
		rules := w.archiveRules
		if in.Across {
			rules += w.acrossRules
		}
		parts = append(parts, rules)
	}
	if in.Extra != "" {
		parts = append(parts, in.Extra)
	}
	if in.Json {
		parts = append(parts, formatRule(in.Schema, w))
	}
	// The date is last: when it changes, what is in front of it stays cached.
	parts = append(parts, fmt.Sprintf(w.date, in.Today.Format(time.DateOnly), w.weekdays[in.Today.Weekday()]))
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	text := strings.Join(parts, "\n\n")
	describes := list.shrunk || list.declared == nil && slices.ContainsFunc(in.Tools, saysMore)
	return System{text, RuneCount(text), tokens.Count(text), describes, list.shrunk, list.declared, list.tools}
}

func HasTool(specs []tool.Spec, name string) bool {
	return slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == name })
}

// A toolList is the tools' part of a system prompt.
type toolList struct {
	text     string
	shrunk   bool
	declared []tool.Spec // what the prompt describes, where the others are searched for
	tools    []ToolEntry
}

// toolTexts are tools as they can be in a prompt, in one language.
type toolTexts struct {
	whole, line           []string // all that is shown of each, and its purpose alone
	wholeChars, lineChars []int
	about                 []string // what a question is held against
}

// written returns the tools' texts.
func (in Input) written() *toolTexts {
	if in.texts != nil {
		return in.texts
	}
	return writeTools(in)
}

// writeTools writes each tool of in, with examples as far as their share of the
// budget goes.
func writeTools(in Input) *toolTexts {
	t := &toolTexts{}
	examples := in.Budget / examplesShare
	if in.Budget < 0 {
		examples = -1
	}
	for _, s := range in.Tools {
		whole, line := writeTool(s, in.Locale, &examples, false), oneToolLine(s, in.Locale)
		t.whole, t.wholeChars = append(t.whole, whole), append(t.wholeChars, RuneCount(whole))
		t.line, t.lineChars = append(t.line, line), append(t.lineChars, RuneCount(line))
		t.about = append(t.about, strings.ToLower(s.Name+" "+s.Description+" "+s.DescriptionZh))
	}
	return t
}

// listTools writes the tools' part: each whole if the budget allows, or else
// as many whole as fit, those first that the conversation's first question
// speaks of, and the rest with one line each.
func listTools(in Input) toolList {
	t := in.written()
	if searches(in, t) {
		return listFound(in, t)
	}
	tools := make([]ToolEntry, len(in.Tools))
	sum := 0
	for i, s := range in.Tools {
		tools[i] = ToolEntry{Name: s.Name, Text: t.whole[i]}
		sum += t.wholeChars[i] + 1
	}
	w, none := For(in.Locale), 0
	describer := writeTool(DescribeSpec(), in.Locale, &none, false)
	if in.Budget < 0 || sum <= in.Budget {
		whole := t.whole
		if slices.ContainsFunc(in.Tools, saysMore) && !HasTool(in.Tools, DescribeTool) {
			whole, tools = append(slices.Clip(whole), describer), append(tools, ToolEntry{Name: DescribeTool, Text: describer})
		}
		return toolList{text: w.toolsHead + "\n" + strings.Join(whole, "\n"), tools: tools}
	}
	shown := chooseWhole(in, t)
	var full, short []string
	for i := range in.Tools {
		if shown[i] {
			full = append(full, t.whole[i])
		} else {
			tools[i].Text, tools[i].Brief = t.line[i], true
			short = append(short, t.line[i])
		}
	}
	full, tools = append(full, describer), append(tools, ToolEntry{Name: DescribeTool, Text: describer})
	return toolList{text: w.toolsHead + "\n" + strings.Join(full, "\n") + "\n" + w.moreHead + "\n" + w.moreRule + strings.Join(short, ""), shrunk: true, tools: tools}
}

// chooseWhole says which tools are shown whole under the budget.
func chooseWhole(in Input, t *toolTexts) []bool {
	left := in.Budget
	order, scores := make([]int, len(in.Tools)), make([]int, len(in.Tools))
	terms := recall.Terms(in.First)
	for i, s := range in.Tools {
		order[i], scores[i] = i, relevance(s.Name, t.about[i], terms)
		if in.Finding != nil && slices.Contains(in.Finding.Pinned, s.Name) {
			scores[i] += pinnedScore
		}
		left -= t.lineChars[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	shown := make([]bool, len(in.Tools))
	for _, i := range order {
		if more := t.wholeChars[i] - t.lineChars[i]; more <= left {
			shown[i] = true
			left -= more
		}
	}
	return shown
}

// pinnedScore is over that of any question's words.
const pinnedScore = 1 << 16

// relevance counts how many words, or pairs of Chinese characters, of a
// question are in the description of a tool. The placeholder's own tool is
// always relevant.
func relevance(name, about string, terms []string) int {
	if name == LoadTool {
		return 1 << 20
	}
	n := 0
	for _, word := range terms {
		if strings.Contains(about, word) {
			n++
		}
	}
	return n
}

// oneToolLine is a tool of which only the purpose is shown.
func oneToolLine(s tool.Spec, l tool.Locale) string {
	about := []rune(Clean(s.Describe(l)))
	if len(about) > 120 {
		about = append(about[:119], '…')
	}
	return "- " + s.Name + ": " + string(about) + "\n"
}

// ToolText is all that a model can be told of a tool: what describe_tool answers, without
// the instructions of its server.
func ToolText(s tool.Spec, l tool.Locale) string {
	all := -1
	return writeTool(s, l, &all, true)
}

// PromptText is how a system prompt tells a model of a tool, with all its examples. A
// provider's own tool calling is given the schema in place of it.
func PromptText(s tool.Spec, l tool.Locale) string {
	all := -1
	return writeTool(s, l, &all, false)
}

// writeTool writes a tool with its arguments and as many of its examples as
// *budget characters allow; negative: all. whole says that no text is shortened, and that
// texts keep their lines.
func writeTool(s tool.Spec, l tool.Locale, budget *int, whole bool) string {
	w := For(l)
	show := func(text string) string { return brief(Clean(text), w.shortened) }
	if whole {
		show = func(text string) string { return limit.Neutralise(strings.TrimSpace(text)) }
	}
	var b strings.Builder
	b.WriteString(WholeMark(s.Name))
	if name := s.Remote.Name(); whole && name != "" && name != s.Describe(l) {
		b.WriteString(Clean(name) + "\n")
	}
	b.WriteString(show(s.Describe(l)) + "\n")
	ps := params(s.Parameters(l), l)
	if len(ps) == 0 {
		b.WriteString(w.noArguments + "\n")
	} else {
		b.WriteString(w.arguments + "\n")
	}
	for _, p := range ps {
		fmt.Fprintf(&b, "- %s: %s", Clean(p.name), Clean(p.kind))
		if p.required {
			b.WriteString(", " + w.required)
		}
		if p.about != "" {
			b.WriteString(". " + show(p.about))
		}
		b.WriteByte('\n')
	}
	for _, e := range s.Examples {
		text := exampleText(s.Name, e, l)
		n := RuneCount(text)
		if *budget >= 0 && n > *budget {
			break
		}
		if *budget >= 0 {
			*budget -= n
		}
		b.WriteString(text)
	}
	return b.String()
}

// exampleText shows one question and the call that answers it.
func exampleText(name string, e tool.Example, l tool.Locale) string {
	ask, args := e.In(l)
	call := tool.Call{ID: "call_001", Tool: name, Args: json.RawMessage(limit.Neutralise(compact(args)))}
	return For(l).example + Quote(Clean(ask)) + "\n" + CallText(call) + "\n"
}

// Clean makes text of a plugin's author safe to are in the prompt: one line
// that reads as no call, role, placeholder or notice.
func Clean(s string) string { return limit.Neutralise(OneLine(s)) }

// DescribeSpec is the agent's own tool.
func DescribeSpec() tool.Spec {
	return tool.Spec{
		Name:          DescribeTool,
		Description:   "Tells everything about a tool: its purpose, arguments and examples.",
		DescriptionZh: "查看一个工具的全部说明：用途、参数和示例。",
		Params:        json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"the tool's name"}},"required":["name"]}`),
		ParamsZh:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"工具名称"}},"required":["name"]}`),
		Hints:         tool.Hints{ReadOnly: true, Idempotent: true},
	}
}

// Describe answers a call of describe_tool.
func Describe(c tool.Call, specs []tool.Spec, l tool.Locale) tool.Result {
	res := tool.Result{CallID: c.ID, Tool: c.Tool}
	var args struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(c.Args, &args) // an unreadable argument names no tool
	name, several := tool.Named(args.Name, specs)
	for _, s := range specs {
		if s.Name == name && s.Name != DescribeTool {
			text := ToolText(s, l)
			if r := s.Remote; r != nil && r.Instructions != "" {
				text += fmt.Sprintf(For(l).instructions, Clean(r.Server)) + "\n" + limit.Neutralise(strings.TrimSpace(r.Instructions)) + "\n"
			}
			chars, lines := limit.Count(text)
			res.Shown = tool.View{Text: text, TotalChars: chars, TotalLines: lines}
			return res
		}
	}
	res.Err = tool.Errorf(tool.BadArgs, "use a name from the list of tools", "there is no tool named %q", args.Name)
	if len(several) > 0 {
		res.Err = tool.NewError(tool.BadArgs, tool.Textf("there is no tool named %q", args.Name), tool.Textf("did you mean one of these: %s", strings.Join(several, ", ")))
	}
	return res
}

// formatRule tells the model that its answer has to be JSON.
func formatRule(schema json.RawMessage, w *Texts) string {
	if len(schema) == 0 {
		return w.jsonAnswer
	}
	return w.jsonAnswer + "\n" + w.jsonSchema + "\n" + limit.Neutralise(compact(schema))
}
