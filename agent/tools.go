package agent

import (
	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// A ToolCache stores what a turn reads and writes about its tools for the next
// turn with the same ones, which takes longer than everything else about a short
// turn. It does not change what a turn sends. The zero value is ready; it is safe
// for concurrent use.
type ToolCache struct{ kits prompt.Cache }

// Placeholder returns the text that replaces an archived result in a conversation,
// in language l. It depends on its arguments alone. Fields that come from a tool or
// a model are neutralised and folded into one line: they can forge neither a line
// of the placeholder nor a call.
func Placeholder(ref tool.Ref, toolName string, l tool.Locale) string {
	return prompt.Placeholder(ref, toolName, l)
}

// Stub returns the text that replaces what a load, or a search in the archive, has brought, when
// it leaves the conversation. ref is the result that was loaded; nil: it was a search.
func Stub(ref *tool.Ref, toolName, text string, l tool.Locale) string {
	return prompt.Stub(ref, toolName, text, l)
}

// ToolText returns all that a model can be told of a tool: its whole description and
// arguments with their lines, and all its examples.
func ToolText(s tool.Spec, l tool.Locale) string { return prompt.ToolText(s, l) }

// PromptText returns the description of a tool in a system prompt, with all its examples
// and without the rest of long texts. A provider's own tool calling receives the JSON
// Schema instead.
func PromptText(s tool.Spec, l tool.Locale) string { return prompt.PromptText(s, l) }

// Brief returns a tool in language l with its description and those of its arguments cut to
// the length that every provider takes.
func Brief(s tool.Spec, l tool.Locale) tool.Spec { return prompt.Brief(s, l, "…") }

// TakesQuestion reports whether a tool can be called with a question and the given
// arguments, as Config.Prefetch does: it has one argument for the question and
// requires no other.
func TakesQuestion(s tool.Spec, given map[string]any) bool {
	return prompt.QuestionArguments(s, "", given) != nil
}

// DetectLocale returns the language of a question: Chinese if it has at least as
// many Chinese characters as words in Latin letters, English otherwise. Names of
// files and tools in a Chinese question therefore do not make it English. A text
// with Japanese or Korean syllables is not Chinese.
func DetectLocale(text string) tool.Locale { return prompt.DetectLocale(text) }
