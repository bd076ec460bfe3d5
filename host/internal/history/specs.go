package history

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// The descriptions are not in the catalogue of package msg: every host needs both
// languages at its start, and would read the whole catalogue for three sentences.
const (
	loadDescription = "Load the whole result of an earlier tool call, or a part of it. Use it when the user asks about details of what was discussed, " +
		"refers back (\"earlier\", \"just now\", \"last time\"), or when a summary or a cut result does not suffice. Only load when the details are really needed."
	loadDescriptionZh = "加载之前工具调用的完整结果，或其中一部分。使用场景：用户询问之前讨论过的细节；" +
		"需要回顾历史检索内容；用户说“之前”、“刚才”、“上次说的”等；占位符摘要或被截断的结果不足以回答。注意：只在确实需要历史详情时调用，避免不必要的加载。"
	searchDescription = "Search the archived results of this conversation for words and get the lines that contain them, with the uuid to load more. " +
		"Use it when the user refers back and it is not clear which result is meant."
	searchDescriptionZh     = "在本会话已存档的工具结果中搜索关键词，返回所在的行及其 uuid，可据此继续加载。当用户提到之前的内容而不清楚是哪个结果时使用。"
	searchAcrossDescription = "Search the archived results of this and all earlier conversations of the user for words and get the lines that contain them, with the uuid to load more. " +
		"Use it when the user refers back, also to an earlier conversation, and when a result of before may answer the question."
	searchAcrossDescriptionZh = "在该用户本次及以往所有会话的存档结果中搜索关键词，返回所在的行及其 uuid，可据此继续加载。当用户提到之前的内容（包括以往的会话），或以往的结果可能回答问题时使用。"
)

// Specs returns the specifications of both tools, for a reader of all conversations of
// a user if across is true. The descriptions are in both languages, those of the
// arguments in the language l. The slice and its elements must not be modified.
func Specs(l tool.Locale, across bool) []tool.Spec {
	switch {
	case l == tool.Zh && across:
		return specsZhAcross()
	case l == tool.Zh:
		return specsZh()
	case across:
		return specsEnAcross()
	}
	return specsEn()
}

var (
	specsEn       = sync.OnceValue(func() []tool.Spec { return newSpecs(tool.En, searchDescription, searchDescriptionZh) })
	specsZh       = sync.OnceValue(func() []tool.Spec { return newSpecs(tool.Zh, searchDescription, searchDescriptionZh) })
	specsEnAcross = sync.OnceValue(func() []tool.Spec { return newSpecs(tool.En, searchAcrossDescription, searchAcrossDescriptionZh) })
	specsZhAcross = sync.OnceValue(func() []tool.Spec { return newSpecs(tool.Zh, searchAcrossDescription, searchAcrossDescriptionZh) })
)

func newSpecs(l tool.Locale, search, searchZh string) []tool.Spec {
	hints := tool.Hints{ReadOnly: true, Idempotent: true}
	return []tool.Spec{
		{
			Name: tool.LoadHistory, Description: loadDescription, DescriptionZh: loadDescriptionZh, Hints: hints,
			Params: loadSchema(l), Output: loadLimits(),
		},
		{
			Name: tool.SearchHistory, Description: search, DescriptionZh: searchZh, Hints: hints,
			Params: searchSchema(l), Output: searchLimits(),
			Examples: []tool.Example{{
				Ask: "Which of the earlier results mentioned the timeout?", AskZh: "之前哪个结果提到了超时？", Args: json.RawMessage(`{"query":"timeout"}`),
				ArgsZh: json.RawMessage(`{"query":"超时"}`),
			}},
		},
	}
}

// loadLimits bound what is shown of a load where no agent does.
func loadLimits() tool.Limits {
	return tool.Limits{MaxChars: LoadChars, Strategy: tool.HeadOnly, Archive: tool.ArchiveNever}
}

// searchLimits bound what is shown of a search.
func searchLimits() tool.Limits {
	return tool.Limits{MaxChars: tool.DefaultMaxChars, MaxLines: tool.DefaultMaxLines, Strategy: tool.HeadOnly, Archive: tool.ArchiveNever}
}

// A param is one argument in a JSON schema. Constraints is JSON with a comma at its
// end, or empty.
type param struct{ name, kind, constraints, description string }

func loadSchema(l tool.Locale) json.RawMessage {
	return schemaOf(l, "uuid", append(loadParams(), param{"keep_turns", "integer", `"minimum":1,"maximum":10,`, "How many turns it stays in the conversation; more than 1 if later questions will need it"}))
}

// LoadOnce is the schema of load_tool_history for callers without turns: it has no
// keep_turns.
func LoadOnce(l tool.Locale) json.RawMessage { return schemaOf(l, "uuid", loadParams()) }

func loadParams() []param {
	return []param{
		{"uuid", "string", "", "Id of the result, from its placeholder or notice"},
		{"lines", "string", "", "Lines to load, counted from 1, for example \"95-706\""},
		{"grep", "string", "", "RE2 expression; only lines that match it"},
		{"context", "integer", `"minimum":0,`, "Lines around each match of grep"},
		{"pointer", "string", "", "JSON pointer into a JSON result, for example \"/items/0\""},
		{"head", "integer", `"minimum":0,`, "Only so many lines from the beginning"},
		{"tail", "integer", `"minimum":0,`, "Only so many lines from the end"},
		{"offset", "integer", `"minimum":0,`, "Characters to leave out, to go on where a load stopped"},
	}
}

func searchSchema(l tool.Locale) json.RawMessage {
	return schemaOf(l, "query", []param{{"query", "string", `"minLength":1,`, "Words that the result must all contain"}})
}

func schemaOf(l tool.Locale, required string, params []param) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","required":["` + required + `"],"properties":{`)
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
		}
		description := strings.ReplaceAll(msg.Format(l, p.description), `"`, `\"`)
		b.WriteString(`"` + p.name + `":{"type":"` + p.kind + `",` + p.constraints + `"description":"` + description + `"}`)
	}
	b.WriteString("}}")
	return json.RawMessage(b.String())
}
