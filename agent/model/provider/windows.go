package provider

import (
	"net/url"
	"strings"
)

// A service is a hosted API that does not say how long the windows of its models are, and
// what weir takes them to be.
type service struct {
	// hosts are the names in its addresses. One that begins with a dot stands for all
	// names that end with it.
	hosts []string
	// source is the page of the service that has the numbers, and read the day on which
	// they were last looked up.
	source, read string
	windows      []window
}

// A window is that of all models whose names begin with a prefix; the longest prefix
// that fits counts. Where there are several numbers, or other versions of the model have
// others, it is the smallest: the input, not input and output together.
type window struct {
	prefix string
	tokens int
	from   origin
}

// An origin says how far a number can be trusted.
type origin int

const (
	// assumed: no page was read that names it. It is the smallest that is likely, so that
	// weir rather sends too little than too much.
	assumed origin = iota + 1
	// reported: others name it, such as issues and settings of clients.
	reported
	// official: a page of the service names it.
	official
)

// services is in the order of Presets, and then by name.
func services() []service {
	return []service{
		{
			hosts:  []string{"ark.cn-beijing.volces.com"},
			source: "https://www.volcengine.com/docs/82379/1330310", read: "2026-11-29",
			windows: []window{
				{"doubao-seed-", 128_000, assumed}, {"doubao-seed-character", 32_000, assumed},
				{"doubao-seed-1-6", 224_000, reported}, {"doubao-seed-1.6", 224_000, reported}, {"doubao-seed-1-8", 224_000, official}, {"doubao-seed-1.8", 224_000, official}, {"doubao-seed-2-", 224_000, assumed}, {"doubao-seed-2.", 224_000, assumed},
				{"doubao-1-5-", 32_000, reported}, {"doubao-1.5-", 32_000, reported}, {"doubao-1-5-thinking", 96_000, reported}, {"doubao-1.5-thinking", 96_000, reported}, {"doubao-1-5-pro-256k", 224_000, reported}, {"doubao-1.5-pro-256k", 224_000, reported},
				{"doubao-pro-4k", 4_000, assumed}, {"doubao-lite-4k", 4_000, assumed}, {"doubao-pro-32k", 32_000, assumed}, {"doubao-lite-32k", 32_000, assumed}, {"doubao-pro-128k", 128_000, assumed}, {"doubao-lite-128k", 128_000, assumed}, {"doubao-pro-256k", 224_000, assumed},
				{"deepseek-", 64_000, assumed}, {"kimi-k2", 128_000, assumed}, {"glm-4", 128_000, assumed},
			},
		},
		{
			hosts:  []string{"api.deepseek.com"},
			source: "https://api-docs.deepseek.com/quick_start/pricing", read: "2026-11-29",
			windows: []window{{"deepseek-", 128_000, reported}},
		},
		{
			hosts:  []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com", ".maas.aliyuncs.com"},
			source: "https://help.aliyun.com/zh/model-studio/models", read: "2026-11-29",
			windows: []window{
				{"qwen-max", 32_768, official}, {"qwen-plus", 131_072, official}, {"qwen-turbo", 131_072, assumed}, {"qwen-flash", 131_072, assumed}, {"qwen-vl-", 131_072, assumed}, {"qwq-", 131_072, assumed},
				{"qwen2", 32_768, assumed}, {"qwen3-", 32_768, assumed}, {"qwen3-max", 262_144, reported}, {"qwen3-coder-", 262_144, assumed}, {"qwen3-next-", 131_072, assumed}, {"qwen3-8b", 131_072, assumed}, {"qwen3-14b", 131_072, assumed}, {"qwen3-32b", 131_072, assumed},
				{"qwen3-30b-", 131_072, assumed}, {"qwen3-235b-", 131_072, assumed}, {"qwen3.", 131_072, assumed}, {"deepseek-", 65_536, assumed},
			},
		},
		{
			hosts:  []string{"generativelanguage.googleapis.com"},
			source: "https://ai.google.dev/gemini-api/docs/models", read: "2026-11-29",
			windows: []window{
				{"gemini-", 32_768, assumed}, {"gemini-1.5-", 1_000_000, assumed}, {"gemini-2.0-flash", 1_048_576, official}, {"gemini-2.5-flash", 1_048_576, assumed}, {"gemini-2.5-flash-image", 32_768, assumed}, {"gemini-2.5-pro", 1_048_576, assumed},
				{"gemini-3-flash", 1_048_576, assumed}, {"gemini-3-pro-preview", 1_048_576, assumed}, {"gemma-3-", 32_768, assumed},
			},
		},
		{
			hosts:  []string{"api.openai.com"},
			source: "https://platform.openai.com/docs/models", read: "2026-11-29",
			windows: []window{
				{"gpt-3.5-turbo", 16_385, reported}, {"gpt-4", 8_192, assumed}, {"gpt-4-32k", 32_768, assumed}, {"gpt-4-turbo", 128_000, assumed}, {"gpt-4-1106", 128_000, assumed}, {"gpt-4-0125", 128_000, assumed}, {"gpt-4o", 128_000, assumed}, {"chatgpt-4o", 128_000, assumed},
				{"gpt-4.1", 1_047_576, assumed}, {"gpt-4.5", 128_000, assumed}, {"gpt-5", 272_000, reported}, {"gpt-5-chat", 128_000, assumed}, {"gpt-5.1-chat", 128_000, assumed}, {"gpt-5.2-chat", 128_000, assumed}, {"gpt-5.3-", 128_000, assumed},
				{"o1", 128_000, assumed}, {"o3", 200_000, assumed}, {"o4-mini", 200_000, assumed},
			},
		},
		{
			hosts:  []string{"api.anthropic.com"},
			source: "https://docs.claude.com/en/docs/build-with-claude/context-windows", read: "2026-11-29",
			windows: []window{{"claude-", 200_000, reported}, {"claude-2", 100_000, assumed}, {"claude-instant", 100_000, assumed}},
		},
		{
			hosts:  []string{"open.bigmodel.cn", "api.z.ai"},
			source: "https://docs.bigmodel.cn/cn/guide/models/text/glm-4", read: "2026-11-29",
			windows: []window{
				{"glm-4-", 128_000, official}, {"glm-4-airx", 8_000, assumed}, {"glm-4v", 8_000, assumed}, {"glm-4.1v", 64_000, assumed}, {"glm-4.5", 128_000, official}, {"glm-4.5v", 64_000, assumed}, {"glm-4.6", 128_000, assumed}, {"glm-4.7", 128_000, assumed}, {"glm-5", 128_000, assumed},
			},
		},
		{
			hosts:  []string{"api.mistral.ai"},
			source: "https://docs.mistral.ai/getting-started/models", read: "2026-11-29",
			windows: []window{
				{"mistral-large", 128_000, official}, {"mistral-medium", 128_000, assumed}, {"mistral-small", 128_000, official}, {"ministral-", 128_000, assumed}, {"pixtral-", 128_000, assumed}, {"codestral-", 128_000, official}, {"codestral-2405", 32_000, assumed},
				{"devstral-", 128_000, assumed}, {"magistral-", 40_000, assumed}, {"mistral-nemo", 128_000, official}, {"open-mistral-nemo", 128_000, official}, {"open-mistral-7b", 32_000, official}, {"open-mixtral-8x7b", 32_000, official}, {"open-mixtral-8x22b", 64_000, official},
			},
		},
		{
			hosts:  []string{"api.moonshot.cn", "api.moonshot.ai"},
			source: "https://platform.moonshot.cn/docs/pricing/chat", read: "2026-11-29",
			windows: []window{
				{"moonshot-v1-8k", 8_192, reported}, {"moonshot-v1-32k", 32_768, reported}, {"moonshot-v1-128k", 131_072, reported}, {"moonshot-v1-auto", 131_072, reported},
				{"kimi-", 131_072, assumed}, {"kimi-k2", 262_144, reported}, {"kimi-k2-0711", 131_072, reported},
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

// KnownWindow returns the window that weir's table of hosted services has for one of their
// models, in tokens. 0: the address is no such service's, or the table has no such model.
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

// KnownWindow returns the model's window by that table, in tokens; 0: none is known.
func (c Config) KnownWindow() int { return KnownWindow(c.address(), c.Model) }
