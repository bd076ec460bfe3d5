package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

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
func (m *Model) open(ctx context.Context, peer wire.Peer, r agent.Request) (*stream, error) {
	sent := m.habits.load()
	s, err := m.ask(ctx, peer, r)
	var no *wire.Refusal
	if errors.As(err, &no) && m.learn(sent, no) {
		s, err = m.ask(ctx, peer, r)
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

// learn notices what a server refuses of a request that was sent with these
// habits. It reports whether to ask again by others.
func (m *Model) learn(sent habits, no *wire.Refusal) bool {
	if no.Status != http.StatusBadRequest && no.Status != http.StatusUnprocessableEntity {
		return false
	}
	switch {
	case bytes.Contains(no.Body, []byte("stream_options")) || bytes.Contains(no.Body, []byte("include_usage")):
		m.habits.noUsage.Store(true)
		return !sent.noUsage
	case bytes.Contains(no.Body, []byte("max_completion_tokens")):
		m.habits.newTokens.Store(true)
		return !sent.newTokens
	case bytes.Contains(no.Body, []byte("reasoning_content")): // DeepSeek wants it with calls; its first models refused it
		m.habits.thoughts.Store(true)
		return !sent.thoughts
	}
	return false
}

// ask sends the request and looks at what kind of answer comes. A *wire.Refusal
// comes back as it is.
func (m *Model) ask(ctx context.Context, peer wire.Peer, r agent.Request) (*stream, error) {
	ctx, watch := wire.NewWatch(ctx, m.cfg.FirstTimeout, m.cfg.StallTimeout)
	var res *http.Response
	err := m.client.Post(ctx, "chat/completions", m.body(r), &res, option.WithHeader("Accept", "text/event-stream"))
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
	default: // some servers send a stream as text/plain or with no type
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
	return s.take(data)
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
		data := bytes.TrimSpace(s.dec.Event().Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			s.ended = true
			s.queue = s.asm.finish()
			continue
		}
		complete := s.asm.reason != ""
		if err := s.take(data); err != nil && complete {
			s.ended = true // whatever follows a complete reply does not unmake it
			s.queue = s.asm.finish()
		} else if err != nil {
			return err
		}
	}
	return nil
}

// end is the end of the connection: fine behind a finish, a failure before it.
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
	case s.asm.chunks == 0 && !s.events:
		return s.peer.Garbage(s.peer.Say("no events", "没有任何事件"))
	}
	return s.peer.Cut()
}

// take reads one event.
func (s *stream) take(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return s.peer.Garbage(s.peer.Say("an event that is not JSON of its kind", "收到的事件不是预期的 JSON"))
	}
	if said, ok := c.failure(data); ok {
		return s.peer.FromSaid(0, said)
	}
	if len(c.Choices) > 0 {
		s.watch.Fed()
	}
	d, err := s.asm.add(c)
	switch {
	case errors.Is(err, errFiltered):
		return s.peer.Filtered()
	case errors.Is(err, errOverload):
		return s.peer.FromSaid(0, wire.Said{})
	case err != nil:
		return s.peer.Garbage(err.Error())
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
