package turns

import (
	"context"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
)

// matching lists the conversations that came to exactly what the client sends
// in front of its question, the one used last first.
func (s *Service) matching(ctx context.Context, principal, mark string) []string {
	if mark == "" {
		return nil
	}
	list, err := s.Store.FindByFingerprint(ctx, principal, mark)
	if err != nil {
		s.Logger.Warn("a conversation could not be looked for; a new one begins", "error", err)
		return nil
	}
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// unmoved checks, with the conversation in hand, that it still is what it was
// found as: another turn may have run in between.
func (t *turn) unmoved(ctx context.Context) error {
	if t.ask.Mark == "" {
		return nil
	}
	for _, id := range t.s.matching(ctx, t.scope.Principal, t.ask.Mark) {
		if id == t.scope.Conversation {
			return nil
		}
	}
	return busyProblem()
}

// marks are what the conversation is found by from now on: what the client has
// now seen, its own words and the answer, with or without what was said before
// calls, which only a client that streams reads. nil: it has seen nothing and
// asks again.
func (t *turn) marks(out agent.Turn) []string {
	if strings.TrimSpace(out.Answer) == "" && strings.TrimSpace(t.stream.Sent()) == "" && len(out.Pending) == 0 {
		return nil
	}
	before := slices.Clone(t.ask.Spoken)
	for _, a := range t.ask.Answers {
		before = append(before, Said{Role: agent.RoleResults, Text: a.Text, IDs: []string{a.CallID}})
	}
	if t.ask.Message != "" {
		before = append(before, Said{Role: agent.RoleUser, Text: t.ask.Message})
	}
	var ids []string
	for _, c := range out.Pending {
		ids = append(ids, c.ID)
	}
	marks := []string{MarkOf(Visible(out.Messages))}
	for _, text := range []string{out.Answer, t.stream.Sent()} {
		marks = append(marks, MarkOf(append(before[:len(before):len(before)], Said{Role: agent.RoleAssistant, Text: text, IDs: ids})))
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}
