package openai

import (
	"cmp"
	"encoding/json"
	"maps"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// body makes the request's body.
func (m *Model) body(r agent.Request, tools toolschema.Tools) wire.Body {
	p := sdk.ChatCompletionNewParams{Model: m.cfg.Model, Messages: messagesOf(r, tools, m.dialect.thoughts.Load())}
	for _, d := range tools.List {
		p.Tools = append(p.Tools, toolOf(d))
	}
	if r.MaxTokens > 0 && m.dialect.newTokens.Load() {
		p.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
	} else if r.MaxTokens > 0 {
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens))
	}
	if len(r.Stop) > 0 {
		p.Stop.OfStringArray = r.Stop
	}
	if !m.dialect.noUsage.Load() {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	extra := map[string]any{"stream": true}
	maps.Copy(extra, m.cfg.Extra)
	addOptions(r, tools, m.dialect.noChoice.Load(), extra)
	return wire.Body{Params: p, Extra: extra}
}

// addOptions adds the request's own options, which have precedence over the
// operator's. noChoice leaves out the word that forbids calls.
func addOptions(r agent.Request, tools toolschema.Tools, noChoice bool, body map[string]any) {
	s := r.Sampling
	for name, v := range map[string]*float64{
		"temperature": s.Temperature, "top_p": s.TopP, "frequency_penalty": s.FrequencyPenalty, "presence_penalty": s.PresencePenalty,
	} {
		if v != nil {
			body[name] = *v
		}
	}
	if s.Seed != nil {
		body["seed"] = *s.Seed
	}
	if len(s.Bias) > 0 {
		body["logit_bias"] = s.Bias
	}
	if s.Effort != "" {
		body["reasoning_effort"] = s.Effort
	}
	if r.Format != nil {
		body["response_format"] = formatOf(*r.Format)
	}
	if len(r.Tools) == 0 { // servers refuse these two then
		return
	}
	if r.OneCall && !r.NoCalls {
		body["parallel_tool_calls"] = false
	}
	switch {
	case r.NoCalls:
		if !noChoice {
			body["tool_choice"] = "none"
		}
	case r.Choice.Must && r.Choice.Tool != "":
		body["tool_choice"] = map[string]any{"type": "function", "function": map[string]string{"name": tools.Name(r.Choice.Tool)}}
	case r.Choice.Must:
		body["tool_choice"] = "required"
	}
}

func formatOf(f agent.Format) map[string]any {
	if len(f.Schema) == 0 {
		return map[string]any{"type": "json_object"}
	}
	name := cmp.Or(f.Name, "answer") // which the API wants
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": name, "schema": f.Schema, "strict": f.Strict}}
}

// messagesOf gives thoughts back with the calls that they led to, where the
// server wants them.
func messagesOf(r agent.Request, tools toolschema.Tools, thoughts bool) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	if r.System != "" {
		out = append(out, sdk.SystemMessage(r.System))
	}
	for _, c := range r.Messages {
		switch {
		case c.Role == "tool":
			out = append(out, sdk.ToolMessage(c.Text, c.CallID))
		case c.Role != "assistant":
			out = append(out, sdk.UserMessage(c.Text))
		case c.Text != "" || len(c.Calls) > 0: // servers refuse an assistant that says nothing
			out = append(out, assistantOf(c, tools, thoughts))
		}
	}
	return out
}

func assistantOf(c agent.ChatMessage, tools toolschema.Tools, thoughts bool) sdk.ChatCompletionMessageParamUnion {
	var a sdk.ChatCompletionAssistantMessageParam
	if c.Text != "" {
		a.Content.OfString = param.NewOpt(c.Text)
	}
	for _, call := range c.Calls {
		call = tools.Sent(call)
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       call.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Tool, Arguments: argsOf(call)},
			},
		})
	}
	if thoughts && len(c.Calls) > 0 {
		a.SetExtraFields(map[string]any{"reasoning_content": c.Reasoning}) // wanted even where it is empty
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

// argsOf gives {} for arguments that are not a JSON object: chat templates fail
// on them, and the tool message after says what was wrong.
func argsOf(c tool.Call) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(c.Args, &m) != nil || m == nil {
		return "{}"
	}
	return string(c.Args)
}

// toolOf hands the schema on as it is written: a map would lose the order of
// its properties.
func toolOf(d toolschema.Declared) sdk.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: d.Name, Description: param.NewOpt(d.Description)}
	if d.Params != nil {
		f.SetExtraFields(map[string]any{"parameters": d.Params})
	}
	return sdk.ChatCompletionFunctionTool(f)
}
