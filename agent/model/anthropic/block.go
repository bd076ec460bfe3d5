package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

var (
	// errRefused is the end of a reply that a classifier of the provider ended.
	errRefused = errors.New("refused")
	errBlocks  = errors.New("an event for no block")
)

// A block is one part of a reply: text, thought or a call.
type block struct {
	kind            string
	text, signature strings.Builder // text: of a call its arguments, of a hidden thought its data
	id, name        string
	closed          bool
}

// An assembler collects what may only be delivered when the reply is complete.
type assembler struct {
	blocks []*block
	at     map[int64]*block
	usage  agent.Usage
	model  string // as the server calls it
	reason agent.Finish
	held   int  // of what is not delivered at once, in bytes
	over   bool // the server has said that nothing follows
}

// add takes one event in and gives what can be delivered at once.
func (a *assembler) add(e sdk.MessageStreamEventUnion) (agent.Delta, error) {
	switch e.Type {
	case "message_start":
		a.model = string(e.Message.Model)
		u := e.Message.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	case "content_block_start":
		return a.begin(e)
	case "content_block_delta":
		return a.grow(e)
	case "content_block_stop":
		if b := a.at[e.Index]; b != nil {
			b.closed = true
		}
	case "message_delta":
		u := e.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		return agent.Delta{}, a.end(e.Delta.StopReason)
	case "message_stop":
		a.over = a.reason != ""
	}
	return agent.Delta{}, nil
}

func (a *assembler) begin(e sdk.MessageStreamEventUnion) (agent.Delta, error) {
	c := e.ContentBlock
	b := &block{kind: c.Type, id: c.ID, name: c.Name}
	if a.at == nil {
		a.at = map[int64]*block{}
	}
	if a.at[e.Index] != nil {
		return agent.Delta{}, errBlocks
	}
	a.at[e.Index] = b
	a.blocks = append(a.blocks, b)
	b.signature.WriteString(c.Signature)
	var d agent.Delta
	switch c.Type {
	case "text":
		d.Text = c.Text
	case "thinking":
		d.Reasoning = c.Thinking
	case "redacted_thinking":
		b.text.WriteString(c.Data)
	case "tool_use": // its arguments follow; some servers send them here
		if raw, err := json.Marshal(c.Input); err == nil && c.Input != nil && string(raw) != "{}" {
			b.text.Write(raw)
		}
	}
	a.held += wire.HeldCall + len(c.ID) + len(c.Name) + b.text.Len() + b.signature.Len()
	b.text.WriteString(d.Text + d.Reasoning)
	return d, nil
}

func (a *assembler) grow(e sdk.MessageStreamEventUnion) (agent.Delta, error) {
	b := a.at[e.Index]
	if b == nil || b.closed {
		return agent.Delta{}, errBlocks
	}
	var d agent.Delta
	switch e.Delta.Type {
	case "text_delta":
		d.Text = e.Delta.Text
	case "thinking_delta":
		d.Reasoning = e.Delta.Thinking
	case "signature_delta":
		b.signature.WriteString(e.Delta.Signature)
	case "input_json_delta":
		b.text.WriteString(e.Delta.PartialJSON)
	}
	a.held += len(e.Delta.Signature) + len(e.Delta.PartialJSON)
	b.text.WriteString(d.Text + d.Reasoning)
	return d, nil
}

// message takes a whole reply in, of a server that does not stream.
func (a *assembler) message(m sdk.Message) (agent.Delta, error) {
	a.model = string(m.Model)
	a.count(m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens)
	var text, thought strings.Builder
	for _, c := range m.Content {
		b := &block{kind: c.Type, id: c.ID, name: c.Name, closed: true}
		b.signature.WriteString(c.Signature)
		b.text.WriteString(c.Text + c.Thinking + c.Data)
		if c.Type == "tool_use" {
			b.text.Write(c.Input)
		}
		a.blocks = append(a.blocks, b)
		text.WriteString(c.Text)
		thought.WriteString(c.Thinking)
	}
	return agent.Delta{Text: text.String(), Reasoning: thought.String()}, a.end(m.StopReason)
}

// count notes tokens. Reports are sums; a later one may leave out what an
// earlier one told.
func (a *assembler) count(in, out, read, written int64) {
	if in+read+written > 0 {
		a.usage.Prompt, a.usage.CachedPrompt, a.usage.CacheWrite = int(in+read+written), int(read), int(written)
	}
	a.usage.Completion = max(a.usage.Completion, int(out))
}

func (a *assembler) end(reason sdk.StopReason) error {
	switch reason {
	case "":
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		a.reason = agent.FinishLength
	case sdk.StopReasonToolUse:
		a.reason = agent.FinishCalls
	case sdk.StopReasonRefusal:
		return errRefused
	default: // end_turn, stop_sequence, …
		a.reason = agent.FinishStop
	}
	return nil
}

// finish gives the deltas that only a complete reply has.
func (a *assembler) finish() []agent.Delta {
	var out []agent.Delta
	for i, b := range a.blocks {
		// The length limit cuts the last call; it may look complete and not be.
		if b.kind == "tool_use" && b.name != "" && (a.reason != agent.FinishLength || i < len(a.blocks)-1) {
			out = append(out, agent.Delta{Call: &tool.Call{ID: b.id, Tool: b.name, Args: b.args()}})
		}
	}
	last := agent.Delta{Model: a.model, Finish: a.reason}
	switch {
	case len(out) > 0 && a.reason == agent.FinishStop:
		last.Finish = agent.FinishCalls
	case len(out) == 0 && a.reason == agent.FinishCalls:
		last.Finish = agent.FinishStop
	}
	if len(out) > 0 {
		last.Sealed = a.seal()
	}
	if a.usage != (agent.Usage{}) {
		u := a.usage
		last.Usage = &u
	}
	return append(out, last)
}

func (b *block) args() json.RawMessage {
	if s := strings.TrimSpace(b.text.String()); s != "" {
		return json.RawMessage(s)
	}
	return json.RawMessage("{}")
}

// A sealedBlock is a block as it goes back: all of a thought, or its place in
// the reply.
type sealedBlock struct {
	Kind      string          `json:"kind"`
	Text      string          `json:"text,omitempty"`
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
}

// seal keeps the reply as it came, for thoughts go back unchanged and in their
// order, signed.
func (a *assembler) seal() json.RawMessage {
	var list []sealedBlock
	for _, b := range a.blocks {
		s := sealedBlock{Kind: b.kind, ID: b.id, Name: b.name, Text: b.text.String(), Signature: b.signature.String()}
		if b.kind == "tool_use" {
			s.Text, s.Args = "", objectOf(b.args())
		}
		list = append(list, s)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return nil // strings and valid JSON always encode
	}
	return raw
}

// unseal makes the blocks of a sealed reply; nil: there is none, or it is
// another provider's.
func unseal(raw json.RawMessage) []sdk.ContentBlockParamUnion {
	var list []sealedBlock
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []sdk.ContentBlockParamUnion
	for _, s := range list {
		switch s.Kind {
		case "text":
			out = append(out, textOf(s.Text)...)
		case "thinking":
			out = append(out, sdk.NewThinkingBlock(s.Signature, s.Text))
		case "redacted_thinking":
			out = append(out, sdk.NewRedactedThinkingBlock(s.Text))
		case "tool_use":
			out = append(out, sdk.ContentBlockParamUnion{OfToolUse: &sdk.ToolUseBlockParam{ID: s.ID, Name: s.Name, Input: s.Args}})
		}
	}
	return out
}
