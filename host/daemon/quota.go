package daemon

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// A Quota bounds what one user takes, by every way in together. Of each bound 0
// means none, and negative that nothing at all is allowed.
type Quota struct {
	// PerMinute are requests in any minute: questions, and calls of tools without
	// one.
	PerMinute int
	// Concurrent are those that run at once.
	Concurrent int
	// TokensPerDay are prompt and completion tokens from one midnight to the next,
	// by the daemon's clock. What a provider does not count is estimated.
	TokensPerDay int64
	// CostPerDay is in Currency, by the prices of the models; those without a price
	// cost nothing.
	CostPerDay float64
	Currency   string
	// ArchiveBytes are what the user's archived results take on disk.
	ArchiveBytes int64
}

// The names of the bounds.
const (
	quotaRequests   = "requests_per_minute"
	quotaConcurrent = "concurrent_turns"
	quotaTokens     = "tokens_per_day"
	quotaCost       = "cost_per_day"
	quotaArchive    = "archive_bytes"
)

// A ledger counts what principals take and refuses what is over their quotas. It
// is safe for concurrent use. What it counts is written down within useDelay, and
// by flush.
type ledger struct {
	store *store.Store
	now   func() time.Time
	log   hclog.Logger

	mu       sync.Mutex
	accounts map[string]*account
	soon     *time.Timer
	seen     time.Time // a moment of day
	day      string
	writing  sync.Mutex // held while something is written
}

// An account is one principal's. The lock of its ledger guards it.
type account struct {
	recent  []time.Time // requests of the last minute, the oldest first
	running int
	days    map[string]*store.DayUsage // all that is known of a day
	unsaved map[string]*store.DayUsage // what of it is not written down
	changed bool                       // recent is not written down
}

func newLedger(db *store.Store, now func() time.Time, log hclog.Logger) *ledger {
	return &ledger{store: db, now: now, log: log, accounts: map[string]*account{}}
}

func dayOf(t time.Time) string { return t.Format(time.DateOnly) }

// dayOf is dayOf for one moment after the other; l.mu is held.
func (l *ledger) dayOf(t time.Time) string {
	y, m, d := t.Date()
	if py, pm, pd := l.seen.Date(); l.day == "" || y != py || m != pm || d != pd {
		l.seen, l.day = t, dayOf(t)
	}
	return l.day
}

// account returns a principal's account with today in it; l.mu is held.
func (l *ledger) account(ctx context.Context, principal string, now time.Time) (*account, error) {
	a := l.accounts[principal]
	if a == nil {
		recent, err := l.store.Recent(ctx, principal)
		if err != nil {
			return nil, err
		}
		a = &account{recent: recent, days: map[string]*store.DayUsage{}, unsaved: map[string]*store.DayUsage{}}
		l.accounts[principal] = a
	}
	day := l.dayOf(now)
	if a.days[day] == nil {
		list, err := l.store.Usage(ctx, principal, day)
		if err != nil {
			return nil, err
		}
		today := &store.DayUsage{Day: day}
		for _, d := range list {
			if d.Day == day {
				today = &d
			}
		}
		for old := range a.days { // their counts are in the store, or in unsaved
			if a.unsaved[old] == nil {
				delete(a.days, old)
			}
		}
		a.days[day] = today
	}
	// A clock that was put back must not make anybody wait for more than a minute,
	// and one that was put forward not forget what is written later.
	for i, t := range a.recent {
		if t.After(now) {
			a.recent[i] = now
		}
	}
	a.recent = slices.DeleteFunc(a.recent, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	return a, nil
}

// add counts something; l.mu is held.
func (l *ledger) add(a *account, day string, f func(*store.DayUsage)) {
	if a.unsaved[day] == nil {
		a.unsaved[day] = &store.DayUsage{Day: day}
	}
	f(a.unsaved[day])
	if a.days[day] != nil {
		f(a.days[day])
	}
	if l.soon == nil {
		l.soon = time.AfterFunc(useDelay, l.flush)
	}
}

// A taking is a request that was begun.
type taking struct {
	l    *ledger
	a    *account
	over bool // l.mu guards it
}

// end counts it as over; once more is once too many, and changes nothing.
func (t *taking) end() {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	if !t.over {
		t.over = true
		t.a.running--
	}
}

// begin counts a request that is over when its end is called, or refuses it.
func (l *ledger) begin(ctx context.Context, principal string, q Quota, locale tool.Locale) (*taking, error) {
	bytes, freeAt, err := l.held(ctx, principal, q)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	a, err := l.account(ctx, principal, now)
	if err != nil {
		return nil, err
	}
	day := l.dayOf(now)
	for _, s := range l.states(a, q, now, bytes, freeAt) {
		if s.Exhausted() {
			l.add(a, day, func(d *store.DayUsage) { d.Refused++ })
			return nil, refusal(s, now, locale)
		}
	}
	if q.PerMinute > 0 {
		a.recent, a.changed = append(a.recent, now), true
	}
	a.running++
	l.add(a, day, func(d *store.DayUsage) { d.Requests++ })
	return &taking{l: l, a: a}, nil
}

// held is what the principal's archives take, if somebody wants to know.
func (l *ledger) held(ctx context.Context, principal string, q Quota) (int64, time.Time, error) {
	if q.ArchiveBytes == 0 {
		return 0, time.Time{}, nil
	}
	return l.store.ArchiveUsage(ctx, principal)
}

// mayAsk refuses a model's next reply once tokens or money are used up.
func (l *ledger) mayAsk(ctx context.Context, principal string, q Quota, locale tool.Locale) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	a, err := l.account(ctx, principal, now)
	if err != nil {
		return err
	}
	for _, s := range l.states(a, Quota{TokensPerDay: q.TokensPerDay, CostPerDay: q.CostPerDay, Currency: q.Currency}, now, 0, time.Time{}) {
		if s.Exhausted() {
			return refusal(s, now, locale)
		}
	}
	return nil
}

// took counts a reply.
func (l *ledger) took(principal string, u agent.Usage, cost *agent.Cost) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	a, err := l.account(context.Background(), principal, now)
	if err != nil {
		l.log.Error("what a reply took cannot be counted", "user", principal, "error", err)
		return
	}
	l.add(a, dayOf(now), func(d *store.DayUsage) {
		d.Prompt += int64(max(u.Prompt, 0)) // a provider can send anything
		d.Completion += int64(max(u.Completion, 0))
		if cost != nil {
			d.Costs = addedCost(d.Costs, store.Cost(*cost))
		}
	})
}

// addedCost never changes list itself, which others may hold.
func addedCost(list []store.Cost, c store.Cost) []store.Cost {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Currency == c.Currency {
			out[i].Amount += c.Amount
			return out
		}
	}
	return append(out, c)
}

// states says how much of each bound is used; l.mu is held.
func (l *ledger) states(a *account, q Quota, now time.Time, bytes int64, freeAt time.Time) []api.QuotaState {
	if q == (Quota{}) {
		return nil
	}
	today := a.days[l.dayOf(now)]
	year, month, day := now.Date()
	midnight := time.Date(year, month, day+1, 0, 0, 0, 0, now.Location())
	var cost float64
	for _, c := range today.Costs {
		if c.Currency == q.Currency {
			cost = c.Amount
		}
	}
	var minute, pruned *time.Time
	if n := len(a.recent); n > 0 && q.PerMinute > 0 && n >= q.PerMinute {
		t := a.recent[n-q.PerMinute].Add(time.Minute)
		minute = &t
	}
	if !freeAt.IsZero() {
		pruned = &freeAt
	}
	var out []api.QuotaState
	for _, s := range []api.QuotaState{
		{Name: quotaConcurrent, Used: float64(a.running), Limit: float64(q.Concurrent), Unit: "", Free: nil},
		{Name: quotaRequests, Used: float64(len(a.recent)), Limit: float64(q.PerMinute), Unit: "", Free: minute},
		{Name: quotaTokens, Used: float64(today.Prompt + today.Completion), Limit: float64(q.TokensPerDay), Unit: "", Free: &midnight},
		{Name: quotaCost, Used: cost, Limit: q.CostPerDay, Unit: q.Currency, Free: &midnight},
		{Name: quotaArchive, Used: float64(bytes), Limit: float64(q.ArchiveBytes), Unit: "", Free: pruned},
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

// refusal says which bound is used up, and when something is free again.
func refusal(s api.QuotaState, now time.Time, l tool.Locale) *api.Problem {
	p := &api.Problem{Status: http.StatusTooManyRequests, Code: api.CodeQuota, Quota: &s}
	w := quotaWordsIn(l)
	form := w.forms[s.Name]
	if s.Limit < 0 {
		p.Msg, p.Hint = tool.Textf(w.none, form.what), tool.Text{Format: w.ask}
		return p
	}
	p.Msg = tool.Textf(w.full, form.what, amount(s.Limit), form.unit+s.Unit, amount(s.Used), form.unit+s.Unit)
	p.Hint = tool.Text{Format: form.wait}
	switch {
	case s.Name == quotaConcurrent:
		p.RetryAfter = time.Second
	case s.Free != nil:
		p.RetryAfter = max(s.Free.Sub(now), time.Second)
		p.Hint = tool.Textf(w.free, s.Free.Format(cmp.Or(form.layout, time.DateTime)), form.wait)
	}
	return p
}

// amount writes a number without digits that say nothing.
func amount(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return fmt.Sprintf("%d", int64(n))
	}
	return fmt.Sprintf("%.4g", n)
}

// quotaWords are what refusals say in one language.
type quotaWords struct {
	full, none, free, ask string
	forms                 map[string]quotaForm
}

type quotaForm struct{ what, unit, wait, layout string }

func quotaWordsIn(l tool.Locale) quotaWords {
	if l == tool.Zh {
		return quotaWords{
			full: "%s的配额已用完：上限 %s%s，已用 %s%s", none: "%s的配额为负值，即不允许", free: "%s 起可再次使用；%s", ask: "如有需要，请联系管理员",
			forms: map[string]quotaForm{
				quotaRequests:   {"每分钟请求数", " 次", "请稍候再试", time.TimeOnly},
				quotaConcurrent: {"同时进行的请求", " 个", "等其中一个结束后再试", ""},
				quotaTokens:     {"每日 token", " 个", "或请管理员提高配额", ""},
				quotaCost:       {"每日费用", " ", "或请管理员提高配额", ""},
				quotaArchive:    {"存档空间", " 字节", "删除不再需要的会话或存档即可腾出空间", ""},
			},
		}
	}
	return quotaWords{
		full: "the quota of %s is used up: %s%s, and %s%s are used", none: "the quota of %s is negative, which allows none", free: "something is free again at %s; %s", ask: "ask the operator if you need it",
		forms: map[string]quotaForm{
			quotaRequests:   {"requests a minute", "", "wait so long", time.TimeOnly},
			quotaConcurrent: {"requests at once", "", "wait until one of them ends", ""},
			quotaTokens:     {"tokens a day", "", "or ask the operator for more", ""},
			quotaCost:       {"cost a day", " ", "or ask the operator for more", ""},
			quotaArchive:    {"archived bytes", "", "delete conversations or archives that are not needed to make room", ""},
		},
	}
}

// runs is how many requests of a principal's run.
func (l *ledger) runs(principal string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[principal]; a != nil {
		return a.running
	}
	return 0
}

// forget leaves nothing of a principal of whom nothing runs; what is written down
// stays there.
func (l *ledger) forget(principal string) {
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.accounts, principal)
}

// flush writes down what was counted, and returns when it is written.
func (l *ledger) flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	var list []store.Increment
	for name, a := range l.accounts {
		for _, d := range a.unsaved {
			list = append(list, store.Increment{Principal: name, DayUsage: *d})
		}
		if a.changed {
			list = append(list, store.Increment{Principal: name, Recent: slices.Concat([]time.Time{}, a.recent)})
		}
		a.unsaved, a.changed = map[string]*store.DayUsage{}, false
	}
	if l.soon != nil {
		l.soon.Stop()
		l.soon = nil
	}
	l.mu.Unlock()
	if err := l.store.AddUsage(context.Background(), list); err != nil {
		l.log.Warn("what users took could not be written down; it is tried again with what comes next", "error", err)
		l.keep(list)
	}
}

// keep puts back what could not be written.
func (l *ledger) keep(list []store.Increment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range list {
		a := l.accounts[u.Principal]
		if a == nil { // who was forgotten meanwhile
			continue
		}
		if u.Recent != nil {
			a.changed = true
			continue
		}
		d := a.unsaved[u.Day]
		if d == nil {
			d = &store.DayUsage{Day: u.Day}
			a.unsaved[u.Day] = d
		}
		d.Requests, d.Refused, d.Prompt, d.Completion = d.Requests+u.Requests, d.Refused+u.Refused, d.Prompt+u.Prompt, d.Completion+u.Completion
		for _, c := range u.Costs {
			d.Costs = addedCost(d.Costs, c)
		}
	}
}

// usage is how much of each bound is used, and what was taken on earlier days,
// the newest first.
func (l *ledger) usage(ctx context.Context, principal string, q Quota, days int) (states []api.QuotaState, running int, list []store.DayUsage, err error) {
	l.flush()
	bytes, freeAt, err := l.held(ctx, principal, q)
	if err != nil {
		return nil, 0, nil, err
	}
	l.mu.Lock()
	now := l.now()
	a, err := l.account(ctx, principal, now)
	if err == nil {
		states, running = l.states(a, q, now, bytes, freeAt), a.running
	}
	l.mu.Unlock()
	if err != nil {
		return nil, 0, nil, err
	}
	list, err = l.store.Usage(ctx, principal, dayOf(now.AddDate(0, 0, 1-days)))
	return states, running, list, err
}
