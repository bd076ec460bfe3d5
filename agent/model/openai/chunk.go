package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// A chunk is one event of a stream, or a whole answer, in the forms that
// servers really send.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Model   text            `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
}

type choice struct {
	Index        int      `json:"index"`
	Delta        *message `json:"delta"`
	Message      *message `json:"message"` // of an answer that is not streamed
	FinishReason string   `json:"finish_reason"`
}

type message struct {
	Content          text   `json:"content"`
	Refusal          string `json:"refusal"`
	ReasoningContent text   `json:"reasoning_content"`
	Reasoning        text   `json:"reasoning"`
	Thinking         text   `json:"thinking"`
	ToolCalls        []part `json:"tool_calls"`
}

// A part is a piece of a native call. Index is missing where a server sends
// calls whole.
type part struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments text   `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt     wire.Tokens `json:"prompt_tokens"`
	Completion wire.Tokens `json:"completion_tokens"`
	CacheHit   wire.Tokens `json:"prompt_cache_hit_tokens"` // DeepSeek
	Details    struct {
		Cached wire.Tokens `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Parts struct {
		Reasoning wire.Tokens `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// UnmarshalJSON returns no error: what is no usage counts nothing.
func (u *usage) UnmarshalJSON(raw []byte) error {
	type plain usage
	var p plain
	if json.Unmarshal(raw, &p) == nil {
		*u = usage(p)
	}
	return nil
}

// text reads a string, a list of text parts, or, for arguments, an object,
// which stays JSON.
type text string

// UnmarshalJSON never fails on valid JSON.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		var all strings.Builder
		for _, p := range parts {
			all.WriteString(p.Text)
		}
		*t = text(all.String())
		return nil
	}
	*t = text(raw)
	return nil
}

// failure is an error that a server sends inside the stream.
func (c chunk) failure(data []byte) (wire.Said, bool) {
	if len(c.Error) == 0 || string(c.Error) == "null" || string(c.Error) == `""` || string(c.Error) == "{}" {
		return wire.Said{}, false
	}
	return wire.ReadSaid(data), true
}

// Ends of a reply that are failures.
var (
	errFiltered = errors.New("content filter")
	errOverload = errors.New("no resources")
)

// An assembler collects what may only be delivered when the reply is complete.
type assembler struct {
	calls  []*pending
	byPos  map[int]*pending
	usage  *agent.Usage
	model  string // as the server calls it
	reason agent.Finish
	held   int // of all calls, in bytes
	spoke  bool
	before int // calls before the last text
}

type pending struct {
	id, name string
	args     strings.Builder
}

// add takes one chunk in and gives what can be delivered at once.
func (a *assembler) add(c chunk) (agent.Delta, error) {
	if c.Model != "" {
		a.model = string(c.Model)
	}
	if c.Usage != nil && c.Usage.Prompt+c.Usage.Completion > 0 {
		a.usage = c.Usage.count()
	}
	var said, thought strings.Builder
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // we ask for one reply
		}
		m := cmp.Or(ch.Delta, ch.Message)
		if m != nil {
			said.WriteString(a.apart(string(m.Content) + m.Refusal))
			thought.WriteString(string(m.thought()))
			a.collect(m.ToolCalls)
		}
		if err := a.end(ch.FinishReason); err != nil {
			return agent.Delta{}, err
		}
	}
	return agent.Delta{Model: a.model, Text: said.String(), Reasoning: thought.String()}, nil
}

// apart puts an empty line in front of text that follows calls: they are delivered after it,
// and it would run into the text before them.
func (a *assembler) apart(text string) string {
	if a.spoke && len(a.calls) > a.before {
		if text = strings.TrimLeft(text, " \r\n"); text != "" {
			text = "\n\n" + text
		}
	}
	if strings.TrimSpace(text) != "" {
		a.spoke, a.before = true, len(a.calls)
	}
	return text
}

// thought takes one of the names, since some servers send two.
func (m message) thought() text { return cmp.Or(m.ReasoningContent, m.Reasoning, m.Thinking) }

func (a *assembler) end(reason string) error {
	switch reason {
	case "":
	case "length", "max_tokens", "model_length":
		a.reason = agent.FinishLength
	case "tool_calls", "function_call", "tool_use":
		a.reason = agent.FinishCalls
	case "content_filter", "sensitive":
		return errFiltered
	case "insufficient_system_resource", "error", "network_error":
		return errOverload
	default: // stop, eos, end_turn, …
		a.reason = agent.FinishStop
	}
	return nil
}

func (a *assembler) collect(parts []part) {
	for _, p := range parts {
		call := a.find(p)
		if p.ID != "" {
			call.id = p.ID
		}
		// A name comes whole, but some servers repeat it in every piece.
		if p.Function.Name != "" && call.name == "" {
			call.name = p.Function.Name
			a.held += len(call.name)
		}
		call.args.WriteString(string(p.Function.Arguments))
		a.held += len(p.Function.Arguments)
	}
}

// find gives the call that a piece belongs to. Pieces go by index. Without one,
// or where a server gives every call the index 0, a new id begins a new call,
// and so does a name where there are no ids.
func (a *assembler) find(p part) *pending {
	pos := len(a.calls) - 1
	if p.Index != nil {
		pos = *p.Index
	}
	call := a.byPos[pos]
	switch {
	case call == nil:
	case p.ID == "" && (p.Index != nil || p.Function.Name == ""):
		return call
	case p.ID != "" && (call.id == p.ID || call.id == "" && p.Index != nil || p.Function.Name == ""):
		return call
	}
	call = &pending{}
	a.calls = append(a.calls, call)
	a.held += len(p.ID) + wire.HeldCall
	if a.byPos == nil {
		a.byPos = map[int]*pending{}
	}
	if p.Index == nil {
		pos = len(a.calls) - 1
	}
	a.byPos[pos] = call
	return call
}

// finish gives the deltas that only a complete reply has. Without a reason the
// reply is not complete and there are none.
func (a *assembler) finish() []agent.Delta {
	if a.reason == "" {
		return nil
	}
	var out []agent.Delta
	for i, p := range a.calls {
		// The length limit cuts the last call; it may look complete and not be.
		if p.name == "" || a.reason == agent.FinishLength && i == len(a.calls)-1 {
			continue
		}
		out = append(out, agent.Delta{Call: p.call()})
	}
	reason := a.reason
	switch { // some servers stop with calls, or say calls and have none
	case len(out) > 0 && reason == agent.FinishStop:
		reason = agent.FinishCalls
	case len(out) == 0 && reason == agent.FinishCalls:
		reason = agent.FinishStop
	}
	return append(out, agent.Delta{Usage: a.usage, Model: a.model, Finish: reason})
}

func (p *pending) call() *tool.Call {
	args := cmp.Or(strings.TrimSpace(p.args.String()), "{}")
	if p.id == "" {
		p.id = "call_" + strings.ToLower(rand.Text()[:10])
	}
	return &tool.Call{ID: p.id, Tool: p.name, Args: json.RawMessage(args)}
}

func (u *usage) count() *agent.Usage {
	return &agent.Usage{Prompt: int(u.Prompt), Completion: int(u.Completion), Reasoning: int(u.Parts.Reasoning), CachedPrompt: int(max(u.CacheHit, u.Details.Cached))}
}
