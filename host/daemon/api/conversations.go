package api

import (
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

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
	// Passed says that the requests were passed through, for a client with a loop of its own:
	// Client is its name, Label what it calls the conversation; empty: unknown.
	Passed bool   `json:"passed,omitempty"`
	Client string `json:"client,omitempty"`
	Label  string `json:"label,omitempty"`
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

// ConversationRowOf returns the row of a stored conversation.
func ConversationRowOf(c store.Totals) ConversationRow {
	return ConversationRow{c.ID, c.Title, c.Profile, c.Passed, c.Client, c.Label, c.Messages, c.Created, c.Updated, c.Turns, c.Calls, c.Cut, c.Archives, c.ArchiveBytes,
		append([]string{}, c.Models...), c.Prompt, c.Completion, c.CachedPrompt, c.Costs}
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
	Locale    tool.Locale   `json:"locale,omitempty"` // of the turn
	At        time.Time     `json:"at"`
	// Remarks are what people saw after the message, and Unseen is how many characters at
	// the end of Text they did not see.
	Remarks []agent.Remark `json:"remarks,omitempty"`
	Unseen  int            `json:"unseen,omitempty"`
	// Sources are the pages that an answer cites as [n], or else the first that the model
	// has read for it.
	Sources []agent.Source `json:"sources,omitempty"`
	// Typed is the part of a question that a person typed, in characters; absent: none is, or
	// that is not known.
	Typed agent.Span `json:"typed,omitzero"`
}

// A ShownResult is a result in the history, with its entry in the call log.
type ShownResult struct {
	agent.ResultEntry
	// Shown are the characters that the model was shown when it came, Layer which
	// limit decided; empty: it was not cut, or nothing is known.
	Shown     int        `json:"shown,omitempty"`
	Layer     tool.Layer `json:"layer,omitempty"`
	ElapsedMS int64      `json:"elapsed_ms,omitempty"`
	// Limit is the figure of Layer, of Unit, and LinesProduced and LinesShown count
	// lines, if the result was cut.
	Limit         int       `json:"limit,omitempty"`
	Unit          tool.Unit `json:"unit,omitempty"`
	LinesProduced int       `json:"lines_produced,omitempty"`
	LinesShown    int       `json:"lines_shown,omitempty"`
	Summarized    bool      `json:"summarized,omitempty"`
	// KeptLines are the lines that were shown for an expression; the route of the call
	// returns them with the expressions.
	KeptLines []int `json:"kept_lines,omitempty"`
	// Gaps are the lines of the whole that were not shown, in order.
	Gaps []Gap `json:"gaps,omitempty"`
	// Approval says who decided whether the call ran; nil: there was nothing to decide.
	Approval *tool.Approval `json:"approval,omitempty"`
	// SummaryModel is the model that wrote the text of a result with Summarized.
	SummaryModel string `json:"summary_model,omitempty"`
}

// A Renaming is the body of PATCH /api/conversations/{id}.
type Renaming struct {
	// Title has at most 200 characters; those that do not show are left out.
	// Empty: the title is made from the first question again.
	Title string `json:"title"`
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

// A DeletedConversation says what went with a conversation. What its turns took
// of quotas stays counted, and backups keep what they hold.
type DeletedConversation struct {
	ID           string `json:"id"`
	Messages     int    `json:"messages"`
	Calls        int    `json:"calls"`
	Archives     int    `json:"archives"`
	ArchiveBytes int64  `json:"archive_bytes"`
}
