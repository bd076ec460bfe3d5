package mcpserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
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
	info    string // clientInfo.name, where the message itself says it
	client  Client // who sent it
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
		case mcp.MetaKeyClientInfo:
			for name, v := range jsonscan.Members(value) {
				if name == "name" {
					m.info, _ = jsonscan.Text([]byte(v))
				}
			}
			return value[0] == '{'
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
		if slices.Contains(seen, key) {
			return false
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
	if r.Err == nil && r.Ref == nil && len(r.Parts) == 0 && len(r.Structured) == 0 && r.Blocks == nil && r.Meta == nil && m.version == "" && u.promise(r.Tool).whole == nil {
		return textReply(m.id, limit.Render(r, u.locale()))
	}
	out := u.answer(m.client, r)
	if m.version != "" {
		if out.Meta == nil {
			out.Meta = mcp.Meta{}
		}
		out.Meta[mcp.MetaKeyServerInfo] = u.s.self()
	}
	b, err := appendResult(resultHead(m.id, sizeOf(out.Content)), out, m.version != "")
	if err != nil {
		u.s.log.Error("a result could not be written", "tool", r.Tool, "error", err)
		return failure(m.id, jsonrpc.CodeInternalError, textsIn(u.locale()).broken)
	}
	return append(b, '}')
}

// resultHead begins the answer to a call, with room for a text of size bytes.
func resultHead(id string, size int) []byte {
	b := make([]byte, 0, size+size/16+len(id)+500)
	return append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
}

// sizeOf returns the bytes of texts.
func sizeOf(list []mcp.Content) (n int) {
	for _, c := range list {
		if t, ok := c.(*mcp.TextContent); ok {
			n += len(t.Text)
		}
	}
	return n
}

// appendResult appends a result as encoding/json writes the SDK's value, but for what it
// escapes for web pages. encoding/json would read each text three times: to write it, and
// to compact it for the part and for the result. complete says that it is a complete
// result, as later revisions want.
func appendResult(b []byte, r *mcp.CallToolResult, complete bool) ([]byte, error) {
	b = append(b, '{')
	if complete {
		b = append(b, `"resultType":"complete",`...)
	}
	var err error
	if len(r.Meta) > 0 {
		if b, err = appendJSON(append(b, `"_meta":`...), r.Meta); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	b = append(b, `"content":[`...)
	for i, c := range r.Content {
		if i > 0 {
			b = append(b, ',')
		}
		if t, ok := c.(*mcp.TextContent); ok && t.Meta == nil && t.Annotations == nil {
			b = append(jsonscan.AppendString(append(b, `{"type":"text","text":`...), t.Text), '}')
		} else if b, err = appendJSON(b, c); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if r.StructuredContent != nil {
		if b, err = appendJSON(append(b, `,"structuredContent":`...), r.StructuredContent); err != nil {
			return nil, err
		}
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}

func appendJSON(b []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return append(b, raw...), err
}

// textReply is the answer to a call that came to a text and nothing else.
func textReply(id, text string) []byte {
	b := append(resultHead(id, len(text)), `{"content":[{"type":"text","text":`...)
	return append(jsonscan.AppendString(b, text), `}]}}`...)
}

// failure writes an answer that is an error of the protocol.
func failure(id string, code int64, text string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = append(strconv.AppendInt(b, code, 10), `,"message":`...)
	return append(jsonscan.AppendString(b, text), `}}`...)
}
