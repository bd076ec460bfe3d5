package turns

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Question is what begins a turn: an Ask, and what a client of /v1 adds to it.
type Question struct {
	api.Ask
	// Turn is the id of the turn, whose events are kept where daemons share a database; empty:
	// none are.
	Turn string
	// Closing returns the events that are not stored yet, with the last ones of a turn that ends
	// so, to be stored with its end, and calls show before these. done is then called; nil: they
	// are stored in another way. A nil Closing is one that returns that.
	Closing func(show func(), end api.ChatEnd, err error) (last store.Events, done func(stored bool))
	// Flush stores the events so far, and reports whether it could: a client that has none asks
	// again. A nil Flush has nothing to store.
	Flush func() bool
	// Before are questions of a client of /v1 which the Message follows without an answer
	// between them. They were not typed now.
	Before string
	// brought says that a client brought the history and names no conversation.
	brought bool
	// typed is the part of the Message that a person typed.
	typed agent.Span
	// Spoken are the messages that the client sent before the question.
	Spoken []Said
	// Mark is the mark of the conversation that Spoken was found as; empty: the
	// conversation was not found by its messages.
	Mark string
	// System extends the system prompt for this question.
	System string
	// Options are further wishes for the answer; nil: none.
	Options *Options
	// Answers are results of the client's own tools. Without a Message, the turn that
	// waits for them continues.
	Answers []Answer
}

// maxTyped is the longest message that counts as typed, in characters: a longer one is a paste.
const maxTyped = 4000

// composed returns the question with one text as its Message: what is Before it, what was typed,
// and what is Attached.
func (q Question) composed() Question {
	var b strings.Builder
	add := func(text string) {
		if b.Len() > 0 && text != "" {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	add(q.Before)
	if add(q.Message); utf8.RuneCountInString(q.Message) <= maxTyped {
		to := utf8.RuneCountInString(b.String())
		q.typed = agent.Span{From: to - utf8.RuneCountInString(q.Message), To: to}
	}
	for _, a := range q.Attached {
		if a.Name != "" {
			a.Text = a.Name + ":\n" + a.Text
		}
		add(a.Text)
	}
	q.Message, q.Before, q.Attached = b.String(), "", nil
	return q
}

// Options are the wishes of a client of /v1 for one answer.
type Options struct {
	// Tools are the client's own tools.
	Tools []tool.Spec
	// WeirTools offers weir's tools too.
	WeirTools bool
	// NoTools offers no tools at all.
	NoTools bool
	Choice  agent.Choice
	// OneCall allows one call for each reply.
	OneCall bool

	MaxTokens int // 0: the provider's limit
	Stop      []string
	Sampling  agent.Sampling
	Format    *agent.Format
	// AsItComes says that the client reads the answer while it comes.
	AsItComes bool
}

// apply sets the options in a profile's configuration. A tool that the profile hides
// stays hidden.
func (o *Options) apply(cfg *agent.Config) {
	if !o.WeirTools {
		cfg.EnableToolCalling = false
	}
	if !o.NoTools {
		cfg.Caller = o.Tools
	}
	cfg.Choice, cfg.OneCall = o.Choice, o.OneCall
	cfg.MaxTokens, cfg.Stop, cfg.Sampling, cfg.Format = o.MaxTokens, o.Stop, o.Sampling, o.Format
	if cfg.AsItComes = o.AsItComes; o.Format != nil {
		cfg.AnswerFault = faultOf(o.Format)
	}
}

// An Answer is the result of a call of the client's own tool.
type Answer struct {
	CallID string
	// Tool and Args are the call's; empty if the request does not contain the call.
	Tool string
	Args json.RawMessage
	Text string
}

// Result returns the whole answer as a result.
func (a Answer) Result() tool.Result {
	text := limit.Normalise([]byte(a.Text))
	chars, lines := limit.Count(text)
	return tool.Result{CallID: a.CallID, Tool: a.Tool, Shown: tool.View{Text: text, TotalChars: chars, TotalLines: lines}}.WithWhole(text)
}

// maxTitle bounds a title that is made from a question, in characters.
const maxTitle = 60

// Title returns the title of a new conversation: the first line of its first question.
func Title(history []agent.Message, question string) string {
	for _, m := range history {
		if m.Role == agent.RoleUser && strings.TrimSpace(m.Text) != "" {
			question = m.Text
			break
		}
	}
	title := api.CleanTitle(FirstLine(question))
	if title == "" {
		title = api.CleanTitle(question)
	}
	return api.Clip(title, maxTitle)
}
