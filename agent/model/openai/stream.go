package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// open asks and reads up to the first delta that can be delivered.
func (m *Model) open(ctx context.Context, peer wire.Peer, r agent.Request, tools toolschema.Tools) (*wire.Stream, error) {
	sent := m.dialect.load()
	s, err := m.ask(ctx, peer, r, tools)
	if no, ok := errors.AsType[*wire.Refusal](err); ok && m.learn(sent, r.NoCalls, no) {
		s, err = m.ask(ctx, peer, r, tools)
	}
	return s, peer.Refused(err, tools.Refused)
}

// learn records what a server refuses of a request that was sent in a dialect, and that
// forbids calls or not. It reports whether to ask again in another.
func (m *Model) learn(sent dialectAt, noCalls bool, no *wire.Refusal) bool {
	if no.Status != http.StatusBadRequest && no.Status != http.StatusUnprocessableEntity {
		return false
	}
	switch {
	case bytes.Contains(no.Body, []byte("stream_options")) || bytes.Contains(no.Body, []byte("include_usage")):
		m.dialect.noUsage.Store(true)
		return !sent.noUsage
	case bytes.Contains(no.Body, []byte("max_completion_tokens")):
		m.dialect.newTokens.Store(true)
		return !sent.newTokens
	case bytes.Contains(no.Body, []byte("reasoning_content")): // DeepSeek wants it with calls; its first models refused it
		m.dialect.thoughts.Store(true)
		return !sent.thoughts
	case noCalls && bytes.Contains(no.Body, []byte("tool_choice")):
		m.dialect.noChoice.Store(true)
		return !sent.noChoice
	}
	return false
}

func (m *Model) ask(ctx context.Context, peer wire.Peer, r agent.Request, tools toolschema.Tools) (*wire.Stream, error) {
	return wire.Question{
		Peer: peer, First: m.cfg.FirstTimeout, Stall: m.cfg.StallTimeout, Reply: &reply{peer: peer},
		Send: func(ctx context.Context) (res *http.Response, err error) {
			err = client(m.options).Post(ctx, "chat/completions", m.body(r, tools), &res, option.WithHeader("Accept", "text/event-stream"))
			return res, err
		},
	}.Ask(ctx)
}

// A reply is a wire.Reply. A whole answer has the form of an event.
type reply struct {
	peer wire.Peer
	asm  assembler
}

// Take implements wire.Reply.
func (r *reply) Take(data []byte, _ bool) (wire.Piece, error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return wire.Piece{Over: true}, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("an event that is not JSON of its kind"))
	}
	if said, ok := c.failure(data); ok {
		return wire.Piece{}, r.peer.FromSaid(0, said)
	}
	d, err := r.asm.add(c)
	switch {
	case errors.Is(err, errFiltered):
		return wire.Piece{}, r.peer.Filtered()
	case errors.Is(err, errOverload):
		return wire.Piece{}, r.peer.FromSaid(0, wire.Said{})
	case err != nil:
		return wire.Piece{}, r.peer.Garbage(tool.Text{Format: err.Error()})
	}
	return wire.Piece{Delta: d, Held: r.asm.held, Fed: len(c.Choices) > 0, Complete: r.asm.reason != ""}, nil
}

// Finish implements wire.Reply.
func (r *reply) Finish() []agent.Delta { return r.asm.finish() }
