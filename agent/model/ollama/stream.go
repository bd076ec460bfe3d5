package ollama

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// maxLine bounds one line of an answer, in bytes.
const maxLine = 32 << 20

// A piece is one line of an answer.
type piece struct {
	Error      string  `json:"error"`
	Message    message `json:"message"`
	Done       bool    `json:"done"`
	DoneReason string  `json:"done_reason"`
	Prompt     int     `json:"prompt_eval_count"`
	Completion int     `json:"eval_count"`
}

// A stream is an answer whose first delta is known.
type stream struct {
	peer  wire.Peer
	ctx   context.Context
	watch *wire.Watch
	body  io.ReadCloser
	lines *bufio.Scanner
	calls []agent.Delta
	queue []agent.Delta
}

// open asks and reads up to the first delta that can be handed on.
func (m *Model) open(ctx context.Context, p wire.Peer, r agent.Request, window int) (*stream, error) {
	body, err := m.body(r, window)
	if err != nil {
		return nil, p.Error(agent.ModelBadRequest, p.Say("the options are not JSON", "options 无法编码为 JSON"), "")
	}
	ctx, watch := wire.NewWatch(ctx, m.cfg.FirstTimeout, m.cfg.StallTimeout)
	res, err := m.send(ctx, p, "/api/chat", body)
	if err != nil {
		watch.Stop()
		return nil, err
	}
	s := &stream{peer: p, ctx: ctx, watch: watch, body: watch.Body(res.Body)}
	s.lines = bufio.NewScanner(s.body)
	s.lines.Buffer(nil, maxLine)
	s.lines.Split(splitLines)
	if err := s.fill(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// splitLines is bufio.ScanLines without an unended last line: it was cut.
// A JSON object may be whole without its line end, so the caller gets it.
func splitLines(data []byte, eof bool) (int, []byte, error) {
	if n, line, err := bufio.ScanLines(data, false); n > 0 || err != nil || !eof {
		return n, line, err
	}
	if line := bytes.TrimSpace(data); json.Valid(line) {
		return len(data), line, nil
	}
	return len(data), nil, nil
}

// fill reads until something can be handed on.
func (s *stream) fill() error {
	for len(s.queue) == 0 {
		if !s.lines.Scan() {
			return s.end()
		}
		line := bytes.TrimSpace(s.lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var p piece
		if err := json.Unmarshal(line, &p); err != nil {
			return s.peer.Garbage(s.peer.Say("a line that is not JSON of its kind", "收到的行不是预期的 JSON"))
		}
		if p.Error != "" {
			return s.peer.FromSaid(0, wire.Said{Text: p.Error})
		}
		s.watch.Fed()
		s.take(p)
	}
	return nil
}

func (s *stream) end() error {
	switch err := s.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong), errors.Is(err, wire.ErrEndless):
		return s.peer.Garbage(s.peer.Say("a line or an answer without end", "行或回答没有尽头"))
	case err != nil:
		return s.peer.Transport(s.ctx, wire.Reading, err)
	}
	return s.peer.Cut()
}

func (s *stream) take(p piece) {
	for _, c := range p.Message.ToolCalls {
		s.calls = append(s.calls, agent.Delta{Call: callOf(c)})
	}
	if p.Message.Content != "" || p.Message.Thinking != "" {
		s.queue = append(s.queue, agent.Delta{Text: p.Message.Content, Reasoning: p.Message.Thinking})
	}
	if !p.Done {
		return
	}
	finish := agent.FinishStop
	switch {
	case p.DoneReason == "length":
		finish = agent.FinishLength
	case len(s.calls) > 0:
		finish = agent.FinishCalls
	}
	s.queue = append(s.queue, s.calls...)
	last := agent.Delta{Finish: finish}
	if p.Prompt > 0 || p.Completion > 0 {
		last.Usage = &agent.Usage{Prompt: p.Prompt, Completion: p.Completion}
	}
	s.queue = append(s.queue, last)
}

func callOf(c toolCall) *tool.Call {
	args := bytes.TrimSpace(c.Function.Arguments)
	var quoted string // some proxies send OpenAI's form
	if json.Unmarshal(args, &quoted) == nil {
		args = []byte(quoted)
	}
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	if c.ID == "" { // servers before 0.12 give none
		c.ID = "call_" + strings.ToLower(rand.Text()[:10])
	}
	return &tool.Call{ID: c.ID, Tool: c.Function.Name, Args: json.RawMessage(args)}
}

// next gives the next delta; the last one has Finish set.
func (s *stream) next() (agent.Delta, error) {
	if len(s.queue) == 0 {
		if err := s.fill(); err != nil {
			return agent.Delta{}, err
		}
	}
	d := s.queue[0]
	s.queue = s.queue[1:]
	return d, nil
}

func (s *stream) close() {
	s.watch.Stop()
	_ = s.body.Close()
}
