package host

import (
	"context"

	"github.com/weirhost/weir/host/internal/toolfind"
	"github.com/weirhost/weir/host/plugin"
)

// MaxQuestionReply is how many bytes of a reply to ToolSearch.Ask are read.
const MaxQuestionReply = toolfind.MaxReply

// A ToolQuery is what tools are searched by.
type ToolQuery = toolfind.Query

// A FoundTool is a tool that a query is about.
type FoundTool = toolfind.Found

// FindTools returns the tools that a query is about, best first; nil: no tool fits. It
// finds them by their names, by words of their descriptions and parameters, and by words
// that mean the same; with ToolSearch also by what models said about them.
func (h *Host) FindTools(ctx context.Context, q ToolQuery) []FoundTool {
	sees := q.Sees
	q.Sees = func(name string) bool {
		_, ok := h.Tool(name) // the index may be older than the tools
		return ok && (sees == nil || sees(name))
	}
	return h.finder.Find(ctx, q)
}

// ToolQuestions returns the questions that a tool would answer, as a model wrote them for
// FindTools; nil: none are known.
func (h *Host) ToolQuestions(t plugin.ToolInfo) []string { return h.finder.Questions(t) }

// FindTools returns the names of at most n tools that a question is about, best first.
func (s *Session) FindTools(ctx context.Context, query string, n int) []string {
	return s.FindToolsAmong(ctx, query, n, nil)
}

// FindToolsAmong returns what FindTools returns, of the tools that sees accepts.
func (s *Session) FindToolsAmong(ctx context.Context, query string, n int, sees func(name string) bool) []string {
	var names []string
	for _, f := range s.h.FindTools(ctx, ToolQuery{
		Text: query, Count: n, Sees: sees, Principal: string(s.principal), Conversation: s.conversation,
	}) {
		names = append(names, f.Name)
	}
	return names
}

// Source returns the plugin or MCP server of a tool; empty: it is none of theirs.
func (s *Session) Source(name string) string {
	info, _ := s.h.Tool(name)
	return info.Plugin
}
