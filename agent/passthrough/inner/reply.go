package inner

import (
	"encoding/json"
	"fmt"

	"github.com/weirhost/weir/agent/passthrough"
)

// A Hidden is a call that the client does not get.
type Hidden struct {
	At   int // among the calls of the reply
	Call passthrough.Call
	// Raw is the call with all that the server said of it, which it may want back.
	Raw json.RawMessage
	// Tool is the own name of weir's tool; empty: the call is one of a tool of the client's,
	// and its arguments hold a text of weir's.
	Tool string
}

// A Reply is one reply of the model.
type Reply struct {
	s      *Splitter
	answer passthrough.Answer
	calls  []*call
	given  int // calls that the client gets
	spoke  bool
	last   *chunk              // of those with a delta
	held   []passthrough.Chunk // the end, and the usage
	whole  bool                // the reply comes in one piece
}

// call is a call of which pieces come.
type call struct {
	name   string
	hidden bool
	index  int               // the client's
	pieces []json.RawMessage // held back
	begun  bool              // index is valid
	extra  []member          // what only this server says of a call, such as a signature
}

type member struct {
	name  string
	value json.RawMessage
}

// Add takes a chunk in, and returns what of it the client gets now.
func (r *Reply) Add(c passthrough.Chunk) []passthrough.Chunk {
	if c.Data == nil {
		return nil
	}
	r.answer.Add(c.Data)
	b, err := passthrough.ReadBody(c.Data)
	var choices []json.RawMessage
	if err != nil || json.Unmarshal(b.Get("choices"), &choices) != nil || len(choices) == 0 {
		if err == nil && r.s.replies > 1 {
			c.Data = r.s.asOne(b).Bytes()
		}
		r.held = append(r.held, c) // the usage
		return nil
	}
	b = r.s.asOne(b)
	choice, err := passthrough.ReadBody(choices[0])
	if err != nil {
		return []passthrough.Chunk{c}
	}
	if choice.Has("message") {
		r.whole = true
		r.held = append(r.held, c)
		return nil
	}
	return r.s.begin(r.delta(chunk{c, b, choice}))
}

// A chunk is a chunk that was read.
type chunk struct {
	passthrough.Chunk
	body, choice passthrough.Body
}

// with returns the chunk with another delta.
func (c chunk) with(delta passthrough.Body, finish bool) passthrough.Chunk {
	choice := c.choice.With("delta", delta.Bytes())
	out := c.Chunk
	if !finish && choice.Has("finish_reason") {
		choice = choice.With("finish_reason", json.RawMessage("null"))
		out.Finish = ""
	}
	out.Data = c.body.With("choices", joined([]json.RawMessage{choice.Bytes()})).Bytes()
	return out
}

// delta takes a piece of a stream in. What needs no change goes on as it came.
func (r *Reply) delta(c chunk) (out []passthrough.Chunk) {
	r.last = &c
	delta, err := passthrough.ReadBody(c.choice.Get("delta"))
	if err != nil {
		delta = passthrough.Body{}
	}
	delta, same := r.speak(delta)
	var pieces []json.RawMessage
	_ = json.Unmarshal(delta.Get("tool_calls"), &pieces) // else there are none
	delta = delta.Without("tool_calls")
	finish := c.choice.Has("finish_reason")
	led := len(r.s.lead)
	switch {
	case finish:
	case says(delta):
		out = append(out, c.with(delta, false))
	case len(pieces) == 0 && r.s.begun && r.s.replies == 1:
		return []passthrough.Chunk{c.Chunk}
	case len(pieces) == 0 && r.s.replies == 1:
		r.s.lead = append(r.s.lead, c.Chunk)
		return nil
	case !r.s.begun && len(r.s.lead) == 0 && delta.Has("role"):
		r.s.lead = append(r.s.lead, c.with(delta, false))
	}
	for _, p := range pieces {
		out = append(out, r.piece(c, p)...)
	}
	if same = same && r.s.replies == 1 && r.untouched(); same {
		r.s.lead = r.s.lead[:led]
	}
	switch {
	case finish && same:
		r.held, out = append(r.held, c.Chunk), nil
	case finish:
		r.held = append(r.held, c.with(delta, true))
	case same:
		return []passthrough.Chunk{c.Chunk}
	}
	return out
}

// untouched reports whether the client gets all calls as they come.
func (r *Reply) untouched() bool {
	for _, to := range r.calls {
		if to.hidden || len(to.pieces) > 0 || r.s.Own.Any() {
			return false
		}
	}
	return true
}

// says reports whether a delta says anything to a client.
func says(delta passthrough.Body) bool {
	for _, name := range delta.Names() {
		if v := string(delta.Get(name)); name != "role" && v != "null" && v != `""` {
			return true
		}
	}
	return false
}

// speak notes what the client reads. A text after that of an earlier reply begins a paragraph.
func (r *Reply) speak(delta passthrough.Body) (_ passthrough.Body, same bool) {
	var said string
	if json.Unmarshal(delta.Get("content"), &said) != nil || said == "" {
		return delta, true
	}
	same = r.spoke || r.s.said.Len() == 0
	if !same {
		said = "\n\n" + said
		delta = delta.With("content", json.RawMessage(text(said)))
	}
	r.spoke = true
	r.s.said.WriteString(said)
	return delta, same
}

// piece takes a piece of a call in.
func (r *Reply) piece(c chunk, raw json.RawMessage) (out []passthrough.Chunk) {
	var head struct {
		Index    *int
		ID       string
		Function struct{ Name string }
	}
	_ = json.Unmarshal(raw, &head) // what cannot be read belongs to the last call
	at := len(r.calls)
	if head.Index != nil {
		at = *head.Index
	} else if head.ID == "" && at > 0 {
		at--
	}
	if at < 0 || at >= len(r.calls) {
		at = len(r.calls)
		r.calls = append(r.calls, &call{})
	}
	to := r.calls[at]
	if to.name == "" {
		to.name = head.Function.Name
		_, to.hidden = r.s.Offered.Own(to.name)
	}
	to.keepExtra(raw)
	switch {
	case to.hidden:
	case to.name == "" || r.s.Own.Any():
		to.pieces = append(to.pieces, raw)
	default:
		for _, p := range append(to.pieces, raw) {
			out = append(out, r.give(c, to, p))
		}
		to.pieces = nil
	}
	return out
}

// keepExtra notes the members of a piece that the protocol does not know.
func (to *call) keepExtra(raw json.RawMessage) {
	b, err := passthrough.ReadBody(raw)
	if err != nil {
		return
	}
	for _, name := range b.Names() {
		switch name {
		case "index", "id", "type", "function":
		default:
			to.extra = append(to.extra, member{name, b.Get(name)})
		}
	}
}

// give returns a chunk with a piece of a call of the client's.
func (r *Reply) give(c chunk, to *call, raw json.RawMessage) passthrough.Chunk {
	if !to.begun {
		to.begun, to.index = true, r.given
		r.given++
	}
	b, err := passthrough.ReadBody(raw)
	if err == nil && (b.Has("index") || to.index > 0) {
		raw = b.With("index", json.RawMessage(fmt.Sprint(to.index))).Bytes()
	}
	var delta passthrough.Body
	return c.with(delta.With("tool_calls", joined([]json.RawMessage{raw})), false)
}

// release returns the calls that were held back, but those that must not be handed over. It is
// for the end of the reply: some servers send the pieces of several calls by turns.
func (r *Reply) release(c chunk) (out []passthrough.Chunk) {
	for i, to := range r.calls {
		if to.hidden || len(to.pieces) == 0 {
			continue
		}
		if i < len(r.answer.Calls()) && r.s.Own.In(r.answer.Calls()[i].Function.Arguments) {
			to.hidden = true
			continue
		}
		for _, p := range to.pieces {
			out = append(out, r.give(c, to, p))
		}
		to.pieces = nil
	}
	return out
}

// End ends the reply. hidden are the calls that weir has to answer; if the client gets calls of
// the same reply, they are answered beside those, else in a round of their own, and then the
// model is asked again. rest is what the client gets at the end, if it is not asked again.
func (r *Reply) End() (rest []passthrough.Chunk, hidden []Hidden) {
	if r.whole {
		return r.endWhole()
	}
	if r.last != nil {
		rest = r.release(*r.last)
	}
	hidden = r.hidden(func(i int) bool { return i < len(r.calls) && r.calls[i].hidden })
	if len(hidden) > 0 && r.given == 0 {
		return nil, hidden
	}
	return r.s.begin(append(rest, r.held...)), hidden
}

func read(c passthrough.Chunk) (chunk, bool) {
	b, err := passthrough.ReadBody(c.Data)
	var choices []json.RawMessage
	if err != nil || json.Unmarshal(b.Get("choices"), &choices) != nil || len(choices) == 0 {
		return chunk{}, false
	}
	choice, err := passthrough.ReadBody(choices[0])
	return chunk{c, b, choice}, err == nil
}

// hidden returns the calls of which is says so. A call without an id gets one.
func (r *Reply) hidden(is func(i int) bool) (out []Hidden) {
	calls := r.answer.Calls()
	for i := range calls {
		if !is(i) {
			continue
		}
		if calls[i].ID == "" {
			r.s.ids++
			calls[i].ID = fmt.Sprintf("weir_%d", r.s.ids)
		}
		own, _ := r.s.Offered.Own(calls[i].Function.Name)
		out = append(out, Hidden{i, calls[i], r.raw(i), own})
	}
	return out
}

// Given returns the calls that the client got, once the reply has ended.
func (r *Reply) Given(hidden []Hidden) (out []passthrough.Call) {
	for i, c := range r.answer.Calls() {
		if len(hidden) > 0 && hidden[0].At == i {
			hidden = hidden[1:]
			continue
		}
		out = append(out, c)
	}
	return out
}

// raw returns a call with all that the server said of it.
func (r *Reply) raw(i int) json.RawMessage {
	out := json.RawMessage(text(r.answer.Calls()[i]))
	if b, err := passthrough.ReadBody(out); err == nil && i < len(r.calls) {
		for _, m := range r.calls[i].extra {
			b = b.With(m.name, m.value)
		}
		out = b.Bytes()
	}
	return out
}

// Message returns the reply as a message of the assistant, with all its calls.
func (r *Reply) Message() json.RawMessage {
	out := r.answer.Message()
	b, err := passthrough.ReadBody(out)
	if err != nil || !b.Has("tool_calls") {
		return out
	}
	var calls []json.RawMessage
	for i := range r.answer.Calls() {
		calls = append(calls, r.raw(i))
	}
	return b.With("tool_calls", joined(calls)).Bytes()
}
