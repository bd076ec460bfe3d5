package provider_test

import (
	"context"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
)

// A model whose template opens a thought is known by its name, where the server may send
// the thought as text; the configuration has precedence.
func TestStartInThought(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		preset, model string
		set           *bool
		want          bool
	}{
		{"vllm", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", nil, true}, {"vllm", "Qwen/Qwen3-30B-A3B-Thinking-2507", nil, true}, {"llamacpp", "QwQ-32B.gguf", nil, true},
		{"lmstudio", "minimax_m2", nil, true}, {"vllm", "Qwen/Qwen3-8B", nil, false}, {"deepseek", "deepseek-r1", nil, false},
		{"vllm", "my-model", &yes, true}, {"vllm", "deepseek-r1", &no, false}, {"openai", "my-model", &yes, true},
	} {
		m, err := provider.New(provider.Config{Name: "m", Provider: c.preset, BaseURL: "http://127.0.0.1:1/v1", Model: c.model, Window: 1000, NativeTools: &no, StartInThought: c.set}, nil)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := m.(agent.Describer).Describe(context.Background())
		if info.StartInThought != c.want {
			t.Errorf("%s %s: %v", c.preset, c.model, info.StartInThought)
		}
	}
}
