package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

// A said is one message as a client of /v1 saw it: a question, an answer, or a
// result of one of its own tools; nothing of weir's calls and results.
type said struct {
	role agent.Role
	text string
	// ids are those of the client's calls that an answer makes, or of the one that
	// a result answers.
	ids []string
}

// visible is what a client has seen of stored messages: the questions, and
// behind each the last text without a call.
func visible(ms []agent.Message) []said {
	var out []said
	for _, m := range ms {
		switch {
		case m.Role == agent.RoleUser && len(out) > 0 && out[len(out)-1].role == agent.RoleUser: // nobody answered the one before
			out[len(out)-1].text += "\n\n" + m.Text
		case m.Role == agent.RoleUser:
			out = append(out, said{role: m.Role, text: m.Text})
		case m.Role != agent.RoleAssistant || len(m.Calls) > 0:
		case len(out) > 0 && out[len(out)-1].role == agent.RoleAssistant:
			out[len(out)-1].text = m.Text
		default:
			out = append(out, said{role: m.Role, text: m.Text})
		}
	}
	return out
}

// markOf is a digest of a talk. White space does not count: clients trim. A
// talk without an answer has no mark, for it is no conversation yet.
func markOf(talk []said) string {
	h := sha256.New()
	answered := false
	for _, s := range talk {
		text := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s.text)
		answered = answered || s.role == agent.RoleAssistant && (text != "" || len(s.ids) > 0)
		for _, id := range s.ids {
			text += "\x00" + id
		}
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00%s\x00", s.role, len(text), text) // a hash takes everything
	}
	if !answered {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

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
func (d *Daemon) chatMatched(ctx context.Context, principal string, ask question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	done, err := d.begun(ctx, principal, ask.Message)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer done()
	if ask.Conversation == "" {
		ask.mark = markOf(ask.spoken)
		for _, id := range d.matching(ctx, principal, ask.mark) {
			ask.Conversation = id
			end, err := d.answer(ctx, principal, ask, history, emit)
			var p *api.Problem
			if !errors.As(err, &p) || p.Code != api.CodeBusy {
				return end, err
			}
		}
		ask.Conversation, ask.mark = "", ""
	}
	return d.answer(ctx, principal, ask, history, emit)
}

// unmoved checks, with the conversation in hand, that it still is what it was
// found as: another turn may have run in between.
func (t *turn) unmoved(ctx context.Context) error {
	if t.ask.mark == "" {
		return nil
	}
	for _, id := range t.d.matching(ctx, t.scope.Principal, t.ask.mark) {
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
	if strings.TrimSpace(out.Answer) == "" && strings.TrimSpace(t.said.String()) == "" && len(out.Pending) == 0 {
		return nil
	}
	before := slices.Clone(t.ask.spoken)
	for _, a := range t.ask.answers {
		before = append(before, said{agent.RoleResults, a.text, []string{a.callID}})
	}
	if t.ask.Message != "" {
		before = append(before, said{role: agent.RoleUser, text: t.ask.Message})
	}
	var ids []string
	for _, c := range out.Pending {
		ids = append(ids, c.ID)
	}
	marks := []string{markOf(visible(out.Messages))}
	for _, text := range []string{out.Answer, t.said.String()} {
		marks = append(marks, markOf(append(before[:len(before):len(before)], said{agent.RoleAssistant, text, ids})))
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

func busyProblem() *api.Problem {
	return api.Problemf(http.StatusConflict, api.CodeBusy, "wait for its answer or begin another conversation", "this conversation is still answering")
}
