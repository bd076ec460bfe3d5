package anthropic

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// body makes the request's body for a model of which so much is known; bare
// leaves thinking out.
func (m *Model) body(r agent.Request, tools toolschema.Tools, about shown, bare bool) wire.Body {
	p := sdk.MessageNewParams{Model: m.cfg.Model, MaxTokens: int64(about.maxTokens()), Messages: messagesOf(r, tools), StopSequences: r.Stop}
	if r.MaxTokens > 0 {
		p.MaxTokens = int64(r.MaxTokens)
	}
	if strings.TrimSpace(r.System) != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, d := range tools.List {
		p.Tools = append(p.Tools, toolOf(d))
	}
	if len(r.Tools) > 0 {
		p.ToolChoice = choiceOf(r, tools)
	}
	mark(p.Messages)
	extra := map[string]any{"stream": true}
	maps.Copy(extra, m.cfg.Extra)
	if r.MaxTokens > 0 {
		delete(extra, "max_tokens")
	}
	if bare {
		delete(extra, "thinking")
	}
	addOptions(r, about, extra)
	return wire.Body{Params: p, Extra: extra}
}

// addOptions adds the request's own options, which have precedence over the
// operator's. What a model is not known to take is left out.
func addOptions(r agent.Request, about shown, body map[string]any) {
	_, thinks := body["thinking"] // which the API takes at its own temperature only
	switch s := r.Sampling; {
	case thinks:
	case s.Temperature != nil:
		body["temperature"] = min(*s.Temperature, 1) // others count to 2
	case s.TopP != nil: // newer models take one of the two
		body["top_p"] = *s.TopP
	}
	out := map[string]any{}
	if e := r.Sampling.Effort; e != "" && about.Capabilities.Effort.Supported {
		if e == "minimal" || e == "none" {
			e = "low" // the least there is
		}
		out["effort"] = e
	}
	if r.Format != nil && len(r.Format.Schema) > 0 && about.Capabilities.Schemas.Supported {
		out["format"] = map[string]any{"type": "json_schema", "schema": r.Format.Schema}
	}
	if len(out) > 0 {
		body["output_config"] = out
	}
}

func choiceOf(r agent.Request, tools toolschema.Tools) (c sdk.ToolChoiceUnionParam) {
	one := param.Opt[bool]{}
	if r.OneCall {
		one = param.NewOpt(true)
	}
	switch {
	case r.NoCalls:
		c.OfNone = &sdk.ToolChoiceNoneParam{}
	case r.Choice.Must && r.Choice.Tool != "":
		c.OfTool = &sdk.ToolChoiceToolParam{Name: tools.Name(r.Choice.Tool), DisableParallelToolUse: one}
	case r.Choice.Must:
		c.OfAny = &sdk.ToolChoiceAnyParam{DisableParallelToolUse: one}
	case r.OneCall:
		c.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: one}
	}
	return c
}

// mark puts breakpoints for the prompt cache after the last message, which the
// next request begins with, and after the user's message before it, which the
// request before ended with. The one after the system prompt is there
// already; the API takes four.
func mark(msgs []sdk.MessageParam) {
	marks := 2
	for i := len(msgs) - 1; i >= 0 && marks > 0; i-- {
		if msgs[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		blocks := msgs[i].Content
		if c := blocks[len(blocks)-1].GetCacheControl(); c != nil {
			*c = sdk.NewCacheControlEphemeralParam()
			marks--
		}
	}
}

// messagesOf joins what the API wants in one message: the results of a round
// and what is said with them.
func messagesOf(r agent.Request, tools toolschema.Tools) []sdk.MessageParam {
	var out []sdk.MessageParam
	add := func(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
		if last := len(out) - 1; last >= 0 && out[last].Role == role {
			out[last].Content = append(out[last].Content, blocks...)
		} else if len(blocks) > 0 {
			out = append(out, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	for _, c := range r.Messages {
		switch c.Role {
		case "tool":
			add(sdk.MessageParamRoleUser, resultOf(c))
		case "assistant":
			add(sdk.MessageParamRoleAssistant, replyOf(c, tools)...)
		default:
			add(sdk.MessageParamRoleUser, textOf(c.Text)...)
		}
	}
	return out
}

// textOf is nothing for a text that says nothing: the API refuses such blocks.
func textOf(s string) []sdk.ContentBlockParamUnion {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(s)}
}

func resultOf(c agent.ChatMessage) sdk.ContentBlockParamUnion {
	b := sdk.ToolResultBlockParam{ToolUseID: c.CallID}
	if strings.TrimSpace(c.Text) != "" {
		b.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: c.Text}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &b}
}

// replyOf gives a reply back as it came, where it is known and its calls are
// still those, and else as text and calls.
func replyOf(c agent.ChatMessage, tools toolschema.Tools) []sdk.ContentBlockParamUnion {
	if blocks := unseal(c.Sealed); blocks != nil && sameCalls(blocks, c.Calls) {
		return blocks
	}
	out := textOf(c.Text)
	for _, call := range c.Calls {
		call = tools.Sent(call)
		out = append(out, sdk.ContentBlockParamUnion{OfToolUse: &sdk.ToolUseBlockParam{ID: call.ID, Name: call.Tool, Input: objectOf(call.Args)}})
	}
	return out
}

func sameCalls(blocks []sdk.ContentBlockParamUnion, calls []tool.Call) bool {
	var ids []string
	for _, b := range blocks {
		if b.OfToolUse != nil {
			ids = append(ids, b.OfToolUse.ID)
		}
	}
	return slices.EqualFunc(ids, calls, func(id string, c tool.Call) bool { return id == c.ID })
}

// objectOf gives {} for arguments that are not a JSON object, which the API
// refuses; the tool's message after says what was wrong.
func objectOf(args json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil || m == nil {
		return json.RawMessage("{}")
	}
	return args
}

// toolOf hands the schema on as it is written: a map would lose the order of
// its properties.
func toolOf(d toolschema.Declared) sdk.ToolUnionParam {
	t := &sdk.ToolParam{Name: d.Name, Description: param.NewOpt(d.Description)}
	t.InputSchema = param.Override[sdk.ToolInputSchemaParam](d.Params)
	return sdk.ToolUnionParam{OfTool: t}
}
