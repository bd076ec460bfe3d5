// Package toolsearch has the tools with which a model searches for tools, for a server
// that offers them to clients of its own. An agent has them too; see agent.Finder.
package toolsearch

import (
	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// Specs returns find_tools, describe_tool and call_tool. The description of the first
// lists the sources of tools, which source returns.
func Specs(tools []tool.Spec, source func(name string) string, l tool.Locale) []tool.Spec {
	out := prompt.SearchSpecs()
	table := "\n" + prompt.Sources(tools, source, l)
	out[0].Description += table
	out[0].DescriptionZh += table
	return out
}

// Is reports whether a tool is one of Specs.
func Is(name string) bool {
	return name == tool.FindTools || name == tool.DescribeTool || name == tool.CallTool
}

// Query returns what a call of find_tools asks for; ok is false without a query.
func Query(c tool.Call) (query string, count int, ok bool) { return prompt.FindArgs(c) }

// Found answers a call of find_tools with the tools that were found.
func Found(c tool.Call, found []tool.Spec, l tool.Locale) tool.Result {
	return prompt.Found(c, found, true, l)
}

// Describe answers a call of describe_tool. A tool that is not in the list is an error.
func Describe(c tool.Call, tools []tool.Spec, l tool.Locale) tool.Result {
	return prompt.Describe(c, tools, l)
}
