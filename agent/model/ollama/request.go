package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// The body of /api/chat.
type request struct {
	Model     string         `json:"model"`
	Messages  []message      `json:"messages"`
	Tools     []function     `json:"tools,omitempty"`
	Stream    bool           `json:"stream"`
	Think     *bool          `json:"think,omitempty"`
	KeepAlive string         `json:"keep_alive,omitempty"`
	Options   map[string]any `json:"options"`
	// Format is "json" or a schema; it keeps tools from being called.
	Format json.RawMessage `json:"format,omitempty"`
	// Truncate and Shift, both false, make newer servers refuse a prompt that
	// does not fit instead of dropping its beginning. Older ones do not know them.
	Truncate bool `json:"truncate"`
	Shift    bool `json:"shift"`
}

type message struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
	ToolName  string     `json:"tool_name,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type function struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (m *Model) body(r agent.Request, tools toolschema.Tools, window int) ([]byte, error) {
	out := request{
		Model: m.cfg.Model, Stream: true, Think: m.cfg.Think, KeepAlive: m.cfg.KeepAlive,
		Messages: messagesOf(r, tools), Options: map[string]any{},
	}
	for _, d := range tools.List {
		out.Tools = append(out.Tools, functionOf(d))
	}
	maps.Copy(out.Options, m.cfg.Extra)
	out.Options["num_ctx"] = window
	if r.MaxTokens > 0 {
		out.Options["num_predict"] = r.MaxTokens
	}
	if len(r.Stop) > 0 {
		out.Options["stop"] = r.Stop
	}
	s := r.Sampling
	for name, v := range map[string]*float64{
		"temperature": s.Temperature, "top_p": s.TopP, "frequency_penalty": s.FrequencyPenalty, "presence_penalty": s.PresencePenalty,
	} {
		if v != nil {
			out.Options[name] = *v
		}
	}
	if s.Seed != nil {
		out.Options["seed"] = *s.Seed
	}
	if f := r.Format; f != nil && (len(r.Tools) == 0 || r.NoCalls) {
		if out.Format = f.Schema; len(out.Format) == 0 {
			out.Format = json.RawMessage(`"json"`)
		}
	}
	return json.Marshal(out)
}

func messagesOf(r agent.Request, tools toolschema.Tools) []message {
	var out []message
	if r.System != "" {
		out = append(out, message{Role: "system", Content: r.System})
	}
	for _, c := range r.Messages {
		msg := message{Role: c.Role, Content: c.Text}
		switch c.Role {
		case "assistant":
			if c.Text == "" && len(c.Calls) == 0 {
				continue
			}
			msg.Thinking = c.Reasoning
			for _, call := range c.Calls {
				msg.ToolCalls = append(msg.ToolCalls, toolCallOf(tools.Sent(call)))
			}
		case "tool":
			msg.ToolName, msg.CallID = tools.Name(c.Tool), c.CallID
		}
		out = append(out, msg)
	}
	return out
}

// toolCallOf gives {} for arguments that are not a JSON object: the server
// refuses the whole request for them, and the tool message after says what was wrong.
func toolCallOf(c tool.Call) toolCall {
	out := toolCall{ID: c.ID}
	out.Function.Name, out.Function.Arguments = c.Tool, c.Args
	var object map[string]json.RawMessage
	if json.Unmarshal(c.Args, &object) != nil || object == nil {
		out.Function.Arguments = json.RawMessage("{}")
	}
	return out
}

func functionOf(d toolschema.Declared) function {
	f := function{Type: "function"}
	f.Function.Name, f.Function.Description, f.Function.Parameters = d.Name, d.Description, d.Params
	return f
}

// send makes one request. An answer that is not 200 is a *wire.Refusal;
// otherwise the caller closes the body. body nil: GET.
func (m *Model) send(ctx context.Context, path string, body []byte) (*http.Response, error) {
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, m.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "weir")
	if m.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.cfg.Key)
	}
	for k, v := range m.cfg.Headers {
		req.Header.Set(k, v)
	}
	return wire.Intercept(req, m.client.Do)
}

// read is send for an answer of at most limit bytes, which is read whole.
func (m *Model) read(ctx context.Context, p wire.Peer, watch *wire.Watch, path string, body []byte, limit int64) ([]byte, error) {
	res, err := m.send(ctx, path, body)
	if err != nil {
		return nil, p.Failed(ctx, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(watch.Body(res.Body), limit))
	if err != nil {
		return nil, p.Transport(ctx, wire.Reading, err)
	}
	return data, nil
}
