package ownloop

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/inner"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Beside is a tool of weir's that the model can call beside the client's. weir runs it within
// the request; the client knows of neither the tool nor the call.
type Beside struct {
	Spec tool.Spec
	// Run answers a call.
	Run func(ctx context.Context, c tool.Call) inner.Answered
}

// maxRounds bounds the replies of one request that the client does not see.
const maxRounds = 16

// An exchange answers one request with tools of weir's beside the client's.
type exchange struct {
	// history is what the client has sent.
	history *inner.History
	sent    inner.Sent
	offered inner.Offered
	tools   map[string]Beside
	guard   *inner.Guard
	// scope is the conversation of the request. folds says that the results of the client's
	// tools are folded; own has weir's tools, but those that read the archive.
	scope  archive.Scope
	folds  bool
	own    *ownTools
	locale tool.Locale
	// keep stores what the model's server has got and the client has not, before the client
	// gets the end of the answer.
	keep func(ctx context.Context, digest, note string)

	rounds         inner.Rounds
	loads, refused int
	shrunk         bool
}

// run asks the model until it has answered or called tools of the client's, and yields what the
// client gets. Between two replies it runs the calls of weir's tools.
func (x *exchange) run(ctx context.Context, ask asking) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		split := &inner.Splitter{Offered: x.offered, Own: &x.sent.Own}
		for n := 1; ; n++ {
			reply := split.Next()
			more, err := x.reply(ctx, ask, split, reply, yield)
			if err != nil {
				yield(passthrough.Chunk{}, err)
				return
			}
			if !more {
				return
			}
			if n >= maxRounds {
				yield(passthrough.Chunk{}, tooMany())
				return
			}
		}
	}
}

func tooMany() error {
	e := agent.NewModelError(agent.ModelBadRequest, "", tool.Textf("the model called weir's own tools %d times and did not answer", maxRounds),
		tool.Textf("ask again in other words, or set fold and weir_tools to false for this client"))
	e.Final = true
	return e
}

// request returns what the model is asked first.
func (x *exchange) request() passthrough.Body { return x.sent.With(nil) }

// reply reads one reply; more says that the model is to be asked again.
func (x *exchange) reply(ctx context.Context, ask asking, split *inner.Splitter, reply *inner.Reply, yield func(passthrough.Chunk, error) bool) (more bool, err error) {
	for c, err := range ask(x.sent.With(x.rounds.Before), new(passthrough.Answer)) {
		if agent.IsModelCode(err, agent.ModelWindow) && x.shrink() {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for _, out := range reply.Add(c) {
			if !yield(out, nil) {
				return false, nil
			}
		}
	}
	rest, hidden := reply.End()
	given := reply.Given(hidden)
	answers := x.answer(ctx, hidden)
	if len(hidden) > 0 && len(given) == 0 {
		x.rounds.Before = append(x.rounds.Before, inner.Round{Reply: reply.Message(), Results: answers})
		x.shrunk = false
		return true, nil
	}
	for i, h := range hidden {
		x.rounds.Calls = append(x.rounds.Calls, inner.Placed{At: h.At, Call: h.Raw, Answered: answers[i]})
	}
	if len(x.rounds.Before)+len(x.rounds.Calls) > 0 {
		digest, note := x.history.Note(x.rounds, split.Said(), given)
		x.keep(ctx, digest, note)
	}
	for _, c := range rest {
		if !yield(c, nil) {
			break
		}
	}
	return false, nil
}

// answer runs the calls that the client does not get.
func (x *exchange) answer(ctx context.Context, hidden []inner.Hidden) (out []inner.Answered) {
	for _, h := range hidden {
		a := inner.Answered{ID: h.Call.ID}
		if t, ok := x.tools[h.Tool]; ok {
			if history.Has(h.Tool) { // it only reads
				x.loads++
			} else if a.Text = x.guard.Refuses(h.Call); a.Text != "" {
				out = append(out, a)
				continue
			}
			a = t.Run(ctx, tool.Call{ID: h.Call.ID, Tool: h.Tool, Args: json.RawMessage(h.Call.Function.Arguments), Turn: x.history.Turn()})
			a.ID = h.Call.ID
			x.guard.Read(a.Text)
		} else {
			x.refused++
			a.Text = msg.In(x.locale, tool.Textf("This call was not made: its arguments hold a placeholder or a notice of weir's, which only stands for a text. Load that text with %s first, then make the call with the text itself.",
				x.offered.Called(tool.LoadHistory)))
		}
		out = append(out, a)
	}
	return out
}

// longLoad is the length, in characters, of a text that shrink takes out.
const longLoad = 1000

// shrink takes the long texts of the last round out, once, because the prompt with them does
// not fit into the window; false: there are none.
func (x *exchange) shrink() bool {
	if x.shrunk || len(x.rounds.Before) == 0 {
		return false
	}
	last := &x.rounds.Before[len(x.rounds.Before)-1]
	for i, a := range last.Results {
		if len(a.Text) > longLoad {
			x.shrunk = true
			last.Results[i].Text = msg.In(x.locale, tool.Textf("This text does not fit into the model's window. Load a part of it: add lines=\"a-b\", grep=\"…\", head=n, tail=n or offset=n."))
			last.Results[i].Stub = ""
		}
	}
	return x.shrunk
}
