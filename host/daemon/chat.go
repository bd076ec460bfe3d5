package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/resume"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// chat has the routes on which questions are asked.
type chat struct {
	turns     *turns.Service
	resumable *resume.Turns
	grace     time.Duration // of turns whose client has gone; negative: they end
	beat      func() time.Duration
}

func (c *chat) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/api/chat",
			Auth: openapi.Token, Handle: c.postChat,
			About:   "Ask a question; the answer is a stream of events. With the header Last-Event-ID, the stream of that event resumes and no question is asked",
			Headers: map[string]string{"Last-Event-ID": "the id of the last event that was read"},
			Takes:   api.Ask{},
			Needs:   []string{"message"},
			Kind:    kindStream,
			Fails:   []int{429, 404, 409, 410, 422, 503, 507},
		},
		{
			Method: "GET", Path: "/api/chat",
			Auth: openapi.Token, Handle: c.resumeChat,
			About:   "Resume the stream after the event that the header Last-Event-ID names, or join the answer that runs in a conversation, from its first event",
			Query:   []openapi.Param{params.Query("conversation_id", "string", "the conversation to join; only without the header")},
			Headers: map[string]string{"Last-Event-ID": "the id of the last event that was read"},
			Kind:    kindStream,
			Fails:   []int{400, 404},
		},
		{
			Method: "POST", Path: "/api/chat/fits",
			Auth: openapi.Token, Handle: c.fits,
			About: "Say how much of the archived results that a question would load fits into the model's window",
			Takes: api.Ask{},
			Gives: api.Fits{},
			Fails: []int{400, 404, 410, 422},
		},
		{
			Method: "DELETE", Path: "/api/chat",
			Auth: openapi.Token, Handle: c.endChat,
			About: "End the turn of the event that the header Last-Event-ID names, and answer when the turn is stored. " +
				"Only for questions with resume: other turns end with their connection",
			Headers: map[string]string{"Last-Event-ID": "the id of an event that was read"},
			Fails:   []int{400, 404},
		},
	}
}

// postChat answers a question as a stream of events. The stream opens with the
// first event, so that a question which cannot be asked is a plain answer with
// a status.
//
// A client that lost the stream can request it again with the id of the last event
// it read. Libraries repeat the request automatically; the question must not be asked
// again then.
func (c *chat) postChat(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Last-Event-ID") != "" {
		return c.resumeChat(w, r)
	}
	var ask api.Ask
	if err := httpjson.Read(w, r, &ask); err != nil {
		return err
	}
	if ask.Resume = ask.Resume && c.grace > 0; ask.Resume {
		return c.startResumable(r, turns.Question{Ask: ask}).Serve(w, r, 0)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var s *sse.Stream
	stop := func() {}
	defer func() {
		if stop(); s != nil {
			s.Close()
		}
	}()
	emit := func(name string, data any) {
		if s == nil {
			s = sse.New(w, cancel)
			stop = sse.Beat(c.beat(), s.Ping)
		}
		s.Event(name, data)
	}
	end, err := c.turns.Ask(ctx, access.Principal(r), turns.Question{Ask: ask}, nil, emit)
	if s == nil && err != nil {
		return err
	}
	if s != nil {
		s.End()
	}
	if err != nil {
		end.Error = asProblem(err).In(params.Language(r))
		emit(api.EventError, end.Error)
	}
	emit(api.EventEnd, end)
	return nil
}

// startResumable starts a turn that does not end with its client.
func (c *chat) startResumable(r *http.Request, ask turns.Question) *resume.Turn {
	principal := access.Principal(r)
	return c.resumable.Start(r.Context(), resume.Start{
		Principal: principal, Locale: params.Language(r), Grace: c.grace,
		Run: func(ctx context.Context, t *resume.Turn, emit func(string, any)) (api.ChatEnd, error) {
			ask.Turn, ask.Closing, ask.Flush = t.ID(), t.Closing, t.Flush
			return c.turns.Ask(ctx, principal, ask, nil, emit)
		},
	})
}

// takeOver goes on with a turn of a daemon that is gone, and then calls release.
func (c *chat) takeOver(ctx context.Context, r store.Run, release func()) error {
	if !r.Resumed {
		defer release()
		return c.turns.GiveUp(ctx, r)
	}
	err := c.resumable.Adopt(ctx, resume.Adopted{ID: r.Turn, Conversation: r.Scope.Conversation, Fence: r.Fence, Start: resume.Start{
		Principal: r.Scope.Principal, Grace: c.grace, Locale: tool.En,
		Run: func(ctx context.Context, t *resume.Turn, emit func(string, any)) (api.ChatEnd, error) {
			defer release()
			return c.turns.Continue(ctx, r, turns.Question{Closing: t.Closing, Flush: t.Flush}, emit)
		},
	}})
	if err != nil {
		release()
	}
	return err
}

// resumeChat sends the events of a turn after the last one that the client has read, or
// all of the one that runs in a conversation.
func (c *chat) resumeChat(w http.ResponseWriter, r *http.Request) error {
	if id := r.URL.Query().Get("conversation_id"); id != "" && r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "" {
		t, err := c.resumable.Running(r.Context(), access.Principal(r), id)
		if err != nil {
			return err
		}
		return t.Serve(w, r, 0)
	}
	t, n, err := c.resumable.Find(r.Context(), access.Principal(r), r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	return t.Serve(w, r, n)
}

// fits measures the loads of a question that is not asked yet.
func (c *chat) fits(w http.ResponseWriter, r *http.Request) error {
	var ask api.Ask
	if err := httpjson.Read(w, r, &ask); err != nil {
		return err
	}
	fits, err := c.turns.Fits(r.Context(), access.Principal(r), ask)
	return httpjson.AnswerOr(w, fits, err)
}

// endChat ends a running turn and answers when the turn is stored. A turn that has ended
// stays unchanged.
func (c *chat) endChat(w http.ResponseWriter, r *http.Request) error {
	t, _, err := c.resumable.Find(r.Context(), access.Principal(r), r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if err := t.End(r.Context()); err != nil || r.Context().Err() != nil {
		return err // nil: the client has disconnected
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
