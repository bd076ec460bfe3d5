package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

var _ passthrough.Model = (*Model)(nil)

// Pass implements passthrough.Model. It refuses a prompt that is longer than the window, which
// it estimates by what the server counted last: older servers drop the head of such a prompt
// in silence.
func (m *Model) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		fail := func(f *chatform.Fault) {
			yield(passthrough.Chunk{}, m.peer.Error(agent.ModelBadRequest, f.Text, tool.Text{}))
		}
		asked, fault := chatform.Read(r.Body)
		if fault != nil {
			fail(fault)
			return
		}
		t := &translation{m: m, window: m.window(ctx, agent.Request{Window: r.Window})}
		t.about, _ = m.look(ctx) // after a failure the request itself fails, with a better message
		if t.read(asked); t.fault != nil {
			fail(t.fault)
			return
		}
		if n := m.gauge.Estimate(t.size); n > t.window {
			yield(passthrough.Chunk{}, m.peer.Error(agent.ModelWindow, tool.Textf("the prompt has about %d tokens, and the window has %d", n, t.window),
				tool.Textf("shorten the conversation, or raise window in [models.%s]", m.cfg.Name)))
			return
		}
		t.notes.Each(r.Change)
		var reply *passedReply
		body := t.body()
		open := func() (*wire.Stream, error) {
			reply = &passedReply{peer: m.peer.Passing(), to: asked.NewWriter(m.cfg.Model)}
			s, err := wire.Question{
				Peer: m.peer, First: m.cfg.FirstTimeout, Stall: m.cfg.StallTimeout, Reply: reply, Lines: true,
				Send: func(ctx context.Context) (*http.Response, error) { return m.send(ctx, "/api/chat", body) },
			}.Ask(ctx)
			return s, m.peer.Passing().Refused(err, nil)
		}
		wire.DeliverItems(ctx, m.policy.Once(), open, func(i wire.Item, err error) bool {
			switch {
			case err != nil:
				return yield(passthrough.Chunk{}, err)
			case i.Finish != "":
				m.gauge.Learn(t.size, i.Usage)
				m.warn(int(t.size.Tokens*lowShare), t.window, i.Usage)
				return reply.to.End(i.Delta, yield)
			}
			return yield(passthrough.Chunk{Data: i.Raw, Model: i.Model}, nil)
		})
	}
}

// lowShare makes an estimate a careful one.
const lowShare = 0.75

// body returns the request as the server takes it.
func (t *translation) body() json.RawMessage {
	o := new(chatform.Object).Set("model", t.m.cfg.Model).Raw("messages", chatform.List(t.messages))
	if len(t.tools) > 0 {
		o.Raw("tools", chatform.List(t.tools))
	}
	for _, name := range t.beside.Names() {
		o.Raw(name, t.beside[name])
	}
	options := &chatform.Object{}
	for _, name := range t.options.Names() {
		options.Raw(name, t.options[name])
	}
	o.Raw("options", options.Bytes()).Set("stream", true)
	return o.Set("truncate", false).Set("shift", false).Bytes() // as in request
}

// A passedReply is a wire.Reply that hands each line on as it comes, in OpenAI's form.
type passedReply struct {
	peer  wire.Peer
	to    *chatform.Writer
	calls int
	last  agent.Delta
}

// Take implements wire.Reply.
func (r *passedReply) Take(line []byte, _ bool) (wire.Piece, error) {
	var p piece
	if json.Unmarshal(line, &p) != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("a line that is not JSON of its kind"))
	}
	if p.Error != "" {
		return wire.Piece{}, r.peer.FromSaid(0, wire.Said{Text: p.Error})
	}
	d := chatform.Delta{Text: p.Message.Content, Reasoning: p.Message.Thinking}
	for _, c := range p.Message.ToolCalls {
		call := callOf(c)
		d.Calls = append(d.Calls, chatform.CallDelta{Index: r.calls, ID: call.ID, Name: call.Tool, Arguments: string(bytes.TrimSpace(call.Args))})
		r.calls++
	}
	if p.Model != "" {
		r.to.Model = p.Model
	}
	if p.Done {
		r.last = p.end(r.calls)
	}
	return wire.Piece{
		Delta: agent.Delta{Model: p.Model}, Raw: r.to.Add(d), Held: r.to.Held() + r.calls*wire.HeldCall, Fed: true, Complete: p.Done, Over: p.Done,
	}, nil
}

// Finish implements wire.Reply.
func (r *passedReply) Finish() []agent.Delta {
	if r.last.Finish == "" {
		return nil
	}
	return []agent.Delta{r.last}
}
