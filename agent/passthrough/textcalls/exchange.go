package textcalls

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/correction"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// An exchange is the answer to one request: one reply of the model, or two.
type exchange struct {
	model   *model
	ask     *ask
	request passthrough.Request
	yield   func(passthrough.Chunk, error) bool
	ids     map[string]bool // of calls
	stopped bool            // the client left
	left    bool            // the rest of the reply was not read

	set      *parse.Set
	callable []tool.Spec
	answers  map[int]*answer // by the number of the choice

	one    *reader             // of the first reply, once there is a second
	second bool                // the second reply is read
	first  []byte              // the first chunk that came
	last   []byte              // the newest chunk with choices
	tail   []passthrough.Chunk // of the first reply, from its end on, while there may be a second
	before counted             // what the first reply cost
}

func (x *exchange) run(ctx context.Context) {
	x.set, x.callable = x.model.recogniser(x.ask)
	x.answers = map[int]*answer{}
	err := x.read(ctx, x.request)
	switch {
	case x.stopped:
		return
	case err != nil || x.tail == nil:
		x.closeOpen()
		if err != nil && !x.stopped {
			x.yield(passthrough.Chunk{}, err)
		}
		return
	}
	x.again(ctx)
}

// read reads one reply.
func (x *exchange) read(ctx context.Context, r passthrough.Request) error {
	for c, err := range x.model.inner.Pass(ctx, r) {
		if err != nil {
			return err
		}
		if x.take(c); x.stopped || x.left {
			return nil
		}
	}
	return nil
}

// again asks a second time, and delivers the first reply if that brings nothing.
func (x *exchange) again(ctx context.Context) {
	a := x.answers[0]
	one, tail := a.reader, x.tail
	for _, c := range tail {
		x.before.add(c)
	}
	x.one, x.second, x.tail = one, true, nil
	a.begin(x.newReader())
	r := x.request
	r.Body, r.Changed = x.ask.with(append(slices.Clip(x.ask.sent), message("assistant", own(one)), message("user", x.correction(one)))), nil
	err := x.read(ctx, r)
	switch {
	case x.stopped:
	case err != nil && !a.spoke && ctx.Err() == nil:
		x.fallBack(one, tail)
	default:
		x.closeOpen()
		if err != nil && !x.stopped && x.yield(passthrough.Chunk{Usage: x.before.usage}, nil) {
			x.yield(passthrough.Chunk{}, err)
		}
	}
}

// own returns a reply as the model gets it back.
func own(r *reader) string {
	return cmp.Or(strings.TrimSpace(r.own.String()), "…")
}

// correction tells the model what was wrong with its reply.
func (x *exchange) correction(r *reader) string {
	l := x.request.Locale
	var notes []string
	for _, m := range r.bad {
		if told := correction.For(m, x.callable, l); !slices.Contains(notes, told) {
			notes = append(notes, told)
		}
	}
	if w := prompt.For(l); len(notes) == 0 {
		if notes = []string{w.MustCall}; x.ask.named != "" {
			notes[0] = w.MustCallOne + x.ask.named
		}
	}
	return strings.Join(notes, "\n\n")
}

// fallBack delivers the first reply as it was.
func (x *exchange) fallBack(one *reader, tail []passthrough.Chunk) {
	a := x.answers[0]
	a.reader, a.echo, a.waiting, a.ended, a.apart = one, "", "", false, false
	x.before = counted{}
	for _, c := range tail {
		if x.take(c); x.stopped {
			return
		}
	}
}

func (x *exchange) newReader() *reader {
	return &reader{set: x.set, oneCall: x.ask.oneCall, reading: parse.Reading{
		StartInThought: x.model.options.StartInThought, Shown: x.ask.asksForCall(),
	}}
}

func (x *exchange) answer(choice int) *answer {
	a := x.answers[choice]
	if a == nil {
		a = &answer{reader: x.newReader()}
		x.answers[choice] = a
	}
	return a
}

// take takes a chunk of either form.
func (x *exchange) take(c passthrough.Chunk) {
	if x.tail != nil {
		x.tail = append(x.tail, c)
		return
	}
	choices := gjson.GetBytes(c.Data, "choices").Array()
	if x.first == nil {
		x.first = c.Data
	}
	if len(choices) == 0 {
		x.forward(c)
		return
	}
	x.last = c.Data
	if choices[0].Get("message").Exists() {
		x.takeWhole(c, choices)
		return
	}
	if len(choices) == 1 {
		x.takeDelta(c, choices[0])
		return
	}
	for i, ch := range choices { // the usage is of all, and goes with the last
		one := passthrough.Chunk{Data: set(slices.Clone(c.Data), "choices", []byte("["+ch.Raw+"]")), Model: c.Model}
		if i == len(choices)-1 {
			one.Usage, one.Finish = c.Usage, c.Finish
		}
		if x.takeDelta(one, gjson.GetBytes(one.Data, "choices.0")); x.stopped {
			return
		}
	}
}

// mustAsk reports whether the model has to be asked again after a complete reply.
func (x *exchange) mustAsk(a *answer) bool {
	if x.second || x.ask.many || x.ask.choice == "none" || x.answers[0] != a || a.calls > 0 {
		return false
	}
	return len(a.reader.bad) > 0 || x.ask.choice == "required"
}

// leave ends a reply that goes on after its calls as if it were complete: what follows are
// results that the model invents, and no call that would be made. The server has not told its
// usage then, which is estimated.
func (x *exchange) leave(index int, a *answer) {
	x.left = true
	for _, o := range append(x.closeReply(a, false), x.endReply(a)...) {
		x.send(index, o)
	}
	end := set(without(x.last, "usage"), "choices", fmt.Appendf(nil, `[{"index":%d,"delta":{},"finish_reason":"tool_calls"}]`, index))
	x.forward(passthrough.Chunk{Data: end, Finish: agent.FinishCalls})
	e := x.model.options.Estimator
	u := agent.Usage{Prompt: e.Tokens(string(x.request.Body)), Completion: e.Tokens(a.reader.own.String()), Estimated: true}
	c := passthrough.Chunk{Usage: &u}
	if x.ask.body.AsksForUsage() {
		c.Data = set(set(x.last, "choices", []byte("[]")), "usage", fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, u.Prompt, u.Completion, u.Prompt+u.Completion))
	}
	x.forward(c)
}

// wasCut reports whether a reply ended before the model was done.
func wasCut(c passthrough.Chunk, finish string) bool {
	switch {
	case c.Finish != "":
		return c.Finish == agent.FinishLength
	case finish == "":
		return true
	}
	return slices.Contains([]string{"length", "max_tokens", "model_length", "content_filter"}, finish)
}

// closeReply reads a reply to its end. It returns what is to be delivered, unless the model
// is asked again.
func (x *exchange) closeReply(a *answer, cut bool) []out {
	a.ended = true
	outs := a.deliver(a.reader.close(cut), x.ids)
	if x.second {
		outs = append(outs, a.deliver(a.reader.release(), x.ids)...)
	}
	return outs
}

// endReply returns what is to be delivered at the end of the answer.
func (x *exchange) endReply(a *answer) []out {
	outs := append(a.deliver(a.reader.release(), x.ids), a.end()...)
	if x.second && !a.spoke { // it brought nothing
		a.apart = false
		outs = append(outs, a.deliver(x.one.release(), x.ids)...)
	}
	return outs
}

// closeOpen delivers what is held of replies that ended without saying why.
func (x *exchange) closeOpen() {
	for _, i := range slices.Sorted(maps.Keys(x.answers)) {
		a := x.answers[i]
		if a.ended || x.last == nil {
			continue
		}
		for _, o := range append(x.closeReply(a, true), x.endReply(a)...) {
			x.send(i, o)
		}
	}
}
