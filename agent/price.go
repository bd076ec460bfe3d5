package agent

import "cmp"

// A Price is what a provider charges for a million tokens of a kind. The zero Price
// is unknown, and so is every cost.
type Price struct {
	// Prompt and Completion are for a million tokens each.
	Prompt, Completion float64
	// CachedPrompt is for those of the prompt that the provider's cache served,
	// CacheWrite for those that it was charged for keeping; 0: as Prompt.
	CachedPrompt, CacheWrite float64
	// Currency is only shown, for example "USD" or "CNY".
	Currency string
}

// A Cost is what tokens cost.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Cost is what a usage comes to; nil: the price is unknown, or the provider
// does not count tokens.
func (p Price) Cost(u Usage) *Cost {
	if p.Prompt <= 0 && p.Completion <= 0 || u.Prompt+u.Completion <= 0 {
		return nil
	}
	cached := min(max(u.CachedPrompt, 0), u.Prompt)
	written := min(max(u.CacheWrite, 0), u.Prompt-cached)
	sum := float64(u.Prompt-cached-written)*p.Prompt + float64(u.Completion)*p.Completion
	sum += float64(cached)*cmp.Or(p.CachedPrompt, p.Prompt) + float64(written)*cmp.Or(p.CacheWrite, p.Prompt)
	return &Cost{Amount: max(sum, 0) / 1e6, Currency: p.Currency}
}
