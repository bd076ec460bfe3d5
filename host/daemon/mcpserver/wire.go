package mcpserver

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A kind is what a message was recognised as.
type kind int

const (
	other  kind = iota // for the SDK
	call               // a plain call of a tool
	cancel             // the end of a call
	broken             // no JSON at all
)

// A message is one that was recognised.
type message struct {
	kind kind
	id   string // as it is written; of a cancel: that of the call
	name string
	args json.RawMessage
	// version is the protocol's revision where the message itself says it, and
	// elicits what it says of the client then.
	version string
	elicits bool
	trace   Trace
}

// tracedBy takes the trace of the HTTP request, if the message has none of its own.
func (m *message) tracedBy(h http.Header) {
	if m.trace.Parent == "" {
		m.trace = headerTrace(h)
	}
}

// recognise reads a message. What it does not know in every part, what wants to
// hear of progress, and what is written in an odd way, is other.
func recognise(raw []byte) message {
	if !jsonscan.Valid(raw) {
		return message{kind: broken}
	}
	text := string(raw)
	var m message
	var method, params string
	ok := each(text, func(key, value string) bool {
		switch key {
		case "jsonrpc":
			return value == `"2.0"`
		case "id":
			m.id = value
			return value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9'
		case "method":
			method = value
		case "params":
			params = value
		default:
			return false
		}
		return true
	})
	switch {
	case ok && method == `"tools/call"` && m.id != "" && m.params(params):
		m.kind = call
	case ok && method == `"notifications/cancelled"` && m.id == "" && m.cancelled(params):
		m.kind = cancel
	default:
		return message{}
	}
	return m
}

// params reads those of a call.
func (m *message) params(text string) bool {
	m.args = json.RawMessage("{}")
	meta := ""
	return each(text, func(key, value string) bool {
		switch key {
		case "name":
			m.name = plainText(value)
			return m.name != ""
		case "arguments":
			m.args = json.RawMessage(value)
			return value[0] == '{'
		case "_meta":
			meta = value
			return true
		}
		return false
	}) && m.name != "" && (meta == "" || m.meta(meta))
}

// meta reads the metadata of a call. Some of it changes how the call is answered.
func (m *message) meta(text string) bool {
	described := false
	return each(text, func(key, value string) bool {
		switch key {
		case "progressToken", mcp.MetaKeyLogLevel:
			return false
		case traceKey:
			m.trace.Parent = plainText(value)
		case stateKey:
			m.trace.State = plainText(value)
		case mcp.MetaKeyProtocolVersion:
			m.version = plainText(value)
			return m.version != ""
		case mcp.MetaKeyClientCapabilities:
			described = value[0] == '{'
			for name := range jsonscan.Members(value) {
				m.elicits = m.elicits || name == "elicitation"
			}
			return described
		}
		return true
	}) && (m.version == "" || described)
}

// cancelled reads what is to be ended.
func (m *message) cancelled(text string) bool {
	return each(text, func(key, value string) bool {
		if key == "requestId" {
			m.id = value
		}
		return true
	}) && m.id != ""
}

// each walks over the members of an object of valid JSON, until f says no. It
// is false then, and for what is no object or has a member twice.
func each(object string, f func(key, value string) bool) bool {
	object = strings.TrimSpace(object)
	if object == "" || object[0] != '{' {
		return false
	}
	var few [16]string
	seen := few[:0]
	for key, value := range jsonscan.Members(object) {
		for _, s := range seen {
			if s == key {
				return false
			}
		}
		if seen = append(seen, key); len(seen) > cap(few) || !f(key, value) {
			return false
		}
	}
	return true
}

// plainText is the text of a JSON string that has no escapes; empty: it is none.
func plainText(value string) string {
	if len(value) < 2 || value[0] != '"' || strings.IndexByte(value, '\\') >= 0 {
		return ""
	}
	return value[1 : len(value)-1]
}

// reply writes the answer to a call, as one line without its end.
func (u *user) reply(m message, r tool.Result) []byte {
	if r.Err == nil && r.Ref == nil && len(r.Parts) == 0 && len(r.Structured) == 0 && m.version == "" && !u.promises(r.Tool) {
		return textReply(m.id, limit.Render(r, u.locale()))
	}
	out := u.answer(r)
	if m.version != "" {
		if out.Meta == nil {
			out.Meta = mcp.Meta{}
		}
		out.Meta[mcp.MetaKeyServerInfo] = u.s.self()
	}
	body, err := json.Marshal(out)
	if err != nil {
		u.s.log.Error("a result could not be written", "tool", r.Tool, "error", err)
		return failure(m.id, jsonrpc.CodeInternalError, textsIn(u.locale()).broken)
	}
	b := make([]byte, 0, len(body)+len(m.id)+80)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, m.id...)
	b = append(b, `,"result":`...)
	if m.version != "" { // in which a result says that it is one
		b = append(b, `{"resultType":"complete",`...)
		body = body[1:]
	}
	b = append(b, body...)
	return append(b, '}')
}

// textReply is the answer to a call that came to a text and nothing else, as
// encoding/json would write the SDK's value, but for what it escapes for web pages.
func textReply(id, text string) []byte {
	b := make([]byte, 0, len(id)+len(text)+len(text)/16+100)
	b = append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), `,"result":{"content":[{"type":"text","text":`...)
	if jsonscan.Plain(text) {
		b = append(append(append(b, '"'), text...), '"')
	} else {
		b = append(b, quoted(text)...)
	}
	return append(b, `}]}}`...)
}

// quoted is a JSON string.
func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil { // a string always marshals
		return []byte(`""`)
	}
	return b
}

// failure writes an answer that is an error of the protocol.
func failure(id string, code int64, text string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	c, err := json.Marshal(code)
	if err != nil {
		c = []byte("0")
	}
	b = append(append(b, c...), `,"message":`...)
	return append(append(b, quoted(text)...), `}}`...)
}
