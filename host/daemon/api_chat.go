package daemon

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
)

// postChat answers a question as a stream of events. The stream opens with the
// first event, so that a question which cannot be asked is a plain answer with
// a status.
func (d *Daemon) postChat(w http.ResponseWriter, r *http.Request) error {
	var ask Ask
	if err := readJSON(w, r, &ask); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var s *stream
	emit := func(name string, data any) {
		if s == nil {
			s = newStream(w, cancel)
		}
		s.event(name, data)
	}
	end, err := d.chat(ctx, d.principal(r), ask, nil, emit)
	if s == nil && err != nil {
		return err
	}
	if err != nil {
		emit(eventError, asProblem(err))
	}
	emit(eventEnd, end)
	return nil
}

// checkConversation refuses ids that no log, header or address can carry.
func checkConversation(id string) error {
	if len(id) > maxConversationID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return problem(http.StatusBadRequest, "bad_conversation", "leave it out to begin a new conversation",
			"a conversation's id has at most %d bytes and no control characters", maxConversationID)
	}
	return nil
}

// maxConversationID is the longest id that a client may choose, in bytes.
const maxConversationID = 200

// principal is whom the request's token stands for.
func (d *Daemon) principal(*http.Request) string { return d.cfg.Principal }

func (d *Daemon) listConversations(w http.ResponseWriter, r *http.Request) error {
	limit, err := queryInt(r, "limit", 100)
	if err != nil {
		return err
	}
	list, err := d.cfg.Host.Archive().Conversations(r.Context(), d.principal(r), limit)
	if err != nil {
		return err
	}
	out := make([]map[string]any, len(list))
	for i, c := range list {
		out[i] = conversationOf(c)
	}
	writeJSON(w, http.StatusOK, map[string]any{"conversations": out})
	return nil
}

func conversationOf(c archive.Conversation) map[string]any {
	return map[string]any{"id": c.ID, "title": c.Title, "profile": c.Profile, "messages": c.Messages, "created_at": c.Created, "updated_at": c.Updated}
}

// A shownMessage is one message as people read it.
type shownMessage struct {
	Turn      int                 `json:"turn"`
	Role      agent.Role          `json:"role"`
	Text      string              `json:"text,omitempty"`
	Reasoning string              `json:"reasoning,omitempty"`
	Results   []agent.ResultEntry `json:"results,omitempty"`
}

func (d *Daemon) showConversation(w http.ResponseWriter, r *http.Request) error {
	rows, err := d.cfg.Host.Archive().Messages(r.Context(), archive.Scope{Principal: d.principal(r), Conversation: r.PathValue("id")})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return archive.ErrNotFound
	}
	ms, err := messagesOf(rows)
	if err != nil {
		return err
	}
	out := make([]shownMessage, len(ms))
	for i, m := range ms {
		out[i] = shownMessage{m.Turn, m.Role, m.Text, m.Reasoning, m.Results}
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": r.PathValue("id"), "messages": out})
	return nil
}

func (d *Daemon) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	leave, err := d.enter(id)
	if err != nil {
		return err
	}
	defer leave()
	if err := d.cfg.Host.Archive().DeleteConversation(r.Context(), archive.Scope{Principal: d.principal(r), Conversation: id}); err != nil {
		return err
	}
	d.cfg.Host.Forget(host.Principal(d.principal(r)), id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
