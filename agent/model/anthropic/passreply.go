package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// A passedReply is a wire.Reply that hands each event on as it comes, in OpenAI's form.
type passedReply struct {
	peer  wire.Peer
	to    *chatform.Writer
	asm   assembler
	calls map[int64]int // the number of a call, by its block
}

// Take implements wire.Reply.
func (r *passedReply) Take(data []byte, whole bool) (wire.Piece, error) {
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
	if kind == "message_start" {
		r.to.ID = cmp.Or(e.Message.ID, r.to.ID)
	}
	d, err := r.asm.add(e)
	return r.piece(chatform.Delta{Text: d.Text, Reasoning: d.Reasoning, Calls: r.call(e)}, err)
}

// call returns what an event says of a call.
func (r *passedReply) call(e sdk.MessageStreamEventUnion) []chatform.CallDelta {
	b := r.asm.at[e.Index]
	if b == nil || b.kind != "tool_use" {
		return nil
	}
	n, begun := r.calls[e.Index]
	switch {
	case e.Type == "content_block_start" && !begun:
		if r.calls == nil {
			r.calls = map[int64]int{}
		}
		n = len(r.calls)
		r.calls[e.Index] = n
		return []chatform.CallDelta{{Index: n, ID: b.id, Name: b.name, Arguments: b.text.String()}}
	case e.Type == "content_block_delta" && e.Delta.PartialJSON != "":
		return []chatform.CallDelta{{Index: n, Arguments: e.Delta.PartialJSON}}
	case e.Type == "content_block_stop" && b.text.Len() == 0:
		return []chatform.CallDelta{{Index: n, Arguments: "{}"}}
	}
	return nil
}

// message reads an answer of a server that does not stream.
func (r *passedReply) message(data []byte) (wire.Piece, error) {
	var m sdk.Message
	if json.Unmarshal(data, &m) != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("a JSON text without an answer"))
	}
	r.to.ID = cmp.Or(m.ID, r.to.ID)
	d, err := r.asm.message(m)
	out := chatform.Delta{Text: d.Text, Reasoning: d.Reasoning}
	for _, b := range r.asm.blocks {
		if b.kind == "tool_use" {
			out.Calls = append(out.Calls, chatform.CallDelta{Index: len(out.Calls), ID: b.id, Name: b.name, Arguments: string(b.args())})
		}
	}
	return r.piece(out, err)
}

func (r *passedReply) piece(d chatform.Delta, err error) (wire.Piece, error) {
	switch {
	case errors.Is(err, errRefused):
		r.asm.reason, r.to.Reason = agent.FinishStop, "content_filter"
	case err != nil:
		return wire.Piece{}, r.peer.Garbage(tool.Textf("blocks that do not fit together"))
	}
	r.to.Model = cmp.Or(r.asm.model, r.to.Model)
	return wire.Piece{
		Delta: agent.Delta{Model: r.asm.model}, Raw: r.to.Add(d), Held: r.asm.held + r.to.Held(), Fed: true,
		Complete: r.asm.reason != "", Over: r.asm.over,
	}, nil
}

// Finish implements wire.Reply.
func (r *passedReply) Finish() []agent.Delta {
	all := r.asm.finish()
	last := all[len(all)-1] // before it are the calls, which were handed on
	last.Sealed = nil
	if last.Finish == "" {
		return nil
	}
	return []agent.Delta{last}
}
