package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// conversations has the routes of stored conversations.
type conversations struct {
	store     *store.Store
	host      *host.Host
	admission *turns.Admission
	log       hclog.Logger
}

func (c *conversations) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/conversations",
			Auth: openapi.Token, Handle: c.listConversations,
			About: "List the conversations with their sums, the one used last first",
			Query: []openapi.Param{params.Limit("100, and never more than 1000"), params.Query("cursor", "string", "what the page before named as next"), params.ID()},
			Gives: api.ConversationList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/conversations/search",
			Auth: openapi.Token, Handle: c.searchConversations,
			About: "Find words in the messages and titles",
			Query: []openapi.Param{params.Query("q", "string", "words that one message or title contains, all of them"), params.Limit("20")},
			Gives: api.ConversationsFound{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/conversations/{id}",
			Auth: openapi.Token, Handle: c.showConversation,
			About: "Show a conversation's messages",
			Gives: api.ShownConversation{},
			Fails: []int{404},
		},
		{
			Method: "GET", Path: "/api/conversations/{id}/call",
			Auth: openapi.Token, Handle: c.showCall,
			About: "Show a result as the model read it, though a placeholder has replaced it since",
			Query: []openapi.Param{params.Query("turn", "integer", "the turn of the call, from 1"), params.Query("call", "string", "the id of the call")},
			Gives: api.ToolCallResult{},
			Fails: []int{400, 404, 410},
		},
		{
			Method: "PATCH", Path: "/api/conversations/{id}",
			Auth: openapi.Token, Handle: c.renameConversation,
			About: "Give a conversation another title",
			Takes: api.Renaming{},
			Needs: []string{"title"},
			Gives: api.ConversationRow{},
			Fails: []int{404},
		},
		{
			Method: "DELETE", Path: "/api/conversations/{id}",
			Auth: openapi.Token, Handle: c.deleteConversation,
			About: "Delete a conversation with its archives",
			Gives: api.DeletedConversation{},
			Fails: []int{404, 409, 503},
		},
	}
}

// givenTitle bounds the title that a person gives, in characters.
const givenTitle = 200

// mostListed is the longest page of conversations.
const mostListed = 1000

func (c *conversations) listConversations(w http.ResponseWriter, r *http.Request) error {
	limit, err := params.Int(r, "limit", store.DefaultConversations)
	if err != nil {
		return err
	}
	limit = cmp.Or(limit, store.DefaultConversations)
	list, next, err := c.store.Page(r.Context(), access.Principal(r), store.PageOptions{
		Limit: min(limit, mostListed), After: r.URL.Query().Get("cursor"), ID: r.URL.Query().Get("id"),
	})
	if err != nil {
		return err
	}
	out := api.ConversationList{Conversations: []api.ConversationRow{}, Next: next}
	for _, c := range list {
		out.Conversations = append(out.Conversations, api.ConversationRowOf(c))
	}
	return httpjson.Answer(w, out)
}

func (c *conversations) showConversation(w http.ResponseWriter, r *http.Request) error {
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	sums, err := c.store.Totals(r.Context(), scope)
	if err != nil {
		return err
	}
	ms, uses, err := c.read(r.Context(), scope)
	if err != nil {
		return err
	}
	out := make([]api.ShownMessage, len(ms))
	for i, m := range ms {
		out[i] = api.ShownMessage{Turn: m.Turn, Role: m.Role, Text: m.Text, Reasoning: m.Reasoning, Calls: m.Calls, Results: shownResults(m, uses), Model: m.Model, Locale: m.Locale, At: m.At, Remarks: m.Remarks, Unseen: m.Unseen, Sources: m.Sources, Typed: m.Typed}
	}
	return httpjson.Answer(w, api.ShownConversation{ID: scope.Conversation, Conversation: api.ConversationRowOf(sums), Messages: out})
}

// read returns the messages of a conversation and the call log of all its turns.
func (c *conversations) read(ctx context.Context, scope archive.Scope) ([]agent.Message, []store.Call, error) {
	rows, err := c.store.Messages(ctx, scope)
	if err != nil {
		return nil, nil, err
	}
	ms, err := turns.Messages(rows)
	if err != nil {
		return nil, nil, err
	}
	uses, err := c.store.Calls(ctx, scope, time.Time{})
	return ms, uses, err
}

// shownResults adds the entries of the call log to the results of a message. A call's
// id is unique in its turn.
func shownResults(m agent.Message, uses []store.Call) []api.ShownResult {
	var out []api.ShownResult
	for _, e := range m.Results {
		res := api.ShownResult{ResultEntry: e}
		for _, u := range uses {
			if u.Turn == m.Turn && u.CallID == e.CallID && u.Tool == e.Tool {
				res.Shown, res.Layer, res.ElapsedMS = u.Shown, tool.Layer(u.Layer), u.Duration.Milliseconds()
				more := u.More()
				res.Approval, res.SummaryModel = more.Approval, more.SummaryModel
				if v, ok := u.Cut(); ok {
					_, missing := v.Missing()
					res.Limit, res.Unit, res.Summarized = v.Limit, v.Unit, v.Summarized
					res.KeptLines, res.Gaps = api.KeptLinesOf(v), api.GapsOf(v)
					res.LinesProduced, res.LinesShown = v.TotalLines, v.TotalLines-missing
				}
			}
		}
		out = append(out, res)
	}
	return out
}

// showCall cuts a result again from the archived whole, as it was cut for the model.
func (c *conversations) showCall(w http.ResponseWriter, r *http.Request) error {
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	turn, err := params.Int(r, "turn", 0)
	if err != nil {
		return err
	}
	ms, uses, err := c.read(r.Context(), scope)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(uses, func(u store.Call) bool { return u.Turn == turn && u.CallID == r.URL.Query().Get("call") })
	m := slices.IndexFunc(ms, func(m agent.Message) bool { return m.Turn == turn && len(m.Results) > 0 })
	if i < 0 || m < 0 {
		return archive.ErrNotFound
	}
	u := uses[i]
	id, part := u.UUID, archive.Part{}
	if u.Tool == tool.LoadHistory { // what it loaded is what its arguments say
		if id, part, err = archive.ParsePart(argsOf(ms, u)); err != nil {
			return err
		}
	}
	whole, err := c.host.Archive().Peek(r.Context(), scope, id, part)
	if err != nil {
		return err
	}
	e := whole.Entry
	res := tool.Result{Ref: &tool.Ref{UUID: e.UUID, Query: e.Query, Summary: e.Summary, CreatedAt: e.Created, Chars: e.Chars, Lines: e.Lines}}
	if u.Tool == tool.LoadHistory {
		res = history.Loaded(ms[m].Locale, id, part, whole)
		whole.Text = res.Whole()
	}
	v, cut := u.Cut()
	if !cut {
		v.TotalChars, v.TotalLines = limit.Count(whole.Text)
	}
	if v, cut = limit.Restore(whole.Text, v); !cut {
		return archive.ErrNotFound // a summary, or the text of another version of weir
	}
	res.CallID, res.Tool, res.Shown = u.CallID, u.Tool, v
	return httpjson.Answer(w, api.ResultOf(res, u.Duration.Milliseconds(), ms[m].Locale))
}

// argsOf returns the arguments of a call in the log.
func argsOf(ms []agent.Message, u store.Call) json.RawMessage {
	for _, m := range ms {
		for _, c := range m.Calls {
			if m.Turn == u.Turn && c.ID == u.CallID {
				return c.Args
			}
		}
	}
	return nil
}

func (c *conversations) renameConversation(w http.ResponseWriter, r *http.Request) error {
	var body api.Renaming
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	title := api.CleanTitle(body.Title)
	if n := utf8.RuneCountInString(title); n > givenTitle {
		return api.Problemf(http.StatusBadRequest, "bad_title", "give a shorter one", "a title has at most %d characters, and this one has %d", givenTitle, n)
	}
	if title == "" {
		err := c.store.EachMessage(r.Context(), scope, func(m store.Message) error {
			if m.Role == string(agent.RoleUser) && strings.TrimSpace(m.Content) != "" {
				title = turns.Title(nil, m.Content)
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if err := c.store.Rename(r.Context(), scope, title); err != nil {
		return err
	}
	sums, err := c.store.Totals(r.Context(), scope)
	return httpjson.AnswerOr(w, api.ConversationRowOf(sums), err)
}

func (c *conversations) searchConversations(w http.ResponseWriter, r *http.Request) error {
	limit, err := params.Int(r, "limit", archive.DefaultHits)
	if err != nil {
		return err
	}
	found, err := c.store.Search(r.Context(), access.Principal(r), r.URL.Query().Get("q"), store.SearchOptions{Limit: min(limit, mostListed)})
	if err != nil {
		return err
	}
	out := api.ConversationsFound{Hits: []api.ConversationHit{}, Stopped: found.Stopped}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, api.ConversationHit{Conversation: h.Conversation.ID, Title: h.Conversation.Title, Where: h.Where, Message: h.Seq, Turn: h.Turn, Created: h.Created, Line: h.Line, Snippet: h.Snippet})
	}
	return httpjson.Answer(w, out)
}

func (c *conversations) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	leave, err := c.admission.Enter(scope)
	if err != nil {
		return err
	}
	defer leave()
	gone, err := c.store.DeleteConversation(r.Context(), scope)
	if err != nil {
		return err
	}
	c.host.Forget(host.Principal(scope.Principal), scope.Conversation)
	c.log.Info("a conversation was deleted", "conversation", scope.Conversation, "messages", gone.Messages, "archives", gone.Archives)
	return httpjson.Answer(w, api.DeletedConversation{ID: scope.Conversation, Messages: gone.Messages, Calls: gone.Calls, Archives: gone.Archives, ArchiveBytes: gone.ArchiveBytes})
}
