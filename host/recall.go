package host

import (
	"context"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/memory"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// memoryConfig returns what is done for each archived result.
func (h *Host) memoryConfig() memory.Config {
	set := h.settings.Load()
	cfg := memory.Config{Embed: set.Embed, SummariseOver: set.BriefOver}
	if set.Brief != nil {
		cfg.Summarise = func(ctx context.Context, e archive.Entry, l tool.Locale) (string, error) {
			sum, err := set.Brief(ctx, SummaryRequest{
				Principal: Principal(e.Scope.Principal), Conversation: e.Scope.Conversation, Tool: e.Tool, Query: e.Query, Text: e.Full,
				Chars: set.Archive.SummaryChars, Locale: l,
			})
			return text.OneLine(sum.Text, set.Archive.SummaryChars), err
		}
	}
	return cfg
}

// Near returns the results of a scope whose passages are nearest in meaning to a text,
// the nearest first. Nil without an error: there is no embedding model, or no result
// has vectors by it.
func (h *Host) Near(ctx context.Context, sc archive.Scope, text string, n int) ([]archive.Near, error) {
	return h.meaning.Near(ctx, sc, text, n)
}

// A Memory is an archived result that a question may be about.
type Memory struct {
	Tool string
	Ref  *tool.Ref
	// First and Last are the lines of the passage that is nearest, Score its cosine;
	// all are 0 where no vectors were compared.
	First, Last int
	Score       float64
}

// Near returns the results that a question is nearest to by its meaning, among those
// that the session may read, the nearest first. Nil without an error: there are no
// vectors to compare.
func (s *Session) Near(ctx context.Context, question string, n int) ([]Memory, error) {
	found, err := s.h.Near(ctx, s.scope(), question, n)
	var out []Memory
	for _, f := range found {
		out = append(out, Memory{Tool: f.Entry.Tool, Ref: f.Entry.Ref(), First: f.First, Last: f.Last, Score: f.Score})
	}
	return out, err
}

// Earlier returns the newest results of the principal's other conversations, nil where
// the session may not read them.
func (s *Session) Earlier(ctx context.Context, n int) ([]Memory, error) {
	if !s.sharesArchive() {
		return nil, nil
	}
	list, err := s.h.archive.List(ctx, s.scope(), archive.Filter{Limit: n})
	var out []Memory
	for _, e := range list {
		if !e.Pruned && e.Scope.Conversation != s.conversation {
			out = append(out, Memory{Tool: e.Tool, Ref: e.Ref()})
		}
	}
	return out, err
}

// Ref returns an archived result as it is now; nil: its text was removed.
func (s *Session) Ref(ctx context.Context, uuid string) *tool.Ref {
	e, err := s.h.archive.Find(ctx, string(s.principal), uuid)
	if err != nil || e.Pruned {
		return nil
	}
	return e.Ref()
}
