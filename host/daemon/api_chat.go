package daemon

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
)

// postChat answers a question as a stream of events. The stream opens with the
// first event, so that a question which cannot be asked is a plain answer with
// a status.
//
// A client that lost the stream may ask for it by the same request with the id
// of the last event it read; libraries do so by themselves, and the question
// must not be asked again then.
func (d *Daemon) postChat(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Last-Event-ID") != "" {
		return d.resumeChat(w, r)
	}
	var ask Ask
	if err := readJSON(w, r, &ask); err != nil {
		return err
	}
	if ask.Resume = ask.Resume && d.cfg.ResumeGrace > 0; ask.Resume {
		return d.send(w, r, d.begin(r, ask), 0)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var s *stream
	stop := func() {}
	defer func() { stop() }()
	emit := func(name string, data any) {
		if s == nil {
			s = newStream(w, cancel)
			stop = beat(d.beat, s.ping)
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
	out := ConversationList{make([]ConversationRow, len(list))}
	for i, c := range list {
		out.Conversations[i] = ConversationRow{c.ID, c.Title, c.Profile, c.Messages, c.Created, c.Updated}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// A ConversationList is what GET /api/conversations answers, the one used last
// first.
type ConversationList struct {
	Conversations []ConversationRow `json:"conversations"`
}

// A ConversationRow is one conversation without its messages.
type ConversationRow struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Profile string `json:"profile"`
	// Messages counts them, results of tools included.
	Messages int       `json:"messages"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

// A ShownConversation is one conversation as people read it.
type ShownConversation struct {
	ID       string         `json:"id"`
	Messages []ShownMessage `json:"messages"`
}

// A ShownMessage is one message as people read it.
type ShownMessage struct {
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
	out := make([]ShownMessage, len(ms))
	for i, m := range ms {
		out[i] = ShownMessage{m.Turn, m.Role, m.Text, m.Reasoning, m.Results}
	}
	writeJSON(w, http.StatusOK, ShownConversation{r.PathValue("id"), out})
	return nil
}

func (d *Daemon) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	scope := archive.Scope{Principal: d.principal(r), Conversation: r.PathValue("id")}
	leave, err := d.enter(scope)
	if err != nil {
		return err
	}
	defer leave()
	if err := d.cfg.Host.Archive().DeleteConversation(r.Context(), scope); err != nil {
		return err
	}
	d.cfg.Host.Forget(host.Principal(scope.Principal), scope.Conversation)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
