package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"

	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/gauge"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

var _ passthrough.Model = (*Model)(nil)

// Pass implements passthrough.Model. The server gets the body as it is, but for three things:
// the name of the model is the configured one, the configured extra members fill those that
// the client left out, and a stream is asked for its usage.
func (m *Model) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		body, err := passthrough.SplitBody(r.Body)
		if err != nil {
			yield(passthrough.Chunk{}, err)
			return
		}
		size := gauge.Size{}
		if m.cfg.DropsHead {
			size = sizeOf(r.Body)
		}
		if err := m.tooLong(size, cmp.Or(r.Window, m.cfg.Window)); err != nil {
			yield(passthrough.Chunk{}, err)
			return
		}
		q := &passed{m: m, body: m.own(body), asked: body.AsksForUsage()}
		wire.DeliverItems(ctx, m.policy.Once(), func() (*wire.Stream, error) { return q.open(ctx) }, func(i wire.Item, err error) bool {
			m.gauge.Learn(size, i.Usage)
			return yield(passthrough.Chunk{Data: i.Raw, Model: i.Model, Usage: i.Usage, Finish: i.Finish}, err)
		})
	}
}

// own returns a client's body with what is this model's.
func (m *Model) own(b passthrough.Body) passthrough.Body {
	name, _ := json.Marshal(m.cfg.Model) // a string always marshals
	b = b.With("model", name)
	for _, key := range slices.Sorted(maps.Keys(m.cfg.Extra)) {
		if v, err := json.Marshal(m.cfg.Extra[key]); err == nil && b.Get(key) == nil {
			b = b.With(key, v)
		}
	}
	return b
}

// A passed request is one that is passed on. It belongs to one call of Pass.
type passed struct {
	m     *Model
	body  passthrough.Body
	asked bool // the client wants the usage of its stream
}

// open asks, once more without the wish for the usage where the server does not know it.
func (q *passed) open(ctx context.Context) (*wire.Stream, error) {
	s, err := q.ask(ctx)
	if no, ok := errors.AsType[*wire.Refusal](err); ok && !q.asked && q.body.Streams() && q.m.learn(dialectAt{noUsage: q.m.dialect.noUsage.Load()}, false, no) && q.m.dialect.noUsage.Load() {
		s, err = q.ask(ctx)
	}
	return s, q.m.peer.Passing().Refused(err, nil)
}

func (q *passed) ask(ctx context.Context) (*wire.Stream, error) {
	body, accept := q.body, "application/json"
	if body.Streams() {
		accept = "text/event-stream"
		if !q.asked && !q.m.dialect.noUsage.Load() {
			body = withUsage(body)
		}
	}
	peer := q.m.peer.Passing()
	return wire.Question{
		Peer: peer, First: q.m.cfg.FirstTimeout, Stall: q.m.cfg.StallTimeout, Reply: &passedReply{peer: peer, stream: body.Streams(), quiet: body.Streams() && !q.asked},
		Send: func(ctx context.Context) (res *http.Response, err error) {
			err = client(q.m.options).Post(ctx, "chat/completions", body.Bytes(), &res, option.WithHeader("Accept", accept), option.WithHeader("Content-Type", "application/json"))
			return res, err
		},
	}.Ask(ctx)
}

const usageOption = "include_usage"

// withUsage asks a stream for its usage, beside what else its options are.
func withUsage(b passthrough.Body) passthrough.Body {
	options := passthrough.Body{}
	if b.Has("stream_options") {
		var err error
		if options, err = passthrough.ReadBody(b.Get("stream_options")); err != nil && len(options.Names()) == 0 {
			return b // the server says what is wrong with them
		}
	}
	for names := options.Names(); len(names) > 0; names = names[1:] {
		if names[0] == usageOption && slices.Contains(names[1:], usageOption) { // the last one could count, or the first
			options = options.Without(usageOption)
		}
	}
	return b.With("stream_options", options.With(usageOption, json.RawMessage("true")).Bytes())
}

// A passedReply reads an answer that is passed on.
type passedReply struct {
	peer   wire.Peer
	stream bool // the client has asked for one
	quiet  bool // an event that has nothing but the usage is not for the client
	end    agent.Delta
}

// Take implements wire.Reply.
func (r *passedReply) Take(data []byte, whole bool) (wire.Piece, error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return wire.Piece{Over: true}, nil
	}
	var c passedChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("an event that is not JSON of its kind"))
	}
	if said, ok := (chunk{Error: c.Error}).failure(data); ok {
		return wire.Piece{}, r.peer.FromSaid(0, said)
	}
	if !whole && !r.stream { // its last event would be taken for the answer
		return wire.Piece{}, r.peer.Garbage(tool.Textf("a stream that nobody asked for"))
	}
	for _, ch := range c.Choices {
		if ch.FinishReason != "" {
			r.end.Finish = finishOf(ch.FinishReason)
		}
	}
	r.end.Model = cmp.Or(string(c.Model), r.end.Model)
	p := wire.Piece{Fed: len(c.Choices) > 0, Complete: r.end.Finish != ""}
	if c.Usage != nil && c.Usage.Prompt+c.Usage.Completion > 0 {
		r.end.Usage = c.Usage.count()
		if r.quiet && !p.Fed {
			return p, nil
		}
	}
	if p.Raw = bytes.Clone(data); whole && r.stream {
		p.Raw = asChunk(p.Raw)
	}
	return p, nil
}

// Finish implements wire.Reply.
func (r *passedReply) Finish() []agent.Delta {
	if r.end.Finish == "" {
		return nil
	}
	return []agent.Delta{r.end}
}

// A passedChunk has of a chunk what weir needs to know.
type passedChunk struct {
	Error   json.RawMessage `json:"error"`
	Model   text            `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

// finishOf returns the end that a server's word stands for. What it does not say as a failure
// is none: the client reads the word itself.
func finishOf(reason string) agent.Finish {
	switch reason {
	case "length", "max_tokens", "model_length":
		return agent.FinishLength
	case "tool_calls", "function_call", "tool_use":
		return agent.FinishCalls
	}
	return agent.FinishStop
}
