package mcpclient

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
)

// rawKey is the member that holds, as a string, JSON as the server wrote it. The SDK reads
// messages into Go values, which lose the order of members and what it does not know.
const rawKey = "weir/raw"

// withRaw returns a message for the SDK: one that answers a call has its structured content
// below rawKey, and a list of tools has all of them there, beside the list itself. Another
// message is returned as it is.
func withRaw(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"structuredContent"`)) && !bytes.Contains(message, []byte(`"tools"`)) || !jsonscan.Valid(message) {
		return message
	}
	b, changed := []byte{'{'}, false
	for name, value := range jsonscan.Members(strings.TrimSpace(string(message))) {
		if name == "result" && strings.HasPrefix(value, "{") {
			value, changed = rawResult(value)
		}
		b = appendMember(b, name, value)
	}
	if !changed {
		return message
	}
	return append(b, '}')
}

// rawResult returns a result with what withRaw puts below rawKey. What else a list of tools
// has in its _meta is for the SDK's own hop.
func rawResult(result string) (out string, changed bool) {
	b, meta, tools := []byte{'{'}, "", ""
	for name, value := range jsonscan.Members(result) {
		switch {
		case name == "_meta":
			meta = value
			continue
		case name == "tools" && strings.HasPrefix(value, "["):
			tools = value
		case name == "structuredContent":
			value, changed = below(value), true
		}
		b = appendMember(b, name, value)
	}
	if tools != "" {
		meta, changed = below(tools), true
	}
	if meta != "" {
		b = appendMember(b, "_meta", meta)
	}
	return string(append(b, '}')), changed
}

func appendMember(b []byte, name, value string) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(jsonscan.AppendString(b, name), ':'), value...)
}

func below(value string) string {
	return string(append(jsonscan.AppendString([]byte(`{"`+rawKey+`":`), value), '}'))
}

// rawIn returns the JSON that withRaw put into a value; nil: none.
func rawIn(v any) json.RawMessage {
	object, _ := v.(map[string]any)
	text, ok := object[rawKey].(string)
	if !ok || len(object) != 1 || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}
