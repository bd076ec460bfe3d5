package limit

import (
	"slices"

	"github.com/weirhost/weir/sdk/tool"
)

// minShare is the smallest limit of an agent or a round for one result, in
// characters.
const minShare = 1000

// defaultAgent is the limit of an agent that sets none, for a model whose window is
// unknown.
const defaultAgent = 4000

// Lower returns l and by with MaxChars lowered to chars on behalf of layer. It
// never raises a limit; If chars is zero or negative, this layer has no limit.
func Lower(l tool.Limits, by By, chars int, layer tool.Layer) (tool.Limits, By) {
	if chars > 0 && (l.MaxChars <= 0 || chars < l.MaxChars) {
		l.MaxChars, by.Chars = chars, layer
	}
	return l, by
}

// Share divides budget characters over the results of one round and returns a
// cap for each, in the same order. A result within its fair share is capped at
// its own size. The larger ones share the rest equally, but each gets at least
// 1,000, even if the sum then exceeds the budget. If the budget is zero or
// negative, Share returns the sizes unchanged.
func Share(sizes []int, budget int) []int {
	caps := slices.Clone(sizes)
	if budget <= 0 {
		return caps
	}
	level := max(fairLevel(sizes, budget), minShare)
	for i, n := range caps {
		caps[i] = min(n, level)
	}
	return caps
}

// fairLevel returns the highest cap under which the sizes sum to at most budget.
func fairLevel(sizes []int, budget int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, n := range sorted {
		each := budget / (len(sorted) - i)
		if n > each {
			return each
		}
		budget -= n
	}
	return budget + minShare + slices.Max(append(sorted, 0))
}

// Agent returns the limit of the agent layer, in characters, and the reason.
// configured is max_tool_result_length. If nil, the limit depends on the model's
// window of windowTokens (zero or negative: unknown, which means 4,000). Zero or
// negative means 4,000; 1 to 999 mean 1,000; a larger value is the limit.
func Agent(configured *int, windowTokens int) (chars int, why tool.Text) {
	switch {
	case configured == nil && windowTokens <= 0:
		return defaultAgent, tool.Textf("the model's window is unknown")
	case configured == nil:
		chars, _, _ = byWindow(windowTokens)
		return chars, tool.Textf("the model's window of %d tokens", windowTokens)
	case *configured <= 0:
		return defaultAgent, tool.Textf("max_tool_result_length = %d means the default", *configured)
	case *configured < minShare:
		return minShare, tool.Textf("max_tool_result_length = %d is below the minimum of %d", *configured, minShare)
	}
	return *configured, tool.Textf("max_tool_result_length = %d", *configured)
}

// Recommended returns the limits of an agent that suit a window of windowTokens, in
// characters; zero: the window is unknown.
func Recommended(windowTokens int) (least, most int) {
	if windowTokens <= 0 {
		return 0, 0
	}
	_, least, most = byWindow(windowTokens)
	return least, most
}

// byWindow returns the limit for a window, in characters, and the recommended ones. A
// window between two steps gets the lower limit: a result that is too short costs one
// load, one that is too long costs the answer. The bounds are round thousands, because
// models state both 4,000 and 4,096 tokens as "4K".
func byWindow(tokens int) (chars, least, most int) {
	switch {
	case tokens >= 100_000:
		return 24000, 16000, 32000
	case tokens >= 32_000:
		return 12000, 8000, 16000
	case tokens >= 8_000:
		return 5000, 4000, 6000
	case tokens >= 4_000:
		return 2500, 2000, 3000
	}
	return 1500, 1000, 2000
}
