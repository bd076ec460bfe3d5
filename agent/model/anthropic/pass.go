package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

var _ passthrough.Model = (*Model)(nil)

// Pass implements passthrough.Model. The server is always asked for a stream: a long reply
// would else be silent for minutes.
func (m *Model) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		asked, fault := chatform.Read(r.Body)
		if fault != nil {
			yield(passthrough.Chunk{}, m.refuse(fault))
			return
		}
		about, _ := m.look(ctx) // after a failure the request itself fails, with a better message
		t := &translation{m: m, about: about}
		if t.read(asked); t.fault != nil {
			yield(passthrough.Chunk{}, m.refuse(t.fault))
			return
		}
		t.notes.Each(r.Change)
		q := &passing{translation: t, asked: asked, change: r.Change}
		wire.DeliverItems(ctx, m.policy.Once(), func() (*wire.Stream, error) { return q.open(ctx) }, func(i wire.Item, err error) bool {
			switch {
			case err != nil:
				return yield(passthrough.Chunk{}, err)
			case i.Finish != "":
				m.thoughts.keep(&q.reply.asm)
				return q.reply.to.End(i.Delta, yield)
			}
			return yield(passthrough.Chunk{Data: i.Raw, Model: i.Model}, nil)
		})
	}
}

func (m *Model) refuse(f *chatform.Fault) error {
	return m.peer.Error(agent.ModelBadRequest, f.Text, tool.Text{})
}

// A passing request is one call of Pass that the server is asked.
type passing struct {
	*translation
	asked  *chatform.Request
	change func(tool.Text)
	reply  *passedReply // of the last try
	tries  int
	failed error // the last try
}

// maxTries is how often the server is asked.
const maxTries = 2

// open asks, and once more without thinking where the server does not think on from calls that
// came without its thoughts.
func (q *passing) open(ctx context.Context) (*wire.Stream, error) {
	if q.tries == maxTries {
		return nil, q.failed
	}
	s, err := q.ask(ctx)
	if no, ok := errors.AsType[*wire.Refusal](err); ok && q.tries < maxTries && q.options["thinking"] != nil && wantsThoughts(no) {
		delete(q.options, "thinking")
		q.change(tool.Textf("the model was asked not to think, because its thoughts of before, which it wants back signed, are not known"))
		s, err = q.ask(ctx)
	}
	q.failed = q.m.peer.Passing().Refused(err, nil)
	return s, q.failed
}

// wantsThoughts reports whether a server refuses to think on from calls without thoughts.
func wantsThoughts(no *wire.Refusal) bool {
	return no.Status == http.StatusBadRequest && bytes.Contains(no.Body, []byte("xpected `thinking`"))
}

func (q *passing) ask(ctx context.Context) (*wire.Stream, error) {
	q.tries++
	q.reply = &passedReply{peer: q.m.peer.Passing(), to: q.asked.NewWriter(q.m.cfg.Model)}
	return wire.Question{
		Peer: q.m.peer, First: q.m.cfg.FirstTimeout, Stall: q.m.cfg.StallTimeout, Reply: q.reply,
		Send: func(ctx context.Context) (res *http.Response, err error) {
			err = client(q.m.options).Post(ctx, "v1/messages", q.body(), &res, option.WithHeader("Accept", "text/event-stream"))
			return res, err
		},
	}.Ask(ctx)
}

// body returns the request as the server takes it.
func (q *passing) body() json.RawMessage {
	o := new(chatform.Object).Set("model", q.m.cfg.Model)
	for _, name := range q.options.Names() {
		o.Raw(name, q.options[name])
	}
	if len(q.system) > 0 {
		o.Raw("system", chatform.List(q.system))
	}
	if len(q.tools) > 0 {
		o.Raw("tools", chatform.List(q.tools))
	}
	var messages []*chatform.Object
	for _, m := range q.messages {
		if blocks := q.content(m); len(blocks) > 0 {
			messages = append(messages, new(chatform.Object).Set("role", m.role).Raw("content", chatform.List(blocks)))
		}
	}
	return o.Raw("messages", chatform.List(messages)).Raw("stream", json.RawMessage("true")).Bytes()
}
