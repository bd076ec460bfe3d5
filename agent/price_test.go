package agent_test

import (
	"math"
	"testing"

	"github.com/weirhost/weir/agent"
)

func TestPrice(t *testing.T) {
	p := agent.Price{Prompt: 3, Completion: 15, CachedPrompt: 0.3, CacheWrite: 3.75, Currency: "USD"}
	for _, c := range []struct {
		name  string
		price agent.Price
		usage agent.Usage
		want  float64 // negative: no cost
	}{
		{"each kind at its price", p, agent.Usage{Prompt: 1000, Completion: 100, CachedPrompt: 600, CacheWrite: 200}, (200*3 + 600*0.3 + 200*3.75 + 100*15) / 1e6},
		{"what is not stated costs as the prompt", agent.Price{Prompt: 2, Completion: 4}, agent.Usage{Prompt: 10, Completion: 1, CachedPrompt: 5, CacheWrite: 2}, 24 / 1e6},
		{"an unknown price", agent.Price{CachedPrompt: 1}, agent.Usage{Prompt: 10}, -1},
		{"a provider that does not count", p, agent.Usage{}, -1},
		{"nonsense costs nothing", p, agent.Usage{Prompt: 10, Completion: 0, CachedPrompt: 500, CacheWrite: -3}, 10 * 0.3 / 1e6},
		{"a model that is free to read", agent.Price{Completion: 4}, agent.Usage{Prompt: 10, Completion: 1}, 4 / 1e6},
	} {
		got := c.price.Cost(c.usage)
		if (got == nil) != (c.want < 0) || got != nil && (math.Abs(got.Amount-c.want) > 1e-12 || got.Currency != c.price.Currency) {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}
