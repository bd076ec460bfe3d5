package chatform

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
)

// A Delta is what one event of a server adds to an answer.
type Delta struct {
	Text, Reasoning string
	Calls           []CallDelta
}

// A CallDelta begins the call of an index, which has an ID then, or adds to its arguments.
type CallDelta struct {
	Index               int
	ID, Name, Arguments string
}

// A Writer writes one answer: as chunks, or, for a client that wants no stream, whole. It is
// used by one goroutine at a time.
type Writer struct {
	// Stream and Usage are those of the Request.
	Stream, Usage bool
	// ID, Model and Created, in seconds since 1970, are in all that is written.
	ID, Model string
	Created   int64
	// Reason is OpenAI's word for the end, where it is another than that of the agent.Finish;
	// empty: it is the same.
	Reason string

	begun       bool
	said, think strings.Builder
	calls       []*heldCall
	held        int
}

// NewWriter returns the Writer of an answer to a request. Its ID is one of its own, and model
// the name of the model until the server says another.
func (r *Request) NewWriter(model string) *Writer {
	return &Writer{Model: model, Stream: r.Stream, Usage: r.Usage, ID: "chatcmpl-" + strings.ToLower(rand.Text()), Created: time.Now().Unix()}
}

type heldCall struct {
	id, name string
	args     strings.Builder
}

// Add takes a delta in. It returns the chunk to send; nil: there is none, or no stream.
func (w *Writer) Add(d Delta) json.RawMessage {
	if d.Text == "" && d.Reasoning == "" && len(d.Calls) == 0 {
		return nil
	}
	if !w.Stream {
		w.keep(d)
		return nil
	}
	o := &Object{}
	if !w.begun {
		w.begun = true
		o.Set("role", "assistant")
	}
	if d.Reasoning != "" {
		o.Set("reasoning_content", d.Reasoning)
	}
	if d.Text != "" {
		o.Set("content", d.Text)
	}
	if len(d.Calls) > 0 {
		list := make([]*Object, len(d.Calls))
		for i, c := range d.Calls {
			list[i] = new(Object).Set("index", c.Index)
			f := &Object{}
			if c.ID != "" {
				list[i].Set("id", c.ID).Set("type", "function")
				f.Set("name", c.Name)
			}
			list[i].Raw("function", f.Set("arguments", c.Arguments).Bytes())
		}
		o.Raw("tool_calls", List(list))
	}
	return w.chunk(o, "")
}

// keep holds what a whole answer has.
func (w *Writer) keep(d Delta) {
	w.said.WriteString(d.Text)
	w.think.WriteString(d.Reasoning)
	w.held += len(d.Text) + len(d.Reasoning)
	for _, c := range d.Calls {
		for len(w.calls) <= c.Index {
			w.calls = append(w.calls, &heldCall{})
		}
		call := w.calls[c.Index]
		if c.ID != "" {
			call.id, call.name = c.ID, c.Name
		}
		call.args.WriteString(c.Arguments)
		w.held += len(c.ID) + len(c.Name) + len(c.Arguments)
	}
}

// Held returns how much of a whole answer is held until its end, in bytes.
func (w *Writer) Held() int { return w.held }

// End yields what ends the answer: the whole answer, or the last chunks of a stream. d is the
// last delta of the reply. It returns what yield returns.
func (w *Writer) End(d agent.Delta, yield func(passthrough.Chunk, error) bool) bool {
	reason := cmp.Or(w.Reason, string(d.Finish))
	last := passthrough.Chunk{Usage: d.Usage, Model: d.Model, Finish: d.Finish}
	if !w.Stream {
		last.Data = w.whole(reason, d.Usage)
		return yield(last, nil)
	}
	o := &Object{}
	if !w.begun {
		o.Set("role", "assistant").Set("content", "")
	}
	end := w.chunk(o, reason)
	if d.Usage == nil {
		last.Data = end
		return yield(last, nil)
	}
	if w.Usage {
		last.Data = w.envelope("chat.completion.chunk").Raw("choices", json.RawMessage("[]")).Raw("usage", usage(d.Usage)).Bytes()
	}
	return yield(passthrough.Chunk{Data: end, Model: d.Model}, nil) && yield(last, nil)
}

func (w *Writer) chunk(delta *Object, reason string) json.RawMessage {
	choice := new(Object).Set("index", 0).Raw("delta", delta.Bytes())
	return w.envelope("chat.completion.chunk").Raw("choices", List([]*Object{ended(choice, reason)})).Bytes()
}

func ended(choice *Object, reason string) *Object {
	if reason == "" {
		return choice.Raw("finish_reason", json.RawMessage("null"))
	}
	return choice.Set("finish_reason", reason)
}

func (w *Writer) envelope(object string) *Object {
	return new(Object).Set("id", w.ID).Set("object", object).Set("created", w.Created).Set("model", w.Model)
}

func (w *Writer) whole(reason string, u *agent.Usage) json.RawMessage {
	m := new(Object).Set("role", "assistant")
	if w.said.Len() > 0 || len(w.calls) == 0 {
		m.Set("content", w.said.String())
	} else {
		m.Raw("content", json.RawMessage("null"))
	}
	if w.think.Len() > 0 {
		m.Set("reasoning_content", w.think.String())
	}
	if len(w.calls) > 0 {
		list := make([]*Object, len(w.calls))
		for i, c := range w.calls {
			f := new(Object).Set("name", c.name).Set("arguments", c.args.String())
			list[i] = new(Object).Set("id", c.id).Set("type", "function").Raw("function", f.Bytes())
		}
		m.Raw("tool_calls", List(list))
	}
	choice := new(Object).Set("index", 0).Raw("message", m.Bytes())
	o := w.envelope("chat.completion").Raw("choices", List([]*Object{ended(choice, reason)}))
	if u != nil {
		o.Raw("usage", usage(u))
	}
	return o.Bytes()
}

func usage(u *agent.Usage) json.RawMessage {
	details := new(Object).Set("cached_tokens", u.CachedPrompt)
	return new(Object).Set("prompt_tokens", u.Prompt).Set("completion_tokens", u.Completion).Set("total_tokens", u.Prompt+u.Completion).
		Raw("prompt_tokens_details", details.Bytes()).Bytes()
}
