package daemon

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
)

// completionBody is what is read of OpenAI's chat completion request. Other
// fields (temperature, user, …) are taken and ignored: clients send many.
type completionBody struct {
	Model    string              `json:"model"`
	Messages []completionMessage `json:"messages"`
	Stream   bool                `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools    []json.RawMessage `json:"tools"`
	Metadata map[string]string `json:"metadata"`
}

type completionMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text is the message's text, whether it came as a string or as parts.
func (m completionMessage) text() (string, error) {
	var s string
	if len(m.Content) == 0 || string(m.Content) == "null" || json.Unmarshal(m.Content, &s) == nil {
		return s, nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", problem(http.StatusBadRequest, "bad_body", "send a string or a list of text parts", "the content of a %s message is neither text nor parts", clip(m.Role, 20))
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", problem(http.StatusBadRequest, "bad_body", "send text parts only", "a part of type %q is not understood", clip(p.Type, 40))
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// completions speaks OpenAI's protocol. The protocol has no conversations: the
// header X-Weir-Conversation or metadata.conversation_id names a stored one;
// without either, the one with the messages that were sent goes on, or else
// they begin a new one.
func (d *Daemon) completions(w http.ResponseWriter, r *http.Request) error {
	var body completionBody
	if err := sentAsJSON(r); err != nil {
		return err
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20))
	if err := dec.Decode(&body); err != nil {
		return bodyProblem(err)
	}
	ask, history, err := d.completionAsk(r, body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &completion{id: "chatcmpl-" + uuid.NewString(), created: d.now().Unix(), model: ask.Model, body: body, w: w, gone: cancel}
	end, err := d.chatMatched(ctx, d.principal(r), ask, history, c.observe)
	if err != nil && c.s == nil && end.Answer == "" {
		return err
	}
	c.finish(end, err)
	return nil
}

// completionAsk splits the request into the question and what came before it.
func (d *Daemon) completionAsk(r *http.Request, body completionBody) (Ask, []agent.Message, error) {
	ask := Ask{Conversation: r.Header.Get("X-Weir-Conversation")}
	if ask.Conversation == "" {
		ask.Conversation = body.Metadata["conversation_id"]
	}
	if len(body.Tools) > 0 {
		return ask, nil, problem(http.StatusBadRequest, "tools_unsupported", "leave tools out: weir brings the tools of its plugin folder",
			"this daemon does not take tools from the caller")
	}
	if err := d.nameModel(&ask, body.Model); err != nil {
		return ask, nil, err
	}
	var history []agent.Message
	turn := 0
	for i, m := range body.Messages {
		text, err := m.text()
		if err != nil {
			return ask, nil, err
		}
		switch m.Role {
		case "user":
			turn++
			history = append(history, agent.Message{Role: agent.RoleUser, Text: text, Turn: turn, At: d.now()})
		case "assistant":
			history = append(history, agent.Message{Role: agent.RoleAssistant, Text: text, Turn: turn, At: d.now()})
		case "system", "developer":
			ask.system = strings.TrimSpace(ask.system + "\n\n" + text)
		default:
			return ask, nil, problem(http.StatusBadRequest, "bad_body", "use system, user and assistant", "message %d has the role %q", i+1, clip(m.Role, 20))
		}
	}
	last := len(history) - 1
	if last < 0 || history[last].Role != agent.RoleUser {
		return ask, nil, problem(http.StatusBadRequest, "bad_body", "end the messages with the user's question", "the last message is not the user's")
	}
	ask.Message = history[last].Text
	return ask, history[:last], nil
}

// nameModel understands a model's name, a profile's name, or "weir" for the
// default profile.
func (d *Daemon) nameModel(ask *Ask, name string) error {
	if _, ok := d.cfg.Profiles[name]; ok {
		ask.Profile = name
	} else if _, ok := d.cfg.Models[name]; ok {
		ask.Model = name
	} else if name != "" && name != "weir" {
		return problem(http.StatusNotFound, "model_not_found", "GET /v1/models lists them", "there is no model named %q", clip(name, 80))
	}
	if ask.Profile == "" {
		ask.Profile = "default"
	}
	if ask.Model == "" {
		ask.Model = d.cfg.Profiles[ask.Profile].Model
	}
	return nil
}

// A completion writes one answer in OpenAI's shape.
type completion struct {
	id, model string
	created   int64
	body      completionBody
	w         http.ResponseWriter
	gone      func()
	s         *stream
}

func (c *completion) observe(name string, data any) {
	switch {
	case name == eventStart:
		c.w.Header().Set("X-Weir-Conversation", data.(ChatStart).Conversation)
		if c.body.Stream {
			c.s = newStream(c.w, c.gone)
			c.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
		}
	case c.s == nil:
	case name == eventText:
		c.chunk(map[string]any{"content": data.(map[string]string)["text"]}, nil)
	case name == eventThought:
		c.chunk(map[string]any{"reasoning_content": data.(map[string]string)["text"]}, nil)
	}
}

func (c *completion) chunk(delta map[string]any, finish any) {
	c.s.data(c.envelope("chat.completion.chunk", map[string]any{"index": 0, "delta": delta, "finish_reason": finish}))
}

func (c *completion) envelope(object string, choices ...map[string]any) map[string]any {
	if choices == nil {
		choices = []map[string]any{}
	}
	return map[string]any{"id": c.id, "object": object, "created": c.created, "model": c.model, "choices": choices}
}

func (c *completion) finish(end ChatEnd, err error) {
	usage := map[string]int{"prompt_tokens": end.Usage.Prompt, "completion_tokens": end.Usage.Completion, "total_tokens": end.Usage.Prompt + end.Usage.Completion}
	finish := "stop"
	if end.Reason == agent.ReasonLength {
		finish = "length"
	}
	if c.s == nil {
		out := c.envelope("chat.completion", map[string]any{"index": 0, "finish_reason": finish, "logprobs": nil,
			"message": map[string]any{"role": "assistant", "content": end.Answer, "refusal": nil}})
		out["usage"] = usage
		out["weir"] = map[string]any{"conversation_id": end.Conversation, "reason": end.Reason, "results": end.Results}
		writeJSON(c.w, http.StatusOK, out)
		return
	}
	if err != nil {
		c.s.data(map[string]any{"error": asProblem(err)})
	} else {
		c.chunk(map[string]any{}, finish)
	}
	if c.body.Options.Usage {
		out := c.envelope("chat.completion.chunk")
		out["usage"] = usage
		c.s.data(out)
	}
	c.s.data("[DONE]")
}

func (d *Daemon) completionModels(w http.ResponseWriter, _ *http.Request) error {
	rows := []map[string]any{}
	for _, name := range d.modelNames() {
		rows = append(rows, map[string]any{"id": name, "object": "model", "created": d.start.Unix(), "owned_by": "weir", "simulated": d.cfg.Models[name].Info.Simulated})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": rows})
	return nil
}

func (d *Daemon) modelNames() []string {
	names := make([]string, 0, len(d.cfg.Models))
	for name := range d.cfg.Models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
