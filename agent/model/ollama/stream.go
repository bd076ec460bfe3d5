package ollama

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// A piece is one line of an answer.
type piece struct {
	Error      string      `json:"error"`
	Model      string      `json:"model"`
	Message    message     `json:"message"`
	Done       bool        `json:"done"`
	DoneReason string      `json:"done_reason"`
	Prompt     wire.Tokens `json:"prompt_eval_count"`
	Completion wire.Tokens `json:"eval_count"`
}

// open asks and reads up to the first delta that can be delivered.
func (m *Model) open(ctx context.Context, p wire.Peer, r agent.Request, tools toolschema.Tools, window int) (*wire.Stream, error) {
	body, err := m.body(r, tools, window)
	if err != nil {
		return nil, p.Error(agent.ModelBadRequest, tool.Textf("the options are not JSON"), tool.Text{})
	}
	s, err := wire.Question{
		Peer: p, First: m.cfg.FirstTimeout, Stall: m.cfg.StallTimeout, Reply: &reply{peer: p}, Lines: true,
		Send: func(ctx context.Context) (*http.Response, error) { return m.send(ctx, "/api/chat", body) },
	}.Ask(ctx)
	return s, p.Refused(err, tools.Refused)
}

// A reply is a wire.Reply. Calls wait in it until the reply is complete.
type reply struct {
	peer  wire.Peer
	calls []agent.Delta
	held  int // of the calls, in bytes
	last  agent.Delta
}

// Take implements wire.Reply.
func (r *reply) Take(line []byte, _ bool) (wire.Piece, error) {
	var p piece
	if err := json.Unmarshal(line, &p); err != nil {
		return wire.Piece{}, r.peer.Garbage(tool.Textf("a line that is not JSON of its kind"))
	}
	if p.Error != "" {
		return wire.Piece{}, r.peer.FromSaid(0, wire.Said{Text: p.Error})
	}
	for _, c := range p.Message.ToolCalls {
		call := callOf(c)
		r.calls = append(r.calls, agent.Delta{Call: call})
		r.held += wire.HeldCall + len(call.ID) + len(call.Tool) + len(call.Args)
	}
	if p.Done {
		r.last = p.end(len(r.calls))
	}
	d := agent.Delta{Text: p.Message.Content, Reasoning: p.Message.Thinking, Model: p.Model}
	return wire.Piece{Delta: d, Held: r.held, Fed: true, Complete: p.Done, Over: p.Done}, nil
}

// Finish implements wire.Reply.
func (r *reply) Finish() []agent.Delta {
	if r.last.Finish == "" {
		return nil
	}
	return append(r.calls, r.last)
}

// end is the last delta of a reply with so many calls.
func (p piece) end(calls int) agent.Delta {
	d := agent.Delta{Model: p.Model, Finish: agent.FinishStop}
	switch {
	case p.DoneReason == "length":
		d.Finish = agent.FinishLength
	case calls > 0:
		d.Finish = agent.FinishCalls
	}
	if p.Prompt > 0 || p.Completion > 0 {
		d.Usage = &agent.Usage{Prompt: int(p.Prompt), Completion: int(p.Completion)}
	}
	return d
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
