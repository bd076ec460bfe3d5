package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// A CompletionBody is a chat completion request. Weir ignores all other members, such
// as user, store and service_tier: they do not change the answer, and clients send many.
type CompletionBody struct {
	Model    string         `json:"model"`
	Messages []AskedMessage `json:"messages"`
	Stream   bool           `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Metadata map[string]string `json:"metadata"`

	Tools    []AskedTool     `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"`
	Parallel *bool           `json:"parallel_tool_calls"`
	// WeirTools says whether the model can call weir's own tools; nil: if the client
	// sends no tools, or as the operator set for the client of the token.
	WeirTools *bool `json:"weir_tools"`

	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Stop                json.RawMessage `json:"stop"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	FrequencyPenalty    *float64        `json:"frequency_penalty"`
	PresencePenalty     *float64        `json:"presence_penalty"`
	Seed                *int64          `json:"seed"`
	LogitBias           map[string]int  `json:"logit_bias"`
	Effort              string          `json:"reasoning_effort"`
	Format              *struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"json_schema"`
	} `json:"response_format"`

	// Members that would change the answer, and that weir does not support.
	N            *int            `json:"n"`
	Logprobs     bool            `json:"logprobs"`
	Functions    json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage `json:"function_call"`
	Modalities   []string        `json:"modalities"`
	Audio        json.RawMessage `json:"audio"`
	WebSearch    json.RawMessage `json:"web_search_options"`
}

// An AskedMessage is one message of a request.
type AskedMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // text, or parts of text
	Refusal string          `json:"refusal"`
	Calls   []AskedCall     `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"` // of a message of the role tool
	// Function is a call in the older form of the protocol.
	Function json.RawMessage `json:"function_call"`
}

// An AskedCall is a call of one of the client's tools, as weir sent it.
type AskedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// An AskedTool is one of the client's own tools.
type AskedTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// The limits of one request.
const (
	maxCallerTools = 256
	maxStops       = 16
)

// unsupported returns a problem for the first parameter that weir does not support.
func (b *CompletionBody) unsupported() error {
	set := func(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
	switch {
	case b.N != nil && *b.N != 1:
		return api.Paramf("n", api.CodeUnsupported, "send the request several times", "weir gives one answer to a question, not %d", *b.N)
	case b.Logprobs:
		return api.Paramf("logprobs", api.CodeUnsupported, "leave it out", "weir has no log probabilities")
	case set(b.Functions), set(b.FunctionCall):
		return api.Paramf("functions", api.CodeUnsupported, "send tools and tool_choice instead", "functions are an older form of tools, which weir does not read")
	case set(b.Audio), slices.Contains(b.Modalities, "audio"):
		return api.Paramf("modalities", api.CodeUnsupported, "ask for text", "weir answers in text alone")
	case set(b.WebSearch):
		return api.Paramf("web_search_options", api.CodeUnsupported, "weir has a tool that searches the web: leave this out, and tools too", "weir does not hand on a provider's own web search")
	}
	return nil
}

// options decodes the wishes for the answer.
func (b *CompletionBody) options() (*turns.Options, error) {
	if err := b.unsupported(); err != nil {
		return nil, err
	}
	w := &reader{turns.Options{WeirTools: len(b.Tools) == 0, AsItComes: b.Stream, Sampling: agent.Sampling{
		Temperature: b.Temperature, TopP: b.TopP, FrequencyPenalty: b.FrequencyPenalty, PresencePenalty: b.PresencePenalty,
		Seed: b.Seed, Bias: b.LogitBias, Effort: b.Effort,
	}}}
	if b.WeirTools != nil {
		w.WeirTools = *b.WeirTools
	}
	w.OneCall = b.Parallel != nil && !*b.Parallel
	for name, n := range map[string]*int{"max_tokens": b.MaxTokens, "max_completion_tokens": b.MaxCompletionTokens} {
		if n == nil {
			continue
		}
		if *n < 1 {
			return nil, api.Paramf(name, api.CodeBadValue, "leave it out for the provider's bound", "%s is %d; an answer has at least one token", name, *n)
		}
		w.MaxTokens = max(w.MaxTokens, *n)
	}
	for _, read := range []func(*CompletionBody) error{w.readStop, w.readFormat, w.readTools, w.readChoice} {
		if err := read(b); err != nil {
			return nil, err
		}
	}
	return &w.Options, nil
}

// A reader decodes one option at a time.
type reader struct{ turns.Options }

func (w *reader) readStop(b *CompletionBody) error {
	if len(b.Stop) == 0 || string(b.Stop) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(b.Stop, &one) == nil {
		w.Stop = []string{one}
	} else if json.Unmarshal(b.Stop, &w.Stop) != nil {
		return api.Paramf("stop", api.CodeBadValue, "send a string or a list of strings", "stop is neither a text nor a list of texts")
	}
	if len(w.Stop) > maxStops || slices.Contains(w.Stop, "") {
		return api.Paramf("stop", api.CodeBadValue, "", "stop takes up to %d texts, none of them empty", maxStops)
	}
	return nil
}

func (w *reader) readFormat(b *CompletionBody) error {
	f := b.Format
	switch {
	case f == nil || f.Type == "text":
	case f.Type == "json_object":
		w.Format = &agent.Format{}
	case f.Type == "json_schema":
		if !isObject(f.Schema.Schema) {
			return api.Paramf("response_format", api.CodeBadValue, "", "response_format.json_schema.schema is not an object")
		}
		w.Format = &agent.Format{Name: f.Schema.Name, Schema: f.Schema.Schema, Strict: f.Schema.Strict}
	default:
		return api.Paramf("response_format", api.CodeBadValue, "use text, json_object or json_schema", "there is no response_format %q", api.Clip(f.Type, 40))
	}
	return nil
}

// toolName matches the names that the protocol allows for tools.
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

func (w *reader) readTools(b *CompletionBody) error {
	if len(b.Tools) > maxCallerTools {
		return api.Paramf("tools", api.CodeBadValue, "send those that the question may need", "%d tools are more than %d", len(b.Tools), maxCallerTools)
	}
	for i, t := range b.Tools {
		at := func(field string) string { return fmt.Sprintf("tools[%d].%s", i, field) }
		switch f := t.Function; {
		case t.Type != "function":
			return api.Paramf(at("type"), api.CodeUnsupported, `use {"type": "function", "function": {…}}`, "a tool of the type %q is not understood", api.Clip(t.Type, 40))
		case !toolName().MatchString(f.Name):
			return api.Paramf(at("function.name"), api.CodeBadValue, "1 to 64 letters, digits, _ and -", "%q is not a tool's name", api.Clip(f.Name, 80))
		case slices.ContainsFunc(w.Tools, func(s tool.Spec) bool { return s.Name == f.Name }):
			return api.Paramf(at("function.name"), api.CodeBadValue, "", "two tools are named %q", f.Name)
		case len(f.Parameters) > 0 && string(f.Parameters) != "null" && !isObject(f.Parameters):
			return api.Paramf(at("function.parameters"), api.CodeBadValue, "send a JSON Schema", "the parameters of %s are not an object", f.Name)
		default:
			s := tool.Spec{Name: f.Name, Description: f.Description, Params: f.Parameters}
			if !isObject(s.Params) {
				s.Params = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			w.Tools = append(w.Tools, s)
		}
	}
	return nil
}

// A toolChoice is the object form of tool_choice.
type toolChoice struct {
	Type     string
	Function struct{ Name string }
	Allowed  struct {
		Mode  string
		Tools []struct{ Function struct{ Name string } }
	} `json:"allowed_tools"`
}

func (w *reader) readChoice(b *CompletionBody) error {
	var word string
	var c toolChoice
	raw := bytes.TrimSpace(b.Choice)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &word) == nil:
	case json.Unmarshal(raw, &c) != nil:
		return api.Paramf("tool_choice", api.CodeBadValue, "use none, auto, required or one function", "tool_choice is neither a word nor an object")
	case c.Type == "function":
		w.Choice = agent.Choice{Must: true, Tool: c.Function.Name}
		return nil
	case c.Type == "allowed_tools":
		word = c.Allowed.Mode
		w.Tools = slices.DeleteFunc(w.Tools, func(s tool.Spec) bool {
			return !slices.ContainsFunc(c.Allowed.Tools, func(a struct{ Function struct{ Name string } }) bool { return a.Function.Name == s.Name })
		})
	default:
		word = c.Type
	}
	switch word {
	case "auto":
	case "none":
		w.WeirTools, w.NoTools = false, true
	case "required":
		w.Choice.Must = true
	default:
		return api.Paramf("tool_choice", api.CodeBadValue, "use none, auto, required or one function", "there is no tool_choice %q", api.Clip(word, 40))
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}

// text returns the message's text, of a string or of parts.
func (m AskedMessage) text(at string) (string, error) {
	var s string
	if len(m.Content) == 0 || string(m.Content) == "null" || json.Unmarshal(m.Content, &s) == nil {
		s = cmp.Or(s, m.Refusal)
		return s, nil
	}
	var parts []struct{ Type, Text, Refusal string }
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", api.Paramf(at+".content", api.CodeBadValue, "send a string or a list of text parts", "the content of a %s message is neither text nor parts", api.Clip(m.Role, 20))
	}
	var b strings.Builder
	for i, p := range parts {
		switch p.Type {
		case "text":
			b.WriteString(p.Text)
		case "refusal":
			b.WriteString(p.Refusal)
		case "image_url", "input_audio", "file":
			return "", api.Paramf(fmt.Sprintf("%s.content[%d]", at, i), api.CodeUnsupported, "send text; a tool that reads files can be given a path",
				"weir hands text alone to models: a part of the type %s would be lost", p.Type)
		default:
			return "", api.Paramf(fmt.Sprintf("%s.content[%d]", at, i), api.CodeBadValue, "send text parts", "a part of the type %q is not understood", api.Clip(p.Type, 40))
		}
	}
	return b.String(), nil
}

// word returns a JSON string; empty: it is none.
func word(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // else it stays empty
	return s
}
