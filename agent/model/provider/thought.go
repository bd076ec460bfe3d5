package provider

import (
	"slices"
	"strings"
)

// thinkingFamilies are the models whose template ends the prompt with <think>, by parts
// of their names.
var thinkingFamilies = [][]string{{"deepseek-r1"}, {"deepseek", "r1-distill"}, {"qwq"}, {"qwen3", "thinking"}, {"minimax-m2"}}

// rawPresets are the servers that apply a model's own template and may send the text of
// a thought as it is. The others separate thoughts themselves.
var rawPresets = []string{"vllm", "llamacpp", "lmstudio"}

// startsInThought reports whether a reply begins inside a thought that the model's
// template has opened.
func (c Config) startsInThought() bool {
	if c.StartInThought != nil {
		return *c.StartInThought
	}
	name := strings.ToLower(strings.ReplaceAll(c.Model, "_", "-"))
	return slices.Contains(rawPresets, c.Provider) && slices.ContainsFunc(thinkingFamilies, func(parts []string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(name, part) })
	})
}
