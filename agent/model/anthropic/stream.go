package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// open asks and reads up to the first delta that can be delivered.
func (m *Model) open(ctx context.Context, peer wire.Peer, r agent.Request, tools toolschema.Tools, about shown) (*wire.Stream, error) {
	s, err := m.ask(ctx, peer, m.body(r, tools, about, false))
	if no, ok := errors.AsType[*wire.Refusal](err); ok && m.thoughtless(no) {
		s, err = m.ask(ctx, peer, m.body(r, tools, about, true))
	}
	return s, peer.Refused(err, tools.Refused)
}

// thoughtless reports whether a server refuses to think on from calls that came
// without thoughts: those that the configuration made, or another model.
func (m *Model) thoughtless(no *wire.Refusal) bool {
	_, thinks := m.cfg.Extra["thinking"]
	return thinks && no.Status == http.StatusBadRequest && bytes.Contains(no.Body, []byte("xpected `thinking`"))
}

func (m *Model) ask(ctx context.Context, peer wire.Peer, body wire.Body) (*wire.Stream, error) {
	return wire.Question{
		Peer: peer, First: m.cfg.FirstTimeout, Stall: m.cfg.StallTimeout, Reply: &reply{peer: peer},
		Send: func(ctx context.Context) (res *http.Response, err error) {
			err = client(m.options).Post(ctx, "v1/messages", body, &res, option.WithHeader("Accept", "text/event-stream"))
			return res, err
		},
	}.Ask(ctx)
}

// A reply is a wire.Reply.
type reply struct {
	peer wire.Peer
	asm  assembler
}

// Take implements wire.Reply.
func (r *reply) Take(data []byte, whole bool) (wire.Piece, error) {
	kind, err := eventType(r.peer, data, whole)
	switch {
	case err != nil || kind == "ping":
		return wire.Piece{}, err
	case whole:
		return r.message(data)
	}
	var e sdk.MessageStreamEventUnion
	if json.Unmarshal(data, &e) != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("an event that is not JSON of its kind"))
	}
	return r.piece(r.asm.add(e))
}

// eventType returns what kind of event the server sent, or what it says in place of one.
func eventType(p wire.Peer, data []byte, whole bool) (string, error) {
	var top struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(data, &top)
	switch {
	case err == nil && top.Type == "error":
		return "", p.FromSaid(0, wire.ReadSaid(data))
	case whole && (err != nil || top.Type != "message"):
		return "", p.Garbage(tool.Textf("a JSON text without an answer"))
	case err != nil || top.Type == "":
		return "", p.Garbage(tool.Textf("an event that is not JSON of its kind"))
	}
	return top.Type, nil
}

// message reads an answer of a server that does not stream.
func (r *reply) message(data []byte) (wire.Piece, error) {
	var m sdk.Message
	if json.Unmarshal(data, &m) != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("a JSON text without an answer"))
	}
	return r.piece(r.asm.message(m))
}

func (r *reply) piece(d agent.Delta, err error) (wire.Piece, error) {
	switch {
	case errors.Is(err, errRefused):
		return wire.Piece{}, r.peer.Filtered()
	case err != nil:
		return wire.Piece{}, r.peer.Garbage(tool.Textf("blocks that do not fit together"))
	}
	d.Model = r.asm.model
	return wire.Piece{Delta: d, Held: r.asm.held, Fed: true, Complete: r.asm.reason != "", Over: r.asm.over}, nil
}

// Finish implements wire.Reply.
func (r *reply) Finish() []agent.Delta { return r.asm.finish() }
