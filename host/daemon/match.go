package daemon

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/turns"
)

// matching lists the conversations that came to exactly what the client sends
// in front of its question, the one used last first.
func (d *Daemon) matching(ctx context.Context, principal, mark string) []string {
	if mark == "" {
		return nil
	}
	list, err := d.store.FindByFingerprint(ctx, principal, mark)
	if err != nil {
		d.log.Warn("a conversation could not be looked for; a new one begins", "error", err)
		return nil
	}
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// chatMatched continues the conversation whose messages equal what the client
// sends in front of its question, and begins a new one where there is none, or
// where it is answering somebody else.
func (d *Daemon) chatMatched(ctx context.Context, principal string, ask turns.Question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	done, err := d.begun(ctx, principal, ask.Message)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer done()
	if ask.Conversation == "" {
		ask.Mark = turns.MarkOf(ask.Spoken)
		for _, id := range d.matching(ctx, principal, ask.Mark) {
			ask.Conversation = id
			end, err := d.answer(ctx, principal, ask, history, emit)
			var p *api.Problem
			if !errors.As(err, &p) || p.Code != api.CodeBusy {
				return end, err
			}
		}
		ask.Conversation, ask.Mark = "", ""
	}
	return d.answer(ctx, principal, ask, history, emit)
}

// unmoved checks, with the conversation in hand, that it still is what it was
// found as: another turn may have run in between.
func (t *turn) unmoved(ctx context.Context) error {
	if t.ask.Mark == "" {
		return nil
	}
	for _, id := range t.d.matching(ctx, t.scope.Principal, t.ask.Mark) {
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
		before = append(before, turns.Said{Role: agent.RoleResults, Text: a.Text, IDs: []string{a.CallID}})
	}
	if t.ask.Message != "" {
		before = append(before, turns.Said{Role: agent.RoleUser, Text: t.ask.Message})
	}
	var ids []string
	for _, c := range out.Pending {
		ids = append(ids, c.ID)
	}
	marks := []string{turns.MarkOf(turns.Visible(out.Messages))}
	for _, text := range []string{out.Answer, t.stream.Sent()} {
		marks = append(marks, turns.MarkOf(append(before[:len(before):len(before)], turns.Said{Role: agent.RoleAssistant, Text: text, IDs: ids})))
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

func busyProblem() *api.Problem {
	return api.Problemf(http.StatusConflict, api.CodeBusy, "wait for its answer or begin another conversation", "this conversation is still answering")
}
