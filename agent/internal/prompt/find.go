package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The agent's own tools where a list of tools is too long for the prompt.
const (
	FindTool = tool.FindTools
	CallTool = tool.CallTool
)

// linesShare is the part of the tools' budget that one line for each tool may fill.
// Of longer lists the prompt has the sources alone.
const linesShare = 4

// The bounds of a found tool's line, and of the table of sources, in characters.
const (
	maxKind       = 60
	maxSignature  = 280
	maxPurpose    = 120
	maxTable      = 1360
	maxSourceName = 40
)

// DefaultFound is how many tools find_tools returns, MostFound how many at most.
const DefaultFound, MostFound = 5, 20

// A Finding is how the tools of a list are found.
type Finding struct {
	// Pinned are the tools that a prompt describes whole, as far as there is room.
	Pinned []string
	// Source returns where a tool comes from; one that comes from nowhere cannot be
	// found, and is always told.
	Source func(name string) string
}

// key is equal for two Findings that tell the same of tools.
func (f *Finding) key(tools []tool.Spec) string {
	if f == nil {
		return ""
	}
	var b strings.Builder
	for _, name := range f.Pinned {
		b.WriteString(name + "\x00")
	}
	for _, s := range tools {
		b.WriteString("\x00" + f.Source(s.Name))
	}
	return b.String()
}

// searches reports whether a prompt has the sources of the tools alone.
func searches(in Input, t *toolTexts) bool {
	if in.Finding == nil || in.Budget < 0 {
		return false
	}
	whole, lines := 0, 0
	for i := range in.Tools {
		whole += t.wholeChars[i] + 1
		lines += t.lineChars[i]
	}
	return whole > in.Budget && (in.Native || lines > in.Budget/linesShare)
}

// A selection is what a prompt says about tools that are searched for.
type selection struct {
	whole, line []int // places of in.Tools
	sources     string
}

// choose selects by the configuration and the tools alone, never by a question: the
// beginning of every request stays the same over a conversation, and over all of them.
func choose(in Input, t *toolTexts) selection {
	var out selection
	left := in.Budget
	var rest []tool.Spec
	take := func(i int, must bool) {
		switch {
		case t.wholeChars[i] <= left || must && in.Native:
			left -= t.wholeChars[i]
			out.whole = append(out.whole, i)
		case must:
			out.line = append(out.line, i)
		default:
			rest = append(rest, in.Tools[i])
		}
	}
	must := make([]bool, len(in.Tools))
	for i, s := range in.Tools {
		if must[i] = in.Finding.Source(s.Name) == ""; must[i] {
			take(i, true)
		}
	}
	for i, s := range in.Tools {
		switch {
		case must[i]:
		case slices.Contains(in.Finding.Pinned, s.Name):
			take(i, false)
		default:
			rest = append(rest, s)
		}
	}
	slices.Sort(out.whole)
	out.sources = Sources(rest, in.Finding.Source, in.Locale)
	return out
}

// listFound writes the tools' part of a prompt whose tools are searched for.
func listFound(in Input, t *toolTexts) toolList {
	sel, w := choose(in, t), For(in.Locale)
	list := toolList{}
	var full, short []string
	for _, i := range sel.whole {
		full = append(full, t.whole[i])
		list.tools = append(list.tools, ToolEntry{Name: in.Tools[i].Name, Text: t.whole[i]})
		list.declared = append(list.declared, in.Tools[i])
	}
	own := SearchSpecs()
	if list.declared = append(list.declared, own...); in.Native {
		list.text = w.moreHead + "\n" + fmt.Sprintf(w.findRule, w.callFound) + sel.sources
		return list
	}
	for _, s := range own[:len(own)-1] { // every tool can be called by its name
		none := 0
		text := writeTool(s, in.Locale, &none, false)
		full, list.tools = append(full, text), append(list.tools, ToolEntry{Name: s.Name, Text: text})
	}
	for _, i := range sel.line {
		short = append(short, t.line[i])
		list.tools = append(list.tools, ToolEntry{Name: in.Tools[i].Name, Text: t.line[i], Brief: true})
	}
	list.text = w.toolsHead + "\n" + strings.Join(full, "\n") + "\n" + w.moreHead + "\n"
	if len(short) > 0 {
		list.text += w.moreRule + strings.Join(short, "") + "\n"
	}
	list.text += fmt.Sprintf(w.findRule, w.useFound) + sel.sources
	return list
}

// SearchSpecs are the agent's own tools that find, describe and call the others. The
// last is for protocols in which only declared tools can be called.
func SearchSpecs() []tool.Spec {
	return []tool.Spec{
		{
			Name:          FindTool,
			Description:   "Finds tools by what they do, best first, with their arguments. Use it whenever a tool that is not listed might help.",
			DescriptionZh: "按用途查找工具，最合适的在前，并列出参数。只要未列出的工具可能有用，就用它查找。",
			Params: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do and with what, in a few words; or names of tools"},` +
				`"count":{"type":"integer","description":"how many tools to return","minimum":1,"maximum":20,"default":5}},"required":["query"]}`),
			ParamsZh: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"用几个词说明工具要做什么、针对什么；或工具名称"},` +
				`"count":{"type":"integer","description":"返回多少个工具","minimum":1,"maximum":20,"default":5}},"required":["query"]}`),
			Hints: tool.Hints{ReadOnly: true, Idempotent: true},
		},
		DescribeSpec(),
		{
			Name:          CallTool,
			Description:   "Calls a tool that find_tools has found, by its name. The result is that tool's.",
			DescriptionZh: "按名称调用 find_tools 找到的工具，返回该工具的结果。",
			Params: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"the tool's name"},` +
				`"arguments":{"type":"object","description":"the tool's arguments"}},"required":["name","arguments"]}`),
			ParamsZh: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"工具名称"},` +
				`"arguments":{"type":"object","description":"该工具的参数"}},"required":["name","arguments"]}`),
		},
	}
}

// Wrap returns the call of call_tool that asks for c.
func Wrap(c tool.Call) tool.Call {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	c.Args = json.RawMessage(`{"name":` + Quote(c.Tool) + `,"arguments":` + string(args) + `}`)
	c.Tool = CallTool
	return c
}

// FindArgs reads the arguments of find_tools; ok is false without a query. Models write
// numbers as strings.
func FindArgs(c tool.Call) (query string, count int, ok bool) {
	var args struct {
		Query string          `json:"query"`
		Count json.RawMessage `json:"count"`
	}
	if json.Unmarshal(c.Args, &args) != nil || strings.TrimSpace(args.Query) == "" {
		return "", 0, false
	}
	var f float64
	if json.Unmarshal([]byte(strings.Trim(string(args.Count), `"`)), &f) != nil || !(f >= 1) {
		f = DefaultFound
	}
	return args.Query, int(min(f, MostFound)), true
}

// Found answers a call of find_tools. native says that they are called with call_tool.
func Found(c tool.Call, found []tool.Spec, native bool, l tool.Locale) tool.Result {
	w := For(l)
	text := w.foundNone
	if len(found) > 0 {
		how := w.useFound
		if native {
			how = w.callFound
		}
		text = w.foundHead + "\n" + Signatures(found, l) + how + " " + w.foundMore
	}
	chars, lines := limit.Count(text)
	return tool.Result{CallID: c.ID, Tool: c.Tool, Shown: tool.View{Text: text, TotalChars: chars, TotalLines: lines}}
}

// noteShare is the part of the tools' budget that whole tools in a note may fill.
const noteShare = 4

// FoundNote describes tools with a question: pinned ones whole, as far as a part of the
// tools' budget goes, and on a line each those for which there is no room and the others.
func FoundNote(pinned, others []tool.Spec, budget int, native bool, l tool.Locale) string {
	w := For(l)
	var whole string
	var lines []tool.Spec
	room := budget / noteShare
	for _, s := range pinned {
		none := 0
		text := writeTool(s, l, &none, false)
		if room -= RuneCount(text); room < 0 {
			room = 0
			lines = append(lines, s)
			continue
		}
		whole += text
	}
	if whole != "" {
		whole = w.pinnedNote + "\n" + whole
	}
	if lines = append(lines, others...); len(lines) > 0 {
		whole += w.foundNote + "\n" + Signatures(lines, l)
	}
	if native {
		return whole + w.callFound
	}
	return whole + w.useFound
}

// DescribesWhole reports whether a text is a note of FoundNote with whole tools.
func DescribesWhole(text string) bool {
	return strings.HasPrefix(text, For(tool.En).pinnedNote) || strings.HasPrefix(text, For(tool.Zh).pinnedNote)
}

// WholeMark begins a tool that is described whole.
func WholeMark(name string) string { return "## " + name + "\n" }

// SignatureMark begins the line of a tool in Signatures.
func SignatureMark(name string) string { return "- " + name + "(" }

// Signatures writes each tool on one line: its name, arguments with types, purpose.
func Signatures(tools []tool.Spec, l tool.Locale) string {
	var b strings.Builder
	for _, s := range tools {
		b.WriteString(signature(s, l))
	}
	return b.String()
}

// signature writes a tool on one line. Required arguments are first, and where there
// are too many the line says so.
func signature(s tool.Spec, l tool.Locale) string {
	ps := params(s.Parameters(l), l)
	slices.SortStableFunc(ps, func(a, b param) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	var args []string
	room := maxSignature
	for _, p := range ps {
		mark := "?"
		if p.required {
			mark = ""
		}
		arg := Clean(p.name) + mark + ": " + clip(Clean(p.kind), maxKind)
		if room -= RuneCount(arg) + 2; room < 0 {
			args = append(args, "…")
			break
		}
		args = append(args, arg)
	}
	return Clean(SignatureMark(s.Name)+strings.Join(args, ", ")+"): "+clip(Clean(s.Describe(l)), maxPurpose)) + "\n"
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// A group is the tools of one source.
type group struct {
	name  string
	tools int
	words []string // of their names, the most frequent first
}

// Sources writes a table of where tools come from: how many each source has, and the
// words that are most frequent in their names. The more there are, the fewer words it
// has, and the more small sources share a line.
func Sources(tools []tool.Spec, source func(string) string, l tool.Locale) string {
	groups := groupBySource(tools, source)
	table := ""
	for _, level := range []struct{ words, least int }{{6, 0}, {4, 3}, {3, 5}, {2, 10}, {1, 10}, {1, 20}, {0, 1 << 30}} {
		if table = writeSources(groups, level.words, level.least, l); RuneCount(table) <= maxTable {
			break
		}
	}
	return table
}

// writeSources gives each group of at least least tools a line with at most words of
// their words. The others share the last line, which is cut where the table is too long;
// those with the same number of tools have it in common.
func writeSources(groups []group, words, least int, l tool.Locale) string {
	w := For(l)
	var lines, rest, same []string
	chars := 0
	for i, g := range groups {
		name := Clean(clip(g.name, maxSourceName))
		if g.tools >= least {
			text := fmt.Sprintf("%s (%d)", name, g.tools)
			if n := min(words, len(g.words)); n > 0 && g.tools > 1 {
				text += Clean(": " + strings.Join(g.words[:n], w.Names))
			}
			lines = append(lines, "- "+text+"\n")
			continue
		}
		if chars += RuneCount(name) + 2; chars > maxTable {
			rest = append(rest, fmt.Sprintf(w.moreSources, len(groups)-i))
			break
		}
		if same = append(same, name); i+1 < len(groups) && groups[i+1].tools == g.tools && chars+RuneCount(groups[i+1].name)+2 <= maxTable {
			continue
		}
		number := strconv.Itoa(g.tools)
		if len(same) > 1 {
			number = fmt.Sprintf(w.each, g.tools)
		}
		rest = append(rest, strings.Join(same, w.Names)+" ("+number+")")
		same, chars = nil, chars+RuneCount(number)+3
	}
	if len(rest) > 0 {
		lines = append(lines, "- "+strings.Join(rest, w.groups)+"\n")
	}
	return strings.Join(lines, "")
}

// plainVerbs are words of names that say little of what a source is about.
var plainVerbs = map[string]bool{
	"get": true, "list": true, "create": true, "update": true, "delete": true, "add": true, "remove": true, "set": true, "find": true, "search": true,
	"fetch": true, "read": true, "write": true, "query": true, "run": true, "by": true, "for": true, "and": true, "the": true, "from": true, "with": true, "all": true, "to": true, "of": true, "in": true,
}

// nameWords returns the words of a name in lower case: getHTTPStatus_of has four.
func nameWords(name string) []string {
	var out []string
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		letters, from := []rune(part), 0
		for i := 1; i < len(letters); i++ {
			begins := !unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if unicode.IsUpper(letters[i]) && begins {
				out, from = append(out, strings.ToLower(string(letters[from:i]))), i
			}
		}
		out = append(out, strings.ToLower(string(letters[from:])))
	}
	return out
}

// groupBySource groups tools, the largest group first.
func groupBySource(tools []tool.Spec, source func(string) string) []group {
	var out []group
	at, counts := map[string]int{}, []map[string]int{}
	for _, s := range tools {
		from := source(s.Name)
		i, ok := at[from]
		if !ok {
			i = len(out)
			at[from] = i
			out, counts = append(out, group{name: from}), append(counts, map[string]int{})
		}
		out[i].tools++
		own := nameWords(from)
		for _, word := range nameWords(cmp.Or(s.Written, strings.TrimPrefix(s.Name, from+"__"))) {
			if len(word) < 2 || plainVerbs[word] || slices.Contains(own, word) {
				continue
			}
			if counts[i][word]++; counts[i][word] == 1 {
				out[i].words = append(out[i].words, word)
			}
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].words, func(a, b string) int { return cmp.Compare(counts[i][b], counts[i][a]) })
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Or(cmp.Compare(b.tools, a.tools), cmp.Compare(a.name, b.name)) })
	return out
}
