package provider

import (
	"net/url"
	"strings"
)

// A service is a hosted API that does not say how long the windows of its models are, and
// what its documentation says about them.
type service struct {
	// hosts are the names in its addresses. One that begins with a dot stands for all
	// names that end with it.
	hosts []string
	// source is the page with the numbers, and read the day on which it was read.
	source, read string
	windows      []window
}

// A window is that of all models whose names begin with a prefix; the longest prefix
// that fits counts. Where the documentation has several numbers, or other versions of the
// model have others, it is the smallest: the input, not input and output together.
type window struct {
	prefix string
	tokens int
}

// services is in the order of Presets, and then by name.
func services() []service {
	return []service{
		{
			hosts:  []string{"ark.cn-beijing.volces.com"},
			source: "https://www.volcengine.com/docs/82379/1330310", read: "2026-11-29",
			windows: []window{
				{"doubao-seed-", 128_000}, {"doubao-seed-character", 32_000},
				{"doubao-seed-1-6", 224_000}, {"doubao-seed-1.6", 224_000}, {"doubao-seed-1-8", 224_000}, {"doubao-seed-1.8", 224_000}, {"doubao-seed-2-", 224_000}, {"doubao-seed-2.", 224_000},
				{"doubao-1-5-", 32_000}, {"doubao-1.5-", 32_000}, {"doubao-1-5-thinking", 96_000}, {"doubao-1.5-thinking", 96_000}, {"doubao-1-5-pro-256k", 224_000}, {"doubao-1.5-pro-256k", 224_000},
				{"doubao-pro-4k", 4_000}, {"doubao-lite-4k", 4_000}, {"doubao-pro-32k", 32_000}, {"doubao-lite-32k", 32_000}, {"doubao-pro-128k", 128_000}, {"doubao-lite-128k", 128_000}, {"doubao-pro-256k", 224_000},
				{"deepseek-", 64_000}, {"kimi-k2", 128_000}, {"glm-4", 128_000},
			},
		},
		{
			hosts:  []string{"api.deepseek.com"},
			source: "https://api-docs.deepseek.com/quick_start/pricing", read: "2026-11-29",
			windows: []window{{"deepseek-", 128_000}},
		},
		{
			hosts:  []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com", ".maas.aliyuncs.com"},
			source: "https://help.aliyun.com/zh/model-studio/models", read: "2026-11-29",
			windows: []window{
				{"qwen-max", 32_768}, {"qwen-plus", 131_072}, {"qwen-turbo", 131_072}, {"qwen-flash", 131_072}, {"qwen-vl-", 131_072}, {"qwq-", 131_072},
				{"qwen2", 32_768}, {"qwen3-", 32_768}, {"qwen3-max", 262_144}, {"qwen3-coder-", 262_144}, {"qwen3-next-", 131_072}, {"qwen3-8b", 131_072}, {"qwen3-14b", 131_072}, {"qwen3-32b", 131_072},
				{"qwen3-30b-", 131_072}, {"qwen3-235b-", 131_072}, {"qwen3.", 131_072}, {"deepseek-", 65_536},
			},
		},
		{
			hosts:  []string{"generativelanguage.googleapis.com"},
			source: "https://ai.google.dev/gemini-api/docs/models", read: "2026-11-29",
			windows: []window{
				{"gemini-", 32_768}, {"gemini-1.5-", 1_000_000}, {"gemini-2.0-flash", 1_048_576}, {"gemini-2.5-flash", 1_048_576}, {"gemini-2.5-flash-image", 32_768}, {"gemini-2.5-pro", 1_048_576},
				{"gemini-3-flash", 1_048_576}, {"gemini-3-pro-preview", 1_048_576}, {"gemma-3-", 32_768},
			},
		},
		{
			hosts:  []string{"api.openai.com"},
			source: "https://platform.openai.com/docs/models", read: "2026-11-29",
			windows: []window{
				{"gpt-3.5-turbo", 16_385}, {"gpt-4", 8_192}, {"gpt-4-32k", 32_768}, {"gpt-4-turbo", 128_000}, {"gpt-4-1106", 128_000}, {"gpt-4-0125", 128_000}, {"gpt-4o", 128_000}, {"chatgpt-4o", 128_000},
				{"gpt-4.1", 1_047_576}, {"gpt-4.5", 128_000}, {"gpt-5", 272_000}, {"gpt-5-chat", 128_000}, {"gpt-5.1-chat", 128_000}, {"gpt-5.2-chat", 128_000}, {"gpt-5.3-", 128_000},
				{"o1", 128_000}, {"o3", 200_000}, {"o4-mini", 200_000},
			},
		},
		{
			hosts:  []string{"api.anthropic.com"},
			source: "https://docs.claude.com/en/docs/build-with-claude/context-windows", read: "2026-11-29",
			windows: []window{{"claude-", 200_000}, {"claude-2", 100_000}, {"claude-instant", 100_000}},
		},
		{
			hosts:  []string{"open.bigmodel.cn", "api.z.ai"},
			source: "https://docs.bigmodel.cn/cn/guide/models/text/glm-4", read: "2026-11-29",
			windows: []window{
				{"glm-4-", 128_000}, {"glm-4-airx", 8_000}, {"glm-4v", 8_000}, {"glm-4.1v", 64_000}, {"glm-4.5", 128_000}, {"glm-4.5v", 64_000}, {"glm-4.6", 128_000}, {"glm-4.7", 128_000}, {"glm-5", 128_000},
			},
		},
		{
			hosts:  []string{"api.mistral.ai"},
			source: "https://docs.mistral.ai/getting-started/models", read: "2026-11-29",
			windows: []window{
				{"mistral-large", 128_000}, {"mistral-medium", 128_000}, {"mistral-small", 128_000}, {"ministral-", 128_000}, {"pixtral-", 128_000}, {"codestral-", 128_000}, {"codestral-2405", 32_000},
				{"devstral-", 128_000}, {"magistral-", 40_000}, {"mistral-nemo", 128_000}, {"open-mistral-nemo", 128_000}, {"open-mistral-7b", 32_000}, {"open-mixtral-8x7b", 32_000}, {"open-mixtral-8x22b", 64_000},
			},
		},
		{
			hosts:  []string{"api.moonshot.cn", "api.moonshot.ai"},
			source: "https://platform.moonshot.cn/docs/pricing/chat", read: "2026-11-29",
			windows: []window{
				{"moonshot-v1-8k", 8_192}, {"moonshot-v1-32k", 32_768}, {"moonshot-v1-128k", 131_072}, {"moonshot-v1-auto", 131_072},
				{"kimi-", 131_072}, {"kimi-k2", 262_144}, {"kimi-k2-0711", 131_072},
			},
		},
	}
}

// has reports whether an address with this host is the service's.
func (s service) has(host string) bool {
	for _, h := range s.hosts {
		if host == h || h[0] == '.' && strings.HasSuffix(host, h) {
			return true
		}
	}
	return false
}

// KnownWindow returns the window that the documentation of a hosted service names for one
// of its models, in tokens. 0: the address is no such service's, or it has no such model.
// Both count: a server of another address may run a model under the same name with a
// window of its own.
func KnownWindow(baseURL, model string) int {
	u, err := url.Parse(baseURL)
	if err != nil {
		return 0
	}
	host, name := strings.ToLower(u.Hostname()), strings.ToLower(strings.TrimPrefix(model, "models/"))
	for _, s := range services() {
		if s.has(host) {
			return s.window(name)
		}
	}
	return 0
}

// window returns the window of a model by its longest prefix; 0: there is none.
func (s service) window(name string) int {
	var best window
	for _, w := range s.windows {
		if strings.HasPrefix(name, w.prefix) && len(w.prefix) > len(best.prefix) {
			best = w
		}
	}
	return best.tokens
}

// KnownWindow returns the documented window of the model, in tokens; 0: none is known.
func (c Config) KnownWindow() int { return KnownWindow(c.address(), c.Model) }
