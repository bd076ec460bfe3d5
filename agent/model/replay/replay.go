// Package replay is a scripted model: it answers each request with the next of
// the replies it was given. It makes turns of the agent repeatable, in tests
// and when a recorded conversation is looked into.
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A Reply is one scripted answer. Its parts come in the order of the fields.
type Reply struct {
	// Delay is waited before the first piece, and between pieces.
	Delay     time.Duration
	Reasoning string
	Text      string
	// Chunk is how many characters one piece of Text holds; 0 or negative: all.
	Chunk int
	// Calls are native tool calls.
	Calls []tool.Call
	// Sealed is what the provider would want back with the calls.
	Sealed json.RawMessage
	Usage  *agent.Usage
	// Model is who replied, as a provider would say it.
	Model string
	// Finish ends the reply; empty: FinishCalls with Calls, else FinishStop.
	Finish agent.Finish
	// Cut lets the sequence end without any Finish, as a lost connection does.
	Cut bool
	// Err ends the reply, after what it said until then.
	Err error
}

// Text is a reply of text alone.
func Text(s string) Reply { return Reply{Text: s} }

// Call is a reply that calls a tool the way the system prompt teaches it. args
// is a JSON object.
func Call(name, args string) Reply {
	return Reply{Text: fmt.Sprintf(`<tool_call>{"id":"call_001","tool_name":%q,"arguments":%s}</tool_call>`, name, args)}
}

// A Model gives its replies one after the other. It is safe for concurrent
// use; requests that overlap take the replies in the order they begin.
type Model struct {
	info agent.ModelInfo
	next func(n int, r agent.Request) Reply

	mu       sync.Mutex
	requests []agent.Request
}

var (
	_ agent.Model     = (*Model)(nil)
	_ agent.Describer = (*Model)(nil)
)

// New makes a Model that gives these replies, in order. A request beyond the
// last gets an error that says so.
func New(replies ...Reply) *Model {
	return Func(func(n int, _ agent.Request) Reply {
		if n < len(replies) {
			return replies[n]
		}
		return Reply{Err: agent.NewModelError(agent.ModelGarbage, "replay", tool.Textf("the script has %d replies and was asked for one more", len(replies)), tool.Text{})}
	})
}

// Func makes a Model whose replies f makes; n counts the requests from 0.
func Func(f func(n int, r agent.Request) Reply) *Model {
	return &Model{next: f, info: agent.ModelInfo{Name: "replay", Provider: "replay", Model: "replay", Simulated: true}}
}

// Describing sets what Describe says, and returns m. It is to be called before
// the first use.
func (m *Model) Describing(info agent.ModelInfo) *Model {
	m.info = info
	return m
}

// Describe says what Describing set.
func (m *Model) Describe(context.Context) (agent.ModelInfo, error) { return m.info, nil }

// Requests returns copies of the requests so far.
func (m *Model) Requests() []agent.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Generate gives the next reply.
func (m *Model) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		m.mu.Lock()
		n := len(m.requests)
		r.Messages = slices.Clone(r.Messages)
		m.requests = append(m.requests, r)
		m.mu.Unlock()
		reply := m.next(n, r)
		for _, d := range reply.deltas() {
			if err := pause(ctx, reply.Delay); err != nil {
				yield(agent.Delta{}, err)
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		if reply.Err != nil {
			yield(agent.Delta{}, reply.Err)
		}
	}
}

// pause waits, under the context; without a delay it only looks at it.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// deltas are the pieces of a reply.
func (p Reply) deltas() []agent.Delta {
	var out []agent.Delta
	if p.Reasoning != "" {
		out = append(out, agent.Delta{Reasoning: p.Reasoning})
	}
	for _, s := range pieces(p.Text, p.Chunk) {
		out = append(out, agent.Delta{Text: s, Model: p.Model})
	}
	for i := range p.Calls {
		out = append(out, agent.Delta{Call: &p.Calls[i]})
	}
	if p.Cut || p.Err != nil {
		return out
	}
	finish := p.Finish
	if finish == "" {
		finish = agent.FinishStop
		if len(p.Calls) > 0 {
			finish = agent.FinishCalls
		}
	}
	return append(out, agent.Delta{Usage: p.Usage, Model: p.Model, Sealed: p.Sealed, Finish: finish})
}

// pieces cuts s into pieces of n characters.
func pieces(s string, n int) []string {
	if s == "" {
		return nil
	}
	if n <= 0 {
		return []string{s}
	}
	var out []string
	for s != "" {
		end := 0
		for range n {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}
