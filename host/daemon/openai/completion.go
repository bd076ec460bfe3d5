package openai

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// A Completion is one answer, or one piece of a stream.
type Completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"` // seconds since 1970
	Model   string             `json:"model"`
	Choices []CompletionChoice `json:"choices"`
	Usage   *CompletionUsage   `json:"usage,omitempty"`
	// Weir contains what OpenAI's protocol has no field for. In a stream, the piece with the
	// finish reason has it.
	Weir *CompletionNote `json:"weir,omitempty"`
}

// A CompletionChoice is the Message of a whole answer or the Delta of a piece. Every
// answer has one; only the piece with the usage has none.
type CompletionChoice struct {
	Index    int                `json:"index"`
	Message  *CompletionMessage `json:"message,omitempty"`
	Delta    *CompletionMessage `json:"delta,omitempty"`
	Finish   *string            `json:"finish_reason"` // stop, length or tool_calls; nil: more pieces follow
	Logprobs *struct{}          `json:"logprobs"`      // always null
}

// A CompletionMessage is the assistant's message, or a piece of it.
type CompletionMessage struct {
	Role      string           `json:"role,omitempty"`
	Content   *string          `json:"content,omitempty"`
	Reasoning string           `json:"reasoning_content,omitempty"`
	Calls     []CompletionCall `json:"tool_calls,omitempty"`
	// Annotations name the sources of an answer; in a stream, the last piece has them.
	Annotations []CompletionAnnotation `json:"annotations,omitempty"`
}

// A CompletionAnnotation names a source of the answer. Its type is url_citation.
type CompletionAnnotation struct {
	Type     string             `json:"type"`
	Citation CompletionCitation `json:"url_citation"`
}

// A CompletionCitation is a place in the content that cites a page: the characters from Start
// on, up to the one at End. Of a page that the model has read and does not cite, both are the
// length of the content.
type CompletionCitation struct {
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	URL   string `json:"url"`
	Title string `json:"title"` // the address, of a page without one
}

// A CompletionCall is a call of one of the client's tools.
type CompletionCall struct {
	Index    *int               `json:"index,omitempty"` // in pieces
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function CompletionFunction `json:"function"`
}

// A CompletionFunction is a tool's name and its arguments, which are a string of JSON.
type CompletionFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A CompletionUsage counts the tokens of all requests for the answer, of which one turn may
// make several: CompletionNote.Requests says how many.
type CompletionUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Parts struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// A CompletionNote names the conversation and the reason for the end of the turn, and
// lists the results of weir's own tools.
type CompletionNote struct {
	Conversation string       `json:"conversation_id"`
	Reason       agent.Reason `json:"reason"`
	// Requests is how often the model was asked for the answer.
	Requests int                  `json:"requests"`
	Results  []api.ToolCallResult `json:"results,omitempty"`
}

// A completion writes one answer. A stream opens with the first piece: an error before
// it becomes an answer with a status.
type completion struct {
	id, model     string
	asked         string // the configured model that the request is for
	created       int64
	stream, usage bool
	w             http.ResponseWriter
	gone          func()
	locale        tool.Locale // of errors
	json          bool        // JSON was asked for: the content is the answer alone
	own           []string    // the client's own tools
	fence         turns.Fence // of the answer, if JSON was asked for

	mu   sync.Mutex      // for the turn and the timer of keepAlive
	said strings.Builder // the text so far
	s    *sse.Stream
	over bool // only finish writes
}

// keepAlive writes a comment whenever the turn is silent for so long, because proxies
// and clients disconnect from silent streams. stop ends that and closes the stream.
func (c *completion) keepAlive(every time.Duration) (stop func()) {
	if !c.stream {
		return func() {}
	}
	still := sse.Beat(every, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.over { // finish may still answer with a status
			return
		}
		c.open()
		c.s.Ping()
	})
	return func() {
		still()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.s != nil {
			c.s.Close()
		}
	}
}

func (c *completion) open() {
	if c.s == nil {
		c.s = sse.New(c.w, c.gone)
		c.piece(CompletionMessage{Role: "assistant", Content: new("")})
	}
}

func (c *completion) observe(name string, data any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case name == api.EventStart:
		start := data.(api.ChatStart)
		if c.s == nil {
			c.w.Header().Set("X-Weir-Conversation", start.Conversation)
		}
		c.answers(start.Model)
	case name == api.EventSwitched:
		c.answers(data.(api.ModelSwitched).To)
	case name == api.EventMissed: // the text so far, from another daemon
		c.said.Reset()
		c.said.WriteString(data.(api.Missed).Text)
	case name == api.EventText:
		text := data.(*api.TextPiece).Text
		if c.json {
			text = c.fence.Without(text)
		}
		if c.said.WriteString(text); c.stream && text != "" {
			c.open()
			c.piece(CompletionMessage{Content: &text})
		}
	case !c.stream:
	case name == api.EventThought:
		c.open()
		c.piece(CompletionMessage{Reasoning: data.(*api.TextPiece).Text})
	}
}

// answers names the model that answers, if it is not the one that was asked for.
func (c *completion) answers(model string) {
	if model != c.asked {
		c.model = model
	}
}

func (c *completion) piece(m CompletionMessage) {
	c.s.Data(c.envelope("chat.completion.chunk", CompletionChoice{Delta: &m}))
}

// last writes the piece with the finish reason, and what weir did.
func (c *completion) last(m CompletionMessage, finish string, note *CompletionNote) {
	out := c.envelope("chat.completion.chunk", CompletionChoice{Delta: &m, Finish: &finish})
	out.Weir = note
	c.s.Data(out)
}

// noteOf returns what weir did for the answer. The client has the texts of its own results.
func (c *completion) noteOf(end api.ChatEnd) *CompletionNote {
	results := slices.Clone(end.Results)
	for i := range results {
		if slices.Contains(c.own, results[i].Tool) {
			results[i].Text = ""
		}
	}
	return &CompletionNote{end.Conversation, end.Reason, end.Rounds, results}
}

func (c *completion) envelope(object string, choices ...CompletionChoice) *Completion {
	if choices == nil {
		choices = []CompletionChoice{}
	}
	return &Completion{ID: c.id, Object: object, Created: c.created, Model: c.model, Choices: choices}
}

// finish writes the whole answer, or the last pieces of a stream. It returns an error
// only if nothing is written yet.
func (c *completion) finish(end api.ChatEnd, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == string(agent.ReasonLength) {
		err = nil // the finish reason says it
	}
	if err != nil {
		if permanent, _ := isPermanent(err); permanent && c.s == nil { // most clients repeat requests after 5xx, some for minutes
			p := *api.AsProblem(err)
			p.Status, p.RetryAfter = http.StatusBadRequest, 0
			return &p
		}
		if c.s == nil {
			return err
		}
		c.s.End()
		c.s.Data(ErrorOf(api.AsProblem(err).In(c.locale)))
		return nil // without [DONE], because the answer is incomplete
	}
	reason := finishOf(end.Reason)
	calls := callsOf(end.Pending, c.stream)
	if c.stream {
		c.open()
		c.s.End()
		if rest := c.fence.Rest(); rest != "" {
			c.said.WriteString(rest)
			c.piece(CompletionMessage{Content: &rest})
		}
		if len(calls) > 0 {
			c.piece(CompletionMessage{Calls: calls})
		}
		c.last(CompletionMessage{Annotations: annotationsOf(c.said.String(), end.Sources)}, reason, c.noteOf(end))
		if c.usage {
			out := c.envelope("chat.completion.chunk")
			out.Usage = usageOf(end.Usage)
			c.s.Data(out)
		}
		c.s.Data("[DONE]")
		return nil
	}
	m := CompletionMessage{Role: "assistant", Reasoning: end.Reasoning, Calls: calls}
	content := end.Answer
	if c.json {
		content = strings.TrimSpace(turns.Unfenced(content))
	}
	if said := c.said.String(); !c.json && strings.TrimSpace(said) != "" { // with what was said before calls, as a stream has it
		content = said
	}
	m.Annotations = annotationsOf(content, end.Sources)
	if m.Content = &content; content == "" && len(calls) > 0 {
		m.Content = nil
	}
	out := c.envelope("chat.completion", CompletionChoice{Message: &m, Finish: &reason})
	out.Usage = usageOf(end.Usage)
	out.Weir = c.noteOf(end)
	return httpjson.Answer(c.w, out)
}

func finishOf(r agent.Reason) string {
	switch r {
	case agent.ReasonToolCalls:
		return "tool_calls"
	case agent.ReasonLength, agent.ReasonTime, agent.ReasonTokens:
		return "length"
	}
	return "stop"
}

func usageOf(u agent.Usage) *CompletionUsage {
	out := &CompletionUsage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Prompt + u.Completion}
	out.Details.Cached, out.Parts.Reasoning = u.CachedPrompt, u.Reasoning
	return out
}

// annotationsOf returns the marks of a content that cite sources, or the sources if it has
// none.
func annotationsOf(content string, sources []agent.Source) []CompletionAnnotation {
	var out []CompletionAnnotation
	add := func(s agent.Source, start, end int) {
		out = append(out, CompletionAnnotation{"url_citation", CompletionCitation{start, end, s.URL, cmp.Or(s.Title, s.URL)}})
	}
	for _, c := range agent.Citations(content, sources) {
		add(c.Source, c.Start, c.End)
	}
	if out == nil && len(sources) > 0 {
		n := utf8.RuneCountInString(content)
		for _, s := range sources {
			add(s, n, n)
		}
	}
	return out
}

func callsOf(pending []api.ToolCallStart, pieces bool) []CompletionCall {
	out := make([]CompletionCall, len(pending))
	for i, c := range pending {
		out[i] = CompletionCall{ID: c.ID, Type: "function", Function: CompletionFunction{c.Tool, string(c.Args)}}
		if pieces {
			out[i].Index = &i
		}
	}
	return out
}
