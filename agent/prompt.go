package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// describeTool is the agent's own tool: it tells the arguments of tools that
// the system prompt has no room for.
const describeTool = tool.DescribeTool

// loadTool is the tool whose placeholder rules the prompt explains.
const loadTool = tool.LoadHistory

// examplesShare is the part of the tools' budget that examples may take.
const examplesShare = 4

// A systemPrompt is the text every request of a turn begins with.
type systemPrompt struct {
	text  string
	chars int
	raw   float64 // uncalibrated tokens
	// describes says that tools are shrunk and describe_tool is offered.
	describes bool
	// written is how each tool stands in the text; empty in native mode.
	written []writtenTool
}

// A writtenTool is a tool as it stands in a system prompt.
type writtenTool struct {
	name, text string
	brief      bool // with one line
}

// promptInput is what a system prompt depends on. The same input always gives
// the same bytes, so that a provider's prompt cache holds over turns.
type promptInput struct {
	locale tool.Locale
	mode   Mode
	tools  []tool.Spec
	texts  *toolTexts // of tools, where they are written already; nil: they are not
	// budget bounds the tools' part, in characters; negative: no bound.
	budget int
	// first is the first question of the conversation: it decides which tools
	// are shown whole when not all can be.
	first string
	extra string
	// format is what the answer has to be; nil: text.
	format *Format
	today  time.Time
}

func newSystemPrompt(in promptInput) systemPrompt {
	w := words(in.locale)
	parts := []string{w.intro}
	var list toolList
	switch {
	case len(in.tools) == 0:
	case in.mode == ModeNative:
		parts = append(parts, w.introTools, w.nativeRules)
	default:
		list = listTools(in)
		parts = append(parts, w.introTools, w.callForm+"\n"+w.callRules, list.text, w.plainHead+"\n"+w.plainExample)
	}
	if hasTool(in.tools, loadTool) {
		parts = append(parts, w.archiveRules)
	}
	if in.extra != "" {
		parts = append(parts, in.extra)
	}
	if in.format != nil {
		parts = append(parts, formatRule(*in.format, w))
	}
	// The date stands last: when it changes, what is in front of it stays cached.
	parts = append(parts, fmt.Sprintf(w.date, in.today.Format(time.DateOnly), w.weekdays[in.today.Weekday()]))
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	text := strings.Join(parts, "\n\n")
	return systemPrompt{text, runeCount(text), rawTokens(text), list.shrunk, list.tools}
}

func hasTool(specs []tool.Spec, name string) bool {
	return slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == name })
}

// A toolList is the tools' part of a system prompt.
type toolList struct {
	text   string
	shrunk bool
	tools  []writtenTool
}

// toolTexts are tools as they can stand in a prompt, in one language.
type toolTexts struct {
	whole, line           []string // all that is shown of each, and its purpose alone
	wholeChars, lineChars []int
	about                 []string // what a question is held against
}

// writeTools writes each tool of in, with examples as far as their share of the
// budget goes.
func writeTools(in promptInput) *toolTexts {
	t := &toolTexts{}
	examples := in.budget / examplesShare
	if in.budget < 0 {
		examples = -1
	}
	for _, s := range in.tools {
		whole, line := describe(s, in.locale, &examples), oneToolLine(s, in.locale)
		t.whole, t.wholeChars = append(t.whole, whole), append(t.wholeChars, runeCount(whole))
		t.line, t.lineChars = append(t.line, line), append(t.lineChars, runeCount(line))
		t.about = append(t.about, strings.ToLower(s.Name+" "+s.Description+" "+s.DescriptionZh))
	}
	return t
}

// listTools writes the tools' part: each whole if the budget allows, or else
// as many whole as fit, those first that the conversation's first question
// speaks of, and the rest with one line each.
func listTools(in promptInput) toolList {
	t := in.texts
	if t == nil {
		t = writeTools(in)
	}
	tools := make([]writtenTool, len(in.tools))
	sum := 0
	for i, s := range in.tools {
		tools[i] = writtenTool{name: s.Name, text: t.whole[i]}
		sum += t.wholeChars[i] + 1
	}
	w := words(in.locale)
	if in.budget < 0 || sum <= in.budget {
		return toolList{w.toolsHead + "\n" + strings.Join(t.whole, "\n"), false, tools}
	}
	shown := chooseWhole(in, t)
	var full, short []string
	for i := range in.tools {
		if shown[i] {
			full = append(full, t.whole[i])
		} else {
			tools[i].text, tools[i].brief = t.line[i], true
			short = append(short, t.line[i])
		}
	}
	none := 0
	describer := describe(describeSpec(), in.locale, &none)
	full, tools = append(full, describer), append(tools, writtenTool{name: describeTool, text: describer})
	return toolList{w.toolsHead + "\n" + strings.Join(full, "\n") + "\n" + w.moreHead + "\n" + w.moreRule + strings.Join(short, ""), true, tools}
}

// chooseWhole says which tools are shown whole under the budget.
func chooseWhole(in promptInput, t *toolTexts) []bool {
	left := in.budget
	order, scores := make([]int, len(in.tools)), make([]int, len(in.tools))
	terms := searchTerms(in.first)
	for i, s := range in.tools {
		order[i], scores[i] = i, relevance(s.Name, t.about[i], terms)
		left -= t.lineChars[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	shown := make([]bool, len(in.tools))
	for _, i := range order {
		if more := t.wholeChars[i] - t.lineChars[i]; more <= left {
			shown[i] = true
			left -= more
		}
	}
	return shown
}

// relevance counts how many words, or pairs of Chinese characters, of a
// question stand in what is told about a tool. The placeholder's own tool is
// always relevant.
func relevance(name, about string, terms []string) int {
	if name == loadTool {
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

// searchTerms splits a question into lower-case words of three letters or more
// and pairs of neighbouring characters of scripts without spaces.
func searchTerms(question string) []string {
	var out []string
	var word []rune
	var before rune
	flush := func() {
		if len(word) > 2 {
			out = append(out, string(word))
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(question) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			word = append(word, r)
		case r >= 0x3040 && r <= 0xD7AF:
			flush()
			if before >= 0x3040 && before <= 0xD7AF {
				out = append(out, string([]rune{before, r}))
			}
		default:
			flush()
		}
		before = r
	}
	flush()
	return out
}

// oneToolLine is a tool of which only the purpose is shown.
func oneToolLine(s tool.Spec, l tool.Locale) string {
	about := []rune(clean(s.Describe(l)))
	if len(about) > 120 {
		about = append(about[:119], '…')
	}
	return "- " + s.Name + ": " + string(about) + "\n"
}

// ToolText is how a system prompt tells a model of a tool, with all its examples.
// A provider's own tool calling is given the schema in place of it.
func ToolText(s tool.Spec, l tool.Locale) string {
	all := -1
	return describe(s, l, &all)
}

// describe writes a tool with its arguments and as many of its examples as
// *budget characters allow; negative: all.
func describe(s tool.Spec, l tool.Locale, budget *int) string {
	w := words(l)
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n%s\n", s.Name, clean(s.Describe(l)))
	ps := params(s.Params, l)
	if len(ps) == 0 {
		b.WriteString(w.noArguments + "\n")
	} else {
		b.WriteString(w.arguments + "\n")
	}
	for _, p := range ps {
		fmt.Fprintf(&b, "- %s: %s", clean(p.name), clean(p.kind))
		if p.required {
			b.WriteString(", " + w.required)
		}
		if p.about != "" {
			b.WriteString(". " + clean(p.about))
		}
		b.WriteByte('\n')
	}
	for _, e := range s.Examples {
		text := exampleText(s.Name, e, l)
		n := runeCount(text)
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
	ask := e.Ask
	if l == tool.Zh && e.AskZh != "" {
		ask = e.AskZh
	}
	call := tool.Call{ID: "call_001", Tool: name, Args: json.RawMessage(limit.Neutralise(compact(e.Args)))}
	return words(l).example + quote(clean(ask)) + "\n" + callText(call) + "\n"
}

// clean makes text of a plugin's author safe to stand in the prompt: one line
// that reads as no call, role, placeholder or notice.
func clean(s string) string { return limit.Neutralise(oneLine(s)) }

// describeSpec is the agent's own tool.
func describeSpec() tool.Spec {
	return tool.Spec{
		Name:          describeTool,
		Description:   "Tells the arguments of a tool that is listed with its purpose only.",
		DescriptionZh: "查看只列出用途的工具有哪些参数。",
		Params:        json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"the tool's name"}},"required":["name"]}`),
		Hints:         tool.Hints{ReadOnly: true, Idempotent: true},
	}
}

// runDescribe answers a call of describe_tool.
func runDescribe(c tool.Call, specs []tool.Spec, l tool.Locale) tool.Result {
	res := tool.Result{CallID: c.ID, Tool: c.Tool}
	var args struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(c.Args, &args) // an unreadable argument names no tool
	for _, s := range specs {
		if s.Name == args.Name && s.Name != describeTool {
			all := -1
			text := describe(s, l, &all)
			chars, lines := limit.Count(text)
			res.Shown = tool.View{Text: text, TotalChars: chars, TotalLines: lines}
			return res
		}
	}
	res.Err = tool.Errorf(tool.BadArgs, "use a name from the list of tools", "there is no tool named %q", args.Name)
	return res
}
