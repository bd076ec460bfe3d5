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
		{Sender{Agent: "opencode/1.18.33 ai-sdk/provider-utils/3.0.20 runtime/bun/1.3.5"}, Client{"opencode", true, true, false}},
		{Sender{Agent: "OpenCode"}, Client{"opencode", true, true, false}},
		{Sender{Agent: "QwenCode/0.24.4 (linux; x64)"}, Client{"qwen", false, false, true}},
		{Sender{Info: "qwen-cli-mcp-client-weir"}, Client{"qwen", false, false, true}},
		{Sender{Info: "claude-code", Agent: "Bun/1.3"}, Client{"claude", true, false, true}},
		{Sender{Agent: "claude-cli/2.1.332 (external, sdk-cli)"}, Client{"claude", true, false, true}},
		{Sender{Agent: "My-Agent 2"}, Client{"my-agent", false, false, false}},
		{Sender{Token: "qwen", Info: "claude-code", Agent: "opencode/1"}, Client{"qwen", false, false, true}},
		{Sender{Token: "laptop", Agent: "opencode/1"}, Client{"laptop", true, false, false}},
		{Sender{Info: "Zed", Agent: "opencode/1"}, Client{"zed", true, false, false}},
		{Sender{Info: "程序", Agent: "opencode/1"}, Client{"opencode", true, true, false}},
		{Sender{Agent: "codex_exec/0.171.0 (Debian)"}, Client{"codex", true, false, false}},
		{Sender{Agent: "GeminiCLI/0.61.0/gemini-3.8-flash (linux; x64)"}, Client{"gemini", true, false, false}},
		{Sender{Agent: strings.Repeat("a", 65) + "/1"}, Client{"", true, false, false}},
		{Sender{}, Client{"", true, false, false}},
	} {
		if got := c.Of(row.from); got != row.want {
			t.Errorf("%+v: %+v, want %+v", row.from, got, row.want)
		}
	}
	c["qwencode"] = Client{Fold: true}
	if got := c.Of(Sender{Agent: "QwenCode/0.24.4"}); got != (Client{"qwencode", false, true, false}) {
		t.Errorf("settings for the very name that a program gives itself: %+v", got)
	}
}
