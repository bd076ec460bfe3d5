package daemon

import (
	"errors"
	"io"
	"net/http"
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
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/turns"
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
			Query: []openapi.Param{limitTo("100, and never more than 1000"), param("cursor", "string", "what the page before named as next"), ofID()},
			Gives: ConversationList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/conversations/search",
			Auth: openapi.Token, Handle: c.searchConversations,
			About: "Find words in the messages and titles",
			Query: []openapi.Param{param("q", "string", "words that one message or title contains, all of them"), limitTo("20")},
			Gives: ConversationsFound{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/conversations/{id}",
			Auth: openapi.Token, Handle: c.showConversation,
			About: "Show a conversation's messages",
			Gives: ShownConversation{},
			Fails: []int{404},
		},
		{
			Method: "PATCH", Path: "/api/conversations/{id}",
			Auth: openapi.Token, Handle: c.renameConversation,
			About: "Give a conversation another title",
			Takes: Renaming{},
			Needs: []string{"title"},
			Gives: ConversationRow{},
			Fails: []int{404},
		},
		{
			Method: "DELETE", Path: "/api/conversations/{id}",
			Auth: openapi.Token, Handle: c.deleteConversation,
			About: "Delete a conversation with its archives",
			Gives: DeletedConversation{},
			Fails: []int{404, 409, 503},
		},
	}
}

// givenTitle bounds the title that a person gives, in characters.
const givenTitle = 200

// mostListed is the longest page of conversations.
const mostListed = 1000

// A ConversationList is what GET /api/conversations answers, the one used last
// first.
type ConversationList struct {
	Conversations []ConversationRow `json:"conversations"`
	// Next is the cursor of the next page; left out: this page is the last.
	Next string `json:"next,omitempty"`
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
	// Turns are those that were counted, Calls those of tools, Cut how many of
	// their results were not shown whole.
	Turns int `json:"turns"`
	Calls int `json:"calls"`
	Cut   int `json:"cut"`
	// Archives are the results that are kept whole, ArchiveBytes what they take on
	// disk.
	Archives     int   `json:"archives"`
	ArchiveBytes int64 `json:"archive_bytes"`
	// Models are those that answered, the last one first.
	Models []string `json:"models"`
	// Tokens as the providers count them; CachedPrompt is a part of Prompt.
	Prompt       int64 `json:"prompt_tokens"`
	Completion   int64 `json:"completion_tokens"`
	CachedPrompt int64 `json:"cached_prompt_tokens,omitempty"`
	// Cost is what they came to, by currency, where prices are known.
	Cost []store.Cost `json:"cost,omitempty"`
}

func conversationRow(c store.Totals) ConversationRow {
	return ConversationRow{c.ID, c.Title, c.Profile, c.Messages, c.Created, c.Updated, c.Turns, c.Calls, c.Cut, c.Archives, c.ArchiveBytes,
		append([]string{}, c.Models...), c.Prompt, c.Completion, c.CachedPrompt, c.Costs}
}

func (c *conversations) listConversations(w http.ResponseWriter, r *http.Request) error {
	limit, err := queryInt(r, "limit", store.DefaultConversations)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = store.DefaultConversations
	}
	list, next, err := c.store.Page(r.Context(), access.Principal(r), store.PageOptions{
		Limit: min(limit, mostListed), After: r.URL.Query().Get("cursor"), ID: r.URL.Query().Get("id"),
	})
	if err != nil {
		return err
	}
	out := ConversationList{Conversations: []ConversationRow{}, Next: next}
	for _, c := range list {
		out.Conversations = append(out.Conversations, conversationRow(c))
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// A ShownConversation is one conversation as people read it.
type ShownConversation struct {
	ID           string          `json:"id"`
	Conversation ConversationRow `json:"conversation"`
	Messages     []ShownMessage  `json:"messages"`
}

// A ShownMessage is one message as people read it.
type ShownMessage struct {
	Turn      int           `json:"turn"`
	Role      agent.Role    `json:"role"`
	Text      string        `json:"text,omitempty"`
	Reasoning string        `json:"reasoning,omitempty"`
	Calls     []tool.Call   `json:"calls,omitempty"`
	Results   []ShownResult `json:"results,omitempty"`
	Model     string        `json:"model,omitempty"`
	At        time.Time     `json:"at"`
}

// A ShownResult is a result in the history, with its entry in the call log.
type ShownResult struct {
	agent.ResultEntry
	// Shown are the characters that the model was shown when it came, Layer which
	// limit decided; empty: it was not cut, or nothing is known.
	Shown     int        `json:"shown,omitempty"`
	Layer     tool.Layer `json:"layer,omitempty"`
	ElapsedMS int64      `json:"elapsed_ms,omitempty"`
}

func (c *conversations) showConversation(w http.ResponseWriter, r *http.Request) error {
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	sums, err := c.store.Totals(r.Context(), scope)
	if err != nil {
		return err
	}
	rows, err := c.store.Messages(r.Context(), scope)
	if err != nil {
		return err
	}
	ms, err := turns.Messages(rows)
	if err != nil {
		return err
	}
	uses, err := c.store.Calls(r.Context(), scope, time.Time{})
	if err != nil {
		return err
	}
	out := make([]ShownMessage, len(ms))
	for i, m := range ms {
		out[i] = ShownMessage{m.Turn, m.Role, m.Text, m.Reasoning, m.Calls, shownResults(m, uses), m.Model, m.At}
	}
	httpjson.Write(w, http.StatusOK, ShownConversation{scope.Conversation, conversationRow(sums), out})
	return nil
}

// shownResults adds the entries of the call log to the results of a message. A call's
// id is unique in its turn.
func shownResults(m agent.Message, uses []store.Call) []ShownResult {
	var out []ShownResult
	for _, e := range m.Results {
		res := ShownResult{ResultEntry: e}
		for _, u := range uses {
			if u.Turn == m.Turn && u.CallID == e.CallID && u.Tool == e.Tool {
				res.Shown, res.Layer, res.ElapsedMS = u.Shown, tool.Layer(u.Layer), u.Duration.Milliseconds()
			}
		}
		out = append(out, res)
	}
	return out
}

// A Renaming is the body of PATCH /api/conversations/{id}.
type Renaming struct {
	// Title has at most 200 characters; those that do not show are left out.
	// Empty: the title is made from the first question again.
	Title string `json:"title"`
}

func (c *conversations) renameConversation(w http.ResponseWriter, r *http.Request) error {
	var body Renaming
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	title := turns.CleanTitle(body.Title)
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
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, conversationRow(sums))
	return nil
}

// ConversationsFound is what a search came to, the conversation used last first.
type ConversationsFound struct {
	Hits []ConversationHit `json:"hits"`
	// Stopped says that older conversations were not looked at: use rarer words,
	// or a higher limit.
	Stopped bool `json:"stopped"`
}

// A ConversationHit is a message or title that contains all words.
type ConversationHit struct {
	Conversation string `json:"conversation_id"`
	Title        string `json:"title"`
	// Where is title, question, answer or result; Message counts the messages from
	// 1 and is 0 in a title.
	Where   string    `json:"where"`
	Message int       `json:"message"`
	Turn    int       `json:"turn"`
	Created time.Time `json:"created_at"`
	Line    int       `json:"line"` // of the message, from 1
	Snippet string    `json:"snippet"`
}

func (c *conversations) searchConversations(w http.ResponseWriter, r *http.Request) error {
	limit, err := queryInt(r, "limit", archive.DefaultHits)
	if err != nil {
		return err
	}
	found, err := c.store.Search(r.Context(), access.Principal(r), r.URL.Query().Get("q"), store.SearchOptions{Limit: min(limit, mostListed)})
	if err != nil {
		return err
	}
	out := ConversationsFound{Hits: []ConversationHit{}, Stopped: found.Stopped}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, ConversationHit{h.Conversation.ID, h.Conversation.Title, h.Where, h.Seq, h.Turn, h.Created, h.Line, h.Snippet})
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// A DeletedConversation says what went with a conversation. What its turns took
// of quotas stays counted, and backups keep what they hold.
type DeletedConversation struct {
	ID           string `json:"id"`
	Messages     int    `json:"messages"`
	Calls        int    `json:"calls"`
	Archives     int    `json:"archives"`
	ArchiveBytes int64  `json:"archive_bytes"`
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
	httpjson.Write(w, http.StatusOK, DeletedConversation{scope.Conversation, gone.Messages, gone.Calls, gone.Archives, gone.ArchiveBytes})
	return nil
}
