package daemon

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
)

// A Completion is one answer in OpenAI's shape, or one piece of it.
type Completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"` // seconds since 1970
	Model   string             `json:"model"`
	Choices []CompletionChoice `json:"choices"`
	Usage   *CompletionUsage   `json:"usage,omitempty"`
	// Weir tells what OpenAI's protocol has no place for; not in pieces.
	Weir *CompletionNote `json:"weir,omitempty"`
}

// A CompletionChoice holds the answer, Message of a whole one or Delta of a
// piece. There is always one, but in the piece that holds the usage.
type CompletionChoice struct {
	Index    int                `json:"index"`
	Message  *CompletionMessage `json:"message,omitempty"`
	Delta    *CompletionMessage `json:"delta,omitempty"`
	Finish   *string            `json:"finish_reason"` // stop, length or tool_calls; nil: it goes on
	Logprobs *struct{}          `json:"logprobs"`      // always null
}

// A CompletionMessage is what the assistant says, or a piece of it.
type CompletionMessage struct {
	Role      string           `json:"role,omitempty"`
	Content   *string          `json:"content,omitempty"`
	Reasoning string           `json:"reasoning_content,omitempty"`
	Calls     []CompletionCall `json:"tool_calls,omitempty"`
}

// A CompletionCall is a call of one of the caller's tools.
type CompletionCall struct {
	Index    *int               `json:"index,omitempty"` // in pieces
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function CompletionFunction `json:"function"`
}

// A CompletionFunction names a tool and its arguments, which are JSON in a text.
type CompletionFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A CompletionUsage counts the tokens of all replies that the answer took.
type CompletionUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// A CompletionNote says which conversation goes on, why the turn ended, and what
// weir's own tools gave.
type CompletionNote struct {
	Conversation string               `json:"conversation_id"`
	Reason       agent.Reason         `json:"reason"`
	Results      []api.ToolCallResult `json:"results,omitempty"`
}

// A completion writes one answer. Its stream opens with the first piece, so that
// what fails before it is an answer with a status.
type completion struct {
	id, model     string
	created       int64
	stream, usage bool
	w             http.ResponseWriter
	gone          func()
	render        func(*api.Problem) *api.Problem // in the language of the client

	mu   sync.Mutex // the turn writes, and the timer that keeps the stream alive
	s    *sse.Stream
	over bool // nothing is written any more but by whoever called
}

// keepAlive writes something whenever the turn is silent for so long: proxies
// and clients give up on what they hear nothing from. The function it returns
// stops it, and closes the stream.
func (c *completion) keepAlive(every time.Duration) (stop func()) {
	if !c.stream {
		return func() {}
	}
	still := sse.Beat(every, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.over { // an answer with a status may follow
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
		empty := ""
		c.piece(CompletionMessage{Role: "assistant", Content: &empty}, "")
	}
}

func (c *completion) observe(name string, data any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case name == api.EventStart && c.s == nil:
		c.w.Header().Set("X-Weir-Conversation", data.(api.ChatStart).Conversation)
	case !c.stream:
	case name == api.EventText:
		c.open()
		c.piece(CompletionMessage{Content: &data.(*api.TextPiece).Text}, "")
	case name == api.EventThought:
		c.open()
		c.piece(CompletionMessage{Reasoning: data.(*api.TextPiece).Text}, "")
	}
}

func (c *completion) piece(m CompletionMessage, finish string) {
	choice := CompletionChoice{Delta: &m}
	if finish != "" {
		choice.Finish = &finish
	}
	c.s.Data(c.envelope("chat.completion.chunk", choice))
}

func (c *completion) envelope(object string, choices ...CompletionChoice) *Completion {
	if choices == nil {
		choices = []CompletionChoice{}
	}
	return &Completion{ID: c.id, Object: object, Created: c.created, Model: c.model, Choices: choices}
}

// finish writes the whole answer, or the last pieces of a stream. An error that
// nothing was written in front of is returned.
func (c *completion) finish(end api.ChatEnd, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if err != nil {
		if c.s == nil {
			return err
		}
		c.s.End()
		c.s.Data(inOpenAIsShape(c.render(asProblem(err))))
		return nil // without [DONE]: the answer did not come to its end
	}
	reason := finishOf(end.Reason)
	calls := callsOf(end.Pending, c.stream)
	if c.stream {
		c.open()
		c.s.End()
		if len(calls) > 0 {
			c.piece(CompletionMessage{Calls: calls}, "")
		}
		c.piece(CompletionMessage{}, reason)
		if c.usage {
			out := c.envelope("chat.completion.chunk")
			out.Usage = usageOf(end.Usage)
			c.s.Data(out)
		}
		c.s.Data("[DONE]")
		return nil
	}
	m := CompletionMessage{Role: "assistant", Reasoning: end.Reasoning, Calls: calls}
	if m.Content = &end.Answer; end.Answer == "" && len(calls) > 0 {
		m.Content = nil
	}
	out := c.envelope("chat.completion", CompletionChoice{Message: &m, Finish: &reason})
	out.Usage = usageOf(end.Usage)
	out.Weir = &CompletionNote{end.Conversation, end.Reason, end.Results}
	writeJSON(c.w, http.StatusOK, out)
	return nil
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
	out.Details.Cached = u.CachedPrompt
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

// An OpenAIError is a problem in OpenAI's shape.
type OpenAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
		Hint    string  `json:"hint,omitempty"`
	} `json:"error"`
}

// inOpenAIsShape says a problem as OpenAI's clients read it: they show the
// message alone, so the hint stands in it too.
func inOpenAIsShape(p *api.Problem) OpenAIError {
	var out OpenAIError
	e := &out.Error
	e.Message, e.Code, e.Hint = p.Error(), p.Code, p.Hint.String()
	if p.Code == "model_"+string(agent.ModelWindow) {
		e.Code = "context_length_exceeded" // which clients look for
	}
	if p.Param != "" {
		e.Param = &p.Param
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case p.Status == http.StatusForbidden:
		e.Type = "permission_error"
	case p.Status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case p.Status >= 500:
		e.Type = "server_error"
	default:
		e.Type = "invalid_request_error"
	}
	return out
}

// inVain reports whether the same request would fail again however long its
// client waits, so that clients which repeat requests by their status do not.
func inVain(p *api.Problem) bool {
	if p.Code == api.CodeQuota { // a client that repeats requests waits for a minute at most
		return p.RetryAfter <= 0 || p.RetryAfter > time.Minute
	}
	return p.Status >= 500 && strings.HasPrefix(p.Code, "model_") &&
		(p.Code == "model_"+string(agent.ModelAuth) || p.Code == "model_"+string(agent.ModelNotFound) || p.Code == "model_"+string(agent.ModelGarbage))
}
