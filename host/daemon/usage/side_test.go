package usage

import (
	"reflect"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

// Costs are summed in one currency, the turn's own model's where it has a price;
// tokens whatever they cost.
func TestSideUsageIsSummed(t *testing.T) {
	yen := func(n float64) *agent.Cost { return &agent.Cost{Amount: n, Currency: "JPY"} }
	usd := func(n float64) *agent.Cost { return &agent.Cost{Amount: n, Currency: "USD"} }
	for name, c := range map[string]struct {
		own    *agent.Cost
		asides []*agent.Cost
		want   *agent.Cost
		rows   int
	}{
		"none":              {usd(1), nil, usd(1), 0},
		"one currency":      {usd(1), []*agent.Cost{usd(2), usd(3)}, usd(6), 1},
		"no price":          {usd(1), []*agent.Cost{nil}, usd(1), 1},
		"no price anywhere": {nil, []*agent.Cost{nil, nil}, nil, 1},
		"only theirs":       {nil, []*agent.Cost{yen(5)}, yen(5), 1},
		"two currencies":    {usd(1), []*agent.Cost{yen(100), usd(2)}, usd(3), 2},
	} {
		var s SideUsage
		for _, cost := range c.asides {
			model := "free"
			if cost != nil {
				model = cost.Currency
			}
			if c.rows == 1 {
				model = "one"
			}
			s.Add(api.Spent{For: ForSummary, Model: model, Usage: agent.Usage{Prompt: 10, Completion: 1}, Cost: cost})
		}
		own := agent.Usage{Prompt: 5}
		usage, cost, rows := s.Total(own, c.own)
		if n := len(c.asides); usage.Prompt != 5+10*n || usage.Completion != n || len(rows) != c.rows || !reflect.DeepEqual(cost, c.want) {
			t.Errorf("%s: %+v, %+v, %+v", name, usage, cost, rows)
		}
	}
}
