package openai

import (
	"encoding/json"
	"strconv"

	"github.com/weirhost/weir/agent/passthrough"
)

// asChunk returns a whole answer as the only chunk of a stream, for the client of a server that
// streams nothing: clients read no message in a stream, and would take the answer for empty.
func asChunk(whole json.RawMessage) json.RawMessage {
	b, err := passthrough.ReadBody(whole)
	var choices []json.RawMessage
	if err != nil || json.Unmarshal(b.Get("choices"), &choices) != nil {
		return whole
	}
	for i, raw := range choices {
		c, err := passthrough.ReadBody(raw)
		if err != nil || !c.Has("message") {
			continue
		}
		choices[i] = c.Without("message").With("delta", numbered(c.Get("message"))).Bytes()
	}
	return b.With("object", json.RawMessage(`"chat.completion.chunk"`)).With("choices", listOf(choices)).Bytes()
}

// listOf returns a JSON list of values as they are.
func listOf(values []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// numbered returns a message whose calls have the index that they have in a stream.
func numbered(message json.RawMessage) json.RawMessage {
	m, err := passthrough.ReadBody(message)
	var calls []json.RawMessage
	if err != nil || json.Unmarshal(m.Get("tool_calls"), &calls) != nil || len(calls) == 0 {
		return message
	}
	for i, raw := range calls {
		if c, err := passthrough.ReadBody(raw); err == nil && !c.Has("index") {
			calls[i] = c.With("index", json.RawMessage(strconv.Itoa(i))).Bytes()
		}
	}
	return m.With("tool_calls", listOf(calls)).Bytes()
}
