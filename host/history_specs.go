package host

import (
	"encoding/json"

	"github.com/weirhost/weir/sdk/tool"
)

// historySpecs describe the host's own tools. The descriptions exist in both
// languages; those of the arguments are in that of the session.
func historySpecs(l tool.Locale) []tool.Spec {
	text := specTexts[l == tool.Zh]
	hints := tool.Hints{ReadOnly: true, Idempotent: true}
	return []tool.Spec{
		{
			Name: tool.LoadHistory, Description: loadEn, DescriptionZh: loadZh, Hints: hints,
			Params: text.load, Output: tool.Limits{MaxChars: loadChars, Strategy: tool.HeadOnly, Archive: tool.KeepNever},
		},
		{
			Name: tool.SearchHistory, Description: searchEn, DescriptionZh: searchZh, Hints: hints,
			Params: text.search, Output: wording{}.searchLimits(),
			Examples: []tool.Example{{
				Ask: "Which of the earlier results mentioned the timeout?", AskZh: "之前哪个结果提到了超时？", Args: json.RawMessage(`{"query":"timeout"}`),
			}},
		},
	}
}

const (
	loadEn = "Load the whole result of an earlier tool call, or a part of it. Use it when the user asks about details of what was discussed, " +
		"refers back (\"earlier\", \"just now\", \"last time\"), or when a summary or a cut result does not suffice. Only load when the details are really needed."
	loadZh = "加载之前工具调用的完整结果，或其中一部分。使用场景：用户询问之前讨论过的细节；需要回顾历史检索内容；用户说“之前”、“刚才”、“上次说的”等；" +
		"占位符摘要或被截断的结果不足以回答。注意：只在确实需要历史详情时调用，避免不必要的加载。"
	searchEn = "Search the archived results of this conversation for words and get the lines they stand in, with the uuid to load more. " +
		"Use it when the user refers back and it is not clear which result is meant."
	searchZh = "在本会话已存档的工具结果中搜索关键词，返回所在的行及其 uuid，可据此继续加载。当用户提到之前的内容而不清楚是哪个结果时使用。"
)

// specText holds the schemas of the host's own tools in one language.
type specText struct{ load, search json.RawMessage }

var specTexts = map[bool]specText{
	false: {
		load: json.RawMessage(`{"type":"object","required":["uuid"],"properties":{` +
			`"uuid":{"type":"string","description":"Id of the result, from its placeholder or notice"},` +
			`"lines":{"type":"string","description":"Lines to load, counted from 1, for example \"95-706\""},` +
			`"grep":{"type":"string","description":"RE2 expression; only lines that match it"},` +
			`"context":{"type":"integer","minimum":0,"description":"Lines around each match of grep"},` +
			`"pointer":{"type":"string","description":"JSON pointer into a JSON result, for example \"/items/0\""},` +
			`"head":{"type":"integer","minimum":0,"description":"Only so many lines from the beginning"},` +
			`"tail":{"type":"integer","minimum":0,"description":"Only so many lines from the end"},` +
			`"offset":{"type":"integer","minimum":0,"description":"Characters to leave out, to go on where a load stopped"},` +
			`"keep_turns":{"type":"integer","minimum":1,"maximum":10,"description":"How many turns it stays in the conversation; more than 1 if later questions will need it"}}}`),
		search: json.RawMessage(`{"type":"object","required":["query"],"properties":{` +
			`"query":{"type":"string","minLength":1,"description":"Words that all have to stand in the result"}}}`),
	},
	true: {
		load: json.RawMessage(`{"type":"object","required":["uuid"],"properties":{` +
			`"uuid":{"type":"string","description":"要加载的工具结果 UUID（从占位符中获取）"},` +
			`"lines":{"type":"string","description":"要加载的行，从 1 开始，例如 \"95-706\""},` +
			`"grep":{"type":"string","description":"RE2 正则表达式；只返回匹配的行"},` +
			`"context":{"type":"integer","minimum":0,"description":"grep 每处匹配前后的行数"},` +
			`"pointer":{"type":"string","description":"JSON 结果中的 JSON pointer，例如 \"/items/0\""},` +
			`"head":{"type":"integer","minimum":0,"description":"只要开头这么多行"},` +
			`"tail":{"type":"integer","minimum":0,"description":"只要末尾这么多行"},` +
			`"offset":{"type":"integer","minimum":0,"description":"跳过的字符数，用于从上次停下处继续"},` +
			`"keep_turns":{"type":"integer","minimum":1,"maximum":10,"description":"在对话中保留的轮数；后续提问还会用到时可大于 1"}}}`),
		search: json.RawMessage(`{"type":"object","required":["query"],"properties":{` +
			`"query":{"type":"string","minLength":1,"description":"结果中必须全部出现的词"}}}`),
	},
}
