package usage

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// A Quota bounds what one user uses, over all interfaces together. 0 means no bound;
// negative means that nothing is allowed.
type Quota struct {
	// PerMinute bounds the requests in any minute: questions, and calls of tools
	// without a question.
	PerMinute int
	// Concurrent bounds the requests that run at the same time.
	Concurrent int
	// TokensPerDay bounds prompt and completion tokens from one midnight to the next,
	// by the daemon's clock. Tokens that a provider does not count are estimated.
	TokensPerDay int64
	// CostPerDay is in Currency, by the prices of the models. A model without a price
	// costs nothing.
	CostPerDay float64
	Currency   string
	// ArchiveBytes bounds the bytes that the user's archived results use on disk.
	ArchiveBytes int64
}

// The names of the quotas: their keys in tools.toml.
const (
	RequestsPerMinute = "requests_per_minute"
	ConcurrentTurns   = "concurrent_turns"
	TokensPerDay      = "tokens_per_day"
	CostPerDay        = "cost_per_day"
	ArchiveBytes      = "archive_bytes"
)

// An Account names a principal with its quota, and the language in which errors about
// the quota are written.
type Account struct {
	Principal string
	Quota     Quota
	Locale    tool.Locale
}

// usedNow is what a principal uses at one moment.
type usedNow struct {
	running int
	recent  []time.Time // requests of the last minute, oldest first
	today   *store.DayUsage
	bytes   int64     // of archived results
	freeAt  time.Time // when retention removes the oldest result; zero: never
}

// states returns the used part of each quota that is set.
func (q Quota) states(u usedNow, now time.Time) []api.QuotaState {
	if q == (Quota{}) {
		return nil
	}
	year, month, day := now.Date()
	midnight := time.Date(year, month, day+1, 0, 0, 0, 0, now.Location())
	var cost float64
	for _, c := range u.today.Costs {
		if c.Currency == q.Currency {
			cost = c.Amount
		}
	}
	var minute, pruned *time.Time
	if n := len(u.recent); n > 0 && q.PerMinute > 0 && n >= q.PerMinute {
		minute = new(u.recent[n-q.PerMinute].Add(time.Minute))
	}
	if !u.freeAt.IsZero() {
		pruned = &u.freeAt
	}
	var out []api.QuotaState
	for _, s := range []api.QuotaState{
		{Name: ConcurrentTurns, Used: float64(u.running), Limit: float64(q.Concurrent)},
		{Name: RequestsPerMinute, Used: float64(len(u.recent)), Limit: float64(q.PerMinute), Free: minute},
		{Name: TokensPerDay, Used: float64(u.today.Prompt + u.today.Completion), Limit: float64(q.TokensPerDay), Free: &midnight},
		{Name: CostPerDay, Used: cost, Limit: q.CostPerDay, Unit: q.Currency, Free: &midnight},
		{Name: ArchiveBytes, Used: float64(u.bytes), Limit: float64(q.ArchiveBytes), Free: pruned},
	} {
		if s.Limit == 0 {
			continue
		}
		if !s.Exhausted() || s.Limit < 0 {
			s.Free = nil
		}
		out = append(out, s)
	}
	return out
}

// quotaTexts are the sentences about one quota, in English; they are keys of the
// translations. The arguments of exhausted are limit and used, those of a cost also
// the currency after each; the argument of hintAt is a time.
type quotaTexts struct{ exhausted, forbidden, hint, hintAt, layout string }

func textsByQuota() map[string]quotaTexts {
	const ask = "ask the operator for a higher quota"
	const askAt = "try again at %s, or ask the operator for a higher quota"
	return map[string]quotaTexts{
		RequestsPerMinute: {
			"quota exhausted: %s requests per minute allowed, %s used", "the quota allows no requests",
			"wait, then try again", "try again at %s", time.TimeOnly,
		},
		ConcurrentTurns: {
			"quota exhausted: %s concurrent requests allowed, %s running", "the quota allows no concurrent requests",
			"wait until one of them ends, then try again", "", "",
		},
		TokensPerDay: {"quota exhausted: %s tokens per day allowed, %s used", "the quota allows no tokens", ask, askAt, time.DateTime},
		CostPerDay:   {"quota exhausted: %s %s per day allowed, %s %s used", "the quota allows no cost", ask, askAt, time.DateTime},
		ArchiveBytes: {
			"quota exhausted: %s archived bytes allowed, %s used", "the quota allows no archived results",
			"delete conversations or archives that you do not need", "delete conversations or archives that you do not need, or try again at %s", time.DateTime,
		},
	}
}

// rejection returns the problem of an exhausted quota, with the time to wait.
func rejection(s api.QuotaState, now time.Time) *api.Problem {
	p := &api.Problem{Status: http.StatusTooManyRequests, Code: api.CodeQuota, Quota: &s}
	w := textsByQuota()[s.Name]
	if s.Limit < 0 {
		p.Msg, p.Hint = tool.Text{Format: w.forbidden}, tool.Text{Format: "ask the operator if you need it"}
		return p
	}
	args := []any{Amount(s.Limit), Amount(s.Used)}
	if s.Name == CostPerDay {
		args = []any{Amount(s.Limit), s.Unit, Amount(s.Used), s.Unit}
	}
	p.Msg, p.Hint = tool.Text{Format: w.exhausted, Args: args}, tool.Text{Format: w.hint}
	switch {
	case s.Name == ConcurrentTurns:
		p.RetryAfter = time.Second
	case s.Free != nil:
		p.RetryAfter = max(s.Free.Sub(now), time.Second)
		p.Hint = tool.Text{Format: w.hintAt, Args: []any{s.Free.Format(w.layout)}}
	}
	return p
}

// Amount writes a number with at most six digits after the point, and never as 2e+05.
func Amount(n float64) string { return strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64) }
