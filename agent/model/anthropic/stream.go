package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
)

// maxAnswer bounds an answer that is not a stream, in bytes.
const maxAnswer = 16 << 20

// A stream is an answer whose first delta is known.
type stream struct {
	peer  wire.Peer
	ctx   context.Context
	watch *wire.Watch
	body  io.Closer
	dec   ssestream.Decoder // nil: the answer was no stream and is all in asm
	asm   assembler
	queue []agent.Delta
	ended bool
	// events says that the server calls its answer an event stream.
	events bool
}

// open asks and reads up to the first delta that can be handed on.
func (m *Model) open(ctx context.Context, peer wire.Peer, r agent.Request, about shown) (*stream, error) {
	s, err := m.ask(ctx, peer, m.body(r, about, false))
	var no *wire.Refusal
	if errors.As(err, &no) && m.thoughtless(no) {
		s, err = m.ask(ctx, peer, m.body(r, about, true))
	}
	if errors.As(err, &no) {
		return nil, peer.Status(no.Status, no.Header, no.Body)
	}
	if err != nil {
		return nil, err
	}
	if err := s.fill(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// thoughtless reports whether a server refuses to think on from calls that came
// without thoughts: those that the configuration made, or another model.
func (m *Model) thoughtless(no *wire.Refusal) bool {
	_, thinks := m.cfg.Extra["thinking"]
	return thinks && no.Status == http.StatusBadRequest && bytes.Contains(no.Body, []byte("xpected `thinking`"))
}

// ask sends the request and looks at what kind of answer comes. A *wire.Refusal
// comes back as it is.
func (m *Model) ask(ctx context.Context, peer wire.Peer, body wire.Body) (*stream, error) {
	ctx, watch := wire.NewWatch(ctx, m.cfg.FirstTimeout, m.cfg.StallTimeout)
	var res *http.Response
	err := m.client.Post(ctx, "v1/messages", body, &res, option.WithHeader("Accept", "text/event-stream"))
	var no *wire.Refusal
	if err != nil {
		defer watch.Stop()
		if errors.As(err, &no) {
			return nil, no
		}
		return nil, peer.Transport(ctx, wire.Opening, err)
	}
	res.Body = watch.Body(res.Body)
	s := &stream{peer: peer, ctx: ctx, watch: watch, body: res.Body}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		err = s.whole(res.Body)
	case "text/html":
		err = peer.Garbage(peer.Say("a web page", "一个网页"))
	default:
		s.events = kind == "text/event-stream"
		s.dec = ssestream.NewDecoder(res)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// whole reads an answer of a server that does not stream.
func (s *stream) whole(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return s.peer.Transport(s.ctx, wire.Reading, err)
	}
	var top struct {
		Type string `json:"type"`
	}
	var reply sdk.Message
	switch {
	case json.Unmarshal(data, &top) != nil || top.Type != "message" && top.Type != "error":
		return s.peer.Garbage(s.peer.Say("a JSON text without an answer", "JSON 中没有回答"))
	case top.Type == "error":
		return s.peer.FromSaid(0, wire.ReadSaid(data))
	case json.Unmarshal(data, &reply) != nil:
		return s.peer.Garbage(s.peer.Say("a JSON text without an answer", "JSON 中没有回答"))
	}
	return s.hand(s.asm.message(reply))
}

// fill reads until something can be handed on.
func (s *stream) fill() error {
	for len(s.queue) == 0 {
		if s.ended {
			return s.peer.Cut()
		}
		if s.dec == nil || !s.dec.Next() {
			if err := s.end(); err != nil {
				return err
			}
			continue
		}
		complete := s.asm.reason != ""
		err := s.take(bytes.TrimSpace(s.dec.Event().Data))
		if err != nil && !complete { // whatever follows a complete reply does not unmake it
			return err
		}
		if err != nil || s.asm.over {
			s.ended = true
			s.queue = append(s.queue, s.asm.finish()...)
		}
	}
	return nil
}

// end is the end of the connection: fine behind a stop reason, a failure before it.
func (s *stream) end() error {
	s.ended = true
	if s.asm.reason != "" {
		s.queue = s.asm.finish()
		return nil
	}
	if s.dec == nil {
		return s.peer.Garbage(s.peer.Say("a JSON text without an answer", "JSON 中没有回答"))
	}
	switch err := s.dec.Err(); {
	case errors.Is(err, bufio.ErrTooLong), errors.Is(err, wire.ErrEndless):
		return s.peer.Garbage(s.peer.Say("a line or an answer without end", "行或回答没有尽头"))
	case err != nil:
		return s.peer.Transport(s.ctx, wire.Reading, err)
	case s.asm.events == 0 && !s.events:
		return s.peer.Garbage(s.peer.Say("no events", "没有任何事件"))
	}
	return s.peer.Cut()
}

// take reads one event.
func (s *stream) take(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &kind) != nil || kind.Type == "" {
		return s.peer.Garbage(s.peer.Say("an event that is not JSON of its kind", "收到的事件不是预期的 JSON"))
	}
	switch kind.Type {
	case "ping":
		return nil
	case "error":
		return s.peer.FromSaid(0, wire.ReadSaid(data))
	}
	var e sdk.MessageStreamEventUnion
	if json.Unmarshal(data, &e) != nil {
		return s.peer.Garbage(s.peer.Say("an event that is not JSON of its kind", "收到的事件不是预期的 JSON"))
	}
	s.watch.Fed()
	return s.hand(s.asm.add(e))
}

// hand queues what can be handed on.
func (s *stream) hand(d agent.Delta, err error) error {
	switch {
	case errors.Is(err, errRefused):
		return s.peer.Filtered()
	case err != nil:
		return s.peer.Garbage(s.peer.Say("blocks that do not fit together", "内容块前后不符"))
	}
	if d.Text != "" || d.Reasoning != "" {
		s.queue = append(s.queue, d)
	}
	if s.asm.reason != "" {
		s.watch.Finished()
	}
	return nil
}

// next gives the next delta; the last one has Finish set.
func (s *stream) next() (agent.Delta, error) {
	if err := s.fill(); err != nil {
		return agent.Delta{}, err
	}
	if err := context.Cause(s.ctx); err != nil && s.asm.reason == "" {
		return agent.Delta{}, s.peer.Transport(s.ctx, wire.Reading, err)
	}
	d := s.queue[0]
	s.queue = s.queue[1:]
	return d, nil
}

func (s *stream) close() {
	s.watch.Stop()
	_ = s.body.Close()
}
