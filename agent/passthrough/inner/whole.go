package inner

import (
	"encoding/json"

	"github.com/weirhost/weir/agent/passthrough"
)

// endWhole is End for a reply in one piece.
func (r *Reply) endWhole() (rest []passthrough.Chunk, hidden []Hidden) {
	c, ok := read(r.held[0])
	message, err := passthrough.ReadBody(c.choice.Get("message"))
	list := r.readCalls(message)
	hide := map[int]bool{}
	for i, c := range r.answer.Calls() {
		_, own := r.s.Offered.Own(c.Function.Name)
		hide[i] = own || r.s.Own.In(c.Function.Arguments)
	}
	hidden = r.hidden(func(i int) bool { return hide[i] })
	before := r.s.said.String()
	if said := r.answer.Text(); said != "" {
		if before != "" {
			r.s.said.WriteString("\n\n")
		}
		r.s.said.WriteString(said)
	}
	if !ok || err != nil || len(hidden) == 0 && before == "" {
		return r.held, hidden
	}
	message = withoutCalls(message, list, hide)
	if before != "" {
		message = message.With("content", json.RawMessage(text(r.s.said.String())))
	}
	out := c.Chunk
	out.Data = r.s.asOne(c.body).With("choices", joined([]json.RawMessage{c.choice.With("message", message.Bytes()).Bytes()})).Bytes()
	return append([]passthrough.Chunk{out}, r.held[1:]...), hidden
}

// readCalls takes the calls of a message in.
func (r *Reply) readCalls(message passthrough.Body) (list []json.RawMessage) {
	_ = json.Unmarshal(message.Get("tool_calls"), &list) // else there are none
	for _, raw := range list {
		to := &call{}
		to.keepExtra(raw)
		r.calls = append(r.calls, to)
	}
	return list
}

// withoutCalls returns a message without the calls that are hidden.
func withoutCalls(message passthrough.Body, list []json.RawMessage, hide map[int]bool) passthrough.Body {
	var left []json.RawMessage
	for i, raw := range list {
		if !hide[i] {
			left = append(left, raw)
		}
	}
	switch len(left) {
	case len(list):
		return message
	case 0:
		return message.Without("tool_calls")
	}
	return message.With("tool_calls", joined(left))
}
