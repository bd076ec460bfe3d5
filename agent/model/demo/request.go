package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A scene is a request as the script reads it.
type scene struct {
	tools    []toolInfo
	question string
	locale   tool.Locale
	// results and calls are those of the present turn, in order.
	results []result
	calls   []tool.Call
	// archived are the placeholders of earlier turns, newest first; earlier the
	// results that are still shown.
	archived []archived
	earlier  []result

	schema     json.RawMessage // of an answer in JSON
	wantsJSON  bool
	final      bool                // to be answered without tools
	must       func(toolInfo) bool // the tools one of which has to be called now; nil: none has to
	wantsPlan  bool
	wantsCheck bool
}

// A toolInfo is a tool as the prompt describes it.
type toolInfo struct {
	name     string
	params   []string // their names
	args     []argument
	examples []example
}

type example struct {
	ask  string
	args map[string]json.RawMessage
}

// A result is what one call returned, as text with its notices.
type result struct{ id, tool, text string }

// An archived is a placeholder.
type archived struct{ uuid, query string }

// How the agent writes calls, results and tools for a model.
const (
	resultTag   = `(?s)<tool_result id="([^"]*)" tool="([^"]*)">\n(.*?)\n</tool_result>`
	callTag     = `(?s)<tool_call>(\{.*?\})</tool_call>`
	placeholder = `📎 \[(?:Tool result archived|工具结果存档): ([^\]]+)\]`
	queryLine   = `(?:query|查询): ([^\n]*)`
	exampleLine = `^(?:Example: |示例：)(".*")$`
	schemaLine  = `^(?:Arguments, as JSON Schema: |.*JSON Schema：)(\{.*\})$`
	paramLine   = `^- ([^:]+): `
	kindLine    = `^- [^:]+: (.*?)(?:, (required|必填))?(?:[.。] .*|[.。]?)$`
)

// Sentences of the agent, by words that no other sentence has.
var (
	finalMarks = []string{"without calling tools. Say what is missing", "不要再调用工具；如有缺失"}
	planMarks  = []string{"\n\nBefore anything else write a plan", "\n\n请先写出计划"}
	// mustMarks say that the reply has to be a call; behind the first two stands the tool.
	mustMarks  = []string{"Reply to this with a call of this tool, not with an answer: ", "对此请以调用下列工具回复，不要直接回答：", "Reply to this with a tool call, not", "对此请以工具调用回复"}
	checkMarks = []string{"Check this draft of your answer", "检查这份回答草稿"}
	// noteMarks are in notes that are no question.
	noteMarks = append([]string{"<tool_result ", "<tool_call>", "Carry out the plan. Begin", "请执行计划。每次回复", "Your reply was empty.", "你的回复是空的。"}, checkMarks...)
)

// read makes the scene of a request.
func read(r agent.Request) scene {
	var s scene
	s.tools = readTools(r)
	s.schema, s.wantsJSON = wantedFormat(r)
	start := questionAt(r.Messages)
	if start < 0 {
		return s
	}
	s.question = r.Messages[start].Text
	for _, mark := range planMarks {
		if before, _, ok := strings.Cut(s.question, mark); ok {
			s.question, s.wantsPlan = before, start == len(r.Messages)-1
		}
	}
	for _, mark := range mustMarks {
		s.question, _, _ = strings.Cut(s.question, "\n\n"+mark)
	}
	s.locale = agent.DetectLocale(s.question)
	for i, m := range r.Messages {
		if i < start {
			s.remember(m)
		} else {
			s.present(m)
		}
	}
	slices.Reverse(s.archived)
	last := r.Messages[len(r.Messages)-1].Text
	s.final = containsAny(last, finalMarks) || len(s.tools) == 0
	s.wantsCheck = containsAny(last, checkMarks)
	s.must = mustCall(r, last)
	return s
}

// mustCall returns which tools a reply to the last message has to call.
func mustCall(r agent.Request, last string) func(toolInfo) bool {
	for i, mark := range mustMarks {
		if _, name, ok := strings.Cut(last, mark); ok {
			return func(t toolInfo) bool { return i > 1 || t.name == strings.TrimSpace(name) }
		}
	}
	if c := r.Choice; c.Must && len(r.Tools) > 0 {
		return func(t toolInfo) bool { return c.Tool == "" || t.name == c.Tool }
	}
	return nil
}

// questionAt finds the message that the present turn began with: the last of
// the user's that brings no results and no correction.
func questionAt(msgs []agent.ChatMessage) int {
	for i, m := range slices.Backward(msgs) {
		if m.Role != "user" || containsAny(m.Text, noteMarks) || slices.ContainsFunc(mustMarks, func(mark string) bool { return strings.HasPrefix(m.Text, mark) }) {
			continue
		}
		if i > 0 && (msgs[i-1].Role == "tool" || isCall(msgs[i-1])) {
			continue // a note after results
		}
		return i
	}
	return -1
}

func isCall(m agent.ChatMessage) bool {
	return m.Role == "assistant" && (len(m.Calls) > 0 || compiled(callTag).MatchString(m.Text))
}

// present adds a message of this turn.
func (s *scene) present(m agent.ChatMessage) {
	switch m.Role {
	case "tool":
		s.results = append(s.results, result{m.CallID, m.Tool, m.Text})
	case "assistant":
		s.calls = append(s.calls, m.Calls...)
		for _, c := range compiled(callTag).FindAllStringSubmatch(m.Text, -1) {
			var v struct {
				ID        string          `json:"id"`
				Tool      string          `json:"tool_name"`
				Arguments json.RawMessage `json:"arguments"`
			}
			if json.Unmarshal([]byte(c[1]), &v) == nil {
				s.calls = append(s.calls, tool.Call{ID: v.ID, Tool: v.Tool, Args: v.Arguments})
			}
		}
	case "user":
		s.results = append(s.results, resultsIn(m.Text)...)
	}
}

// remember adds a message of an earlier turn.
func (s *scene) remember(m agent.ChatMessage) {
	found := resultsIn(m.Text)
	if m.Role == "tool" {
		found = []result{{m.CallID, m.Tool, m.Text}}
	}
	for _, r := range found {
		if id := compiled(placeholder).FindStringSubmatch(r.text); id != nil {
			s.archived = append(s.archived, archived{id[1], first(queryLine, r.text)})
		} else {
			s.earlier = append(s.earlier, r)
		}
	}
}

func resultsIn(text string) []result {
	var out []result
	for _, m := range compiled(resultTag).FindAllStringSubmatch(text, -1) {
		out = append(out, result{m[1], m[2], m[3]})
	}
	return out
}

func first(expr, text string) string {
	if m := compiled(expr).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func containsAny(s string, list []string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.Contains(s, x) })
}

// readTools returns the tools of the provider's own calling, or else those of the
// system prompt.
func readTools(r agent.Request) []toolInfo {
	var out []toolInfo
	for _, s := range r.Tools {
		out = append(out, fromSpec(s))
	}
	if len(out) == 0 {
		out = parseList(r.System)
	}
	return out
}

// parseList reads tools the way the agent lists them: whole, or by one line each.
func parseList(text string) []toolInfo {
	var out []toolInfo
	inTool, brief, ask := false, false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		param := compiled(paramLine).FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "## "):
			out = append(out, toolInfo{name: strings.TrimSpace(line[3:])})
			inTool = true
		case strings.HasPrefix(line, "# "):
			inTool, brief = false, strings.Contains(line, "More tools") || strings.Contains(line, "更多工具")
		case brief && param != nil:
			out = append(out, toolInfo{name: param[1]})
		case !inTool:
		case compiled(schemaLine).MatchString(line):
			t := &out[len(out)-1]
			whole := fromSpec(tool.Spec{Name: t.name, Params: json.RawMessage(first(schemaLine, line))})
			t.params, t.args = whole.params, whole.args
		case param != nil:
			t := &out[len(out)-1]
			t.params = append(t.params, param[1])
			if kind := compiled(kindLine).FindStringSubmatch(line); kind != nil {
				t.args = append(t.args, argument{param[1], kind[1], kind[2] != ""})
			}
		case compiled(exampleLine).MatchString(line):
			ask = ""
			_ = json.Unmarshal([]byte(first(exampleLine, line)), &ask) // unquoted or empty
		case compiled(callTag).MatchString(line):
			out[len(out)-1].addExample(ask, first(callTag, line))
		}
	}
	return slices.DeleteFunc(out, func(t toolInfo) bool { return t.name == "" })
}

func (t *toolInfo) addExample(ask, call string) {
	var v struct {
		Arguments map[string]json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal([]byte(call), &v) == nil {
		t.examples = append(t.examples, example{ask, v.Arguments})
	}
}

// fromSpec reads a tool of the provider's own calling.
func fromSpec(s tool.Spec) toolInfo {
	t := toolInfo{name: s.Name}
	var schema struct {
		Properties map[string]schemaNode `json:"properties"`
		Required   []string              `json:"required"`
	}
	_ = json.Unmarshal(s.Params, &schema) // a schema that cannot be read has no arguments
	t.params = slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range t.params {
		p := schema.Properties[name]
		kind := p.kind()
		for i, v := range p.Enum {
			if i == 0 {
				kind = ""
			}
			kind = strings.TrimPrefix(kind+"|"+string(v), "|")
		}
		t.args = append(t.args, argument{name, kind, slices.Contains(schema.Required, name)})
	}
	for _, e := range s.Examples {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			ask, raw := e.In(l)
			args := map[string]json.RawMessage{}
			if json.Unmarshal(raw, &args) == nil {
				t.examples = append(t.examples, example{ask, args})
			}
		}
	}
	return t
}
