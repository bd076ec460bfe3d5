package setup

import (
	"strings"
	"testing"
)

// The token's name decides before what a program says of itself, and each name that a program
// gives itself leads to the settings of that program.
func TestClientOfARequest(t *testing.T) {
	c := Clients{
		"opencode": {Keep: true, Fold: true},
		"qwen":     {Keep: false, WeirTools: true},
		"claude":   {Keep: true, WeirTools: true},
		"my-agent": {Keep: false},
	}
	for _, row := range []struct {
		from Sender
		want Client
	}{
		{Sender{Agent: "opencode/1.18.33 ai-sdk/provider-utils/3.0.20 runtime/bun/1.3.5"}, Client{Name: "opencode", Keep: true, Fold: true, WeirTools: false}},
		{Sender{Agent: "OpenCode"}, Client{Name: "opencode", Keep: true, Fold: true, WeirTools: false}},
		{Sender{Agent: "QwenCode/0.24.4 (linux; x64)"}, Client{Name: "qwen", Keep: false, Fold: false, WeirTools: true}},
		{Sender{Info: "qwen-cli-mcp-client-weir"}, Client{Name: "qwen", Keep: false, Fold: false, WeirTools: true}},
		{Sender{Info: "claude-code", Agent: "Bun/1.3"}, Client{Name: "claude", Keep: true, Fold: false, WeirTools: true}},
		{Sender{Agent: "claude-cli/2.1.332 (external, sdk-cli)"}, Client{Name: "claude", Keep: true, Fold: false, WeirTools: true}},
		{Sender{Agent: "My-Agent 2"}, Client{Name: "my-agent", Keep: false, Fold: false, WeirTools: false}},
		{Sender{Token: "qwen", Info: "claude-code", Agent: "opencode/1"}, Client{Name: "qwen", Keep: false, Fold: false, WeirTools: true}},
		{Sender{Token: "laptop", Agent: "opencode/1"}, Client{Name: "laptop", Keep: true, Fold: false, WeirTools: false}},
		{Sender{Info: "Zed", Agent: "opencode/1"}, Client{Name: "zed", Keep: true, Fold: false, WeirTools: false}},
		{Sender{Info: "程序", Agent: "opencode/1"}, Client{Name: "opencode", Keep: true, Fold: true, WeirTools: false}},
		{Sender{Agent: "codex_exec/0.171.0 (Debian)"}, Client{Name: "codex", Keep: true, Fold: false, WeirTools: false}},
		{Sender{Agent: "GeminiCLI/0.61.0/gemini-3.8-flash (linux; x64)"}, Client{Name: "gemini", Keep: true, Fold: false, WeirTools: false}},
		{Sender{Agent: strings.Repeat("a", 65) + "/1"}, Client{Name: "", Keep: true, Fold: false, WeirTools: false}},
		{Sender{Info: "mastra"}, Client{Name: "mastra", Keep: true, Structured: StructuredShort}},
		{Sender{Info: "streamable-http: http://127.0.0.1:8420/mcp", Agent: "node"}, Client{Name: "openai-agents", Keep: true, Structured: StructuredShort}},
		{Sender{Info: "weir", Agent: "node"}, Client{Name: "weir", Keep: true, Structured: StructuredShort}},
		{Sender{Info: "@some/thing", Agent: "node"}, Client{Name: "some-thing", Keep: true}},
		{Sender{}, Client{Name: "", Keep: true, Fold: false, WeirTools: false}},
	} {
		if got := c.Of(row.from); got != row.want {
			t.Errorf("%+v: %+v, want %+v", row.from, got, row.want)
		}
	}
	if got := c.Of(Sender{Info: "@langchain/mcp-adapters", Agent: "node"}); got.Name != "langchain" || got.Structured != StructuredShort || got.Meta == nil || *got.Meta {
		t.Errorf("LangChain: %+v", got)
	}
	c["langchain"] = Client{Structured: StructuredWhole, Meta: new(true)}
	if got := c.Of(Sender{Info: "@langchain/mcp-adapters"}); got.Structured != StructuredWhole || !*got.Meta {
		t.Errorf("settings for LangChain: %+v", got)
	}
	c["qwencode"] = Client{Fold: true}
	if got := c.Of(Sender{Agent: "QwenCode/0.24.4"}); got != (Client{Name: "qwencode", Keep: false, Fold: true, WeirTools: false}) {
		t.Errorf("settings for the very name that a program gives itself: %+v", got)
	}
}
