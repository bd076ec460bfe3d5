package usage

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
)

// writeDelay is how long a count may wait to be written: each write to the store is
// synced to disk, and there may be thousands of calls a second.
const writeDelay = time.Second

// A Store holds the counts of a Meter. A *store.Store is one.
type Store interface {
	// Usage returns the usage of a principal from a day on, newest day first.
	Usage(ctx context.Context, principal, from string) ([]store.DayUsage, error)
	// Recent returns the times of the requests of the last minute.
	Recent(ctx context.Context, principal string) ([]time.Time, error)
	// AddUsage adds counts, all of them or none.
	AddUsage(ctx context.Context, list []store.Increment) error
	// ArchiveUsage returns the bytes of a principal's results, and when retention
	// removes the oldest of them.
	ArchiveUsage(ctx context.Context, principal string) (bytes int64, freeAt time.Time, err error)
	sharedStore
}

// A Meter counts what principals use and rejects requests that exceed their quotas. It
// is safe for concurrent use. Counts are written within writeDelay, and by Flush.
type Meter struct {
	// Daemon returns what the ids of requests begin with where several daemons share the store.
	Daemon func() string

	store Store
	now   func() time.Time
	log   hclog.Logger

	mu       sync.Mutex // guards everything below but writing, and all counters
	counters map[string]*counter
	timer    *time.Timer // of the next Flush; nil: nothing is to be written
	lastTime time.Time   // an argument of dayOf
	lastDay  string      // its result

	writing sync.Mutex // held during a write
	shared  shared
}

// A counter holds the counts of one principal. Meter.mu guards it.
type counter struct {
	recent        []time.Time // requests of the last minute, oldest first
	recentChanged bool        // recent is not written yet
	running       int
	days          map[string]*store.DayUsage // the whole usage of a day
	unsaved       map[string]*store.DayUsage // the part of days that is not written yet
}

// NewMeter returns a Meter whose counts are in a store. now returns the time of the
// daemon's clock, whose midnights begin the days.
func NewMeter(db Store, now func() time.Time, log hclog.Logger) *Meter {
	return &Meter{store: db, now: now, log: log, counters: map[string]*counter{}}
}

func dayOf(t time.Time) string { return t.Format(time.DateOnly) }

// dayOf is the function dayOf, faster for consecutive times of one day. m.mu is held.
func (m *Meter) dayOf(t time.Time) string {
	y, month, d := t.Date()
	if ly, lm, ld := m.lastTime.Date(); m.lastDay == "" || y != ly || month != lm || d != ld {
		m.lastTime, m.lastDay = t, dayOf(t)
	}
	return m.lastDay
}

// counter returns a principal's counter with today in it. m.mu is held.
func (m *Meter) counter(ctx context.Context, principal string, now time.Time) (*counter, error) {
	c := m.counters[principal]
	if c == nil {
		recent, err := m.store.Recent(ctx, principal)
		if err != nil {
			return nil, err
		}
		c = &counter{recent: recent, days: map[string]*store.DayUsage{}, unsaved: map[string]*store.DayUsage{}}
		m.counters[principal] = c
	}
	day := m.dayOf(now)
	if c.days[day] == nil {
		list, err := m.store.Usage(ctx, principal, day)
		if err != nil {
			return nil, err
		}
		today := &store.DayUsage{Day: day}
		for _, d := range list {
			if d.Day == day {
				today = &d
			}
		}
		for old := range c.days { // their counts are in the store, or in unsaved
			if c.unsaved[old] == nil {
				delete(c.days, old)
			}
		}
		c.days[day] = today
	}
	c.recent = lastMinute(c.recent, now)
	return c, nil
}

// lastMinute removes times that are older than a minute. After the clock was set back, no
// request waits for more than a minute.
func lastMinute(times []time.Time, now time.Time) []time.Time {
	for i, t := range times {
		if t.After(now) {
			times[i] = now
		}
	}
	return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
}

// add adds to the counts of a day. m.mu is held.
func (m *Meter) add(c *counter, day string, f func(*store.DayUsage)) {
	if c.unsaved[day] == nil {
		c.unsaved[day] = &store.DayUsage{Day: day}
	}
	f(c.unsaved[day])
	if c.days[day] != nil {
		f(c.days[day])
	}
	if m.timer == nil {
		m.timer = time.AfterFunc(writeDelay, m.Flush)
	}
}

// usedNow returns what the principal uses. m.mu is held.
func (m *Meter) usedNow(c *counter, now time.Time, bytes int64, freeAt time.Time) usedNow {
	return usedNow{c.running, c.recent, c.days[m.dayOf(now)], bytes, freeAt}
}

// A Request is one that Begin admitted.
type Request struct {
	meter   *Meter
	counter *counter
	ended   bool   // meter.mu guards it
	id      string // in the shared store; empty: it is not there
}

// End counts the request as ended. It can be called more than once.
func (r *Request) End() {
	r.meter.mu.Lock()
	ended := r.ended
	if !ended {
		r.ended = true
		r.counter.running--
	}
	r.meter.mu.Unlock()
	if !ended && r.id != "" {
		r.meter.endShared(r.id)
	}
}

// Begin counts a request, which its End ends, or rejects it. The error is an
// *api.Problem with code api.CodeQuota in the language of the account if a quota is
// exhausted, another error if the store cannot be read.
func (m *Meter) Begin(ctx context.Context, a Account) (*Request, error) {
	bytes, freeAt, err := m.archiveUsage(ctx, a)
	if err != nil {
		return nil, err
	}
	if m.isShared(a) {
		return m.beginShared(ctx, a, bytes, freeAt)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	c, err := m.counter(ctx, a.Principal, now)
	if err != nil {
		return nil, err
	}
	if err := a.refusal(m.usedNow(c, now, bytes, freeAt), now); err != nil {
		m.add(c, m.dayOf(now), func(d *store.DayUsage) { d.Refused++ })
		return nil, err
	}
	if a.Quota.PerMinute > 0 {
		c.recent, c.recentChanged = append(c.recent, now), true
	}
	return m.begun(c, now), nil
}

// GoOn counts as running, and refuses never, what Begin has admitted on a daemon that is gone.
func (m *Meter) GoOn(ctx context.Context, a Account) (*Request, error) {
	id := ""
	if m.isShared(a) {
		id = m.newID()
		if err := m.store.Admit(ctx, id, a.Principal, func(_ time.Time, _ int, recent []time.Time) ([]time.Time, error) { return recent, nil }); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.counter(ctx, a.Principal, m.now())
	if err != nil {
		return nil, err
	}
	c.running++
	if id != "" {
		m.renewLater(id, a.Principal)
	}
	return &Request{meter: m, counter: c, id: id}, nil
}

// begun counts a request that was admitted. m.mu is held.
func (m *Meter) begun(c *counter, now time.Time) *Request {
	c.running++
	m.add(c, m.dayOf(now), func(d *store.DayUsage) { d.Requests++ })
	return &Request{meter: m, counter: c}
}

// refusal returns the error of the first quota that is exhausted, nil if none is.
func (a Account) refusal(u usedNow, now time.Time) error {
	for _, s := range a.Quota.states(u, now) {
		if s.Exhausted() {
			return rejection(s, now).In(a.Locale)
		}
	}
	return nil
}

// archiveUsage returns the size of the principal's results, if it has a quota.
func (m *Meter) archiveUsage(ctx context.Context, a Account) (int64, time.Time, error) {
	if a.Quota.ArchiveBytes == 0 {
		return 0, time.Time{}, nil
	}
	return m.store.ArchiveUsage(ctx, a.Principal)
}

// CheckArchive returns an error like that of Begin if the results of the account fill its
// quota. Each call asks: it exceeds the quota by its own result at most.
func (m *Meter) CheckArchive(ctx context.Context, a Account) error {
	bytes, freeAt, err := m.archiveUsage(ctx, a)
	if err != nil {
		return err
	}
	a.Quota = Quota{ArchiveBytes: a.Quota.ArchiveBytes}
	return a.refusal(usedNow{today: &store.DayUsage{}, bytes: bytes, freeAt: freeAt}, m.now())
}

// checkTokens returns an error like that of Begin if the account has no tokens or
// money left for the next reply of a model.
func (m *Meter) checkTokens(ctx context.Context, a Account) error {
	a.Quota = Quota{TokensPerDay: a.Quota.TokensPerDay, CostPerDay: a.Quota.CostPerDay, Currency: a.Quota.Currency}
	if m.isShared(a) {
		now, u, err := m.sharedUse(ctx, a)
		if err != nil {
			return err
		}
		return a.refusal(u, now)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	c, err := m.counter(ctx, a.Principal, now)
	if err != nil {
		return err
	}
	return a.refusal(m.usedNow(c, now, 0, time.Time{}), now)
}

// addReply counts the tokens and the cost of a reply; a nil cost is unknown. Where other
// daemons check the account's quota, they are written when it returns.
func (m *Meter) addReply(a Account, u agent.Usage, cost *agent.Cost) {
	now := m.clock(a)
	if m.isShared(a) {
		defer m.Flush()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.counter(context.Background(), a.Principal, now)
	if err != nil {
		m.log.Error("the usage of a reply cannot be counted", "user", a.Principal, "error", err)
		return
	}
	m.add(c, dayOf(now), func(d *store.DayUsage) {
		d.Prompt += int64(max(u.Prompt, 0)) // a provider can send any number
		d.Completion += int64(max(u.Completion, 0))
		if cost != nil {
			d.Costs = addCost(d.Costs, store.Cost(*cost))
		}
	})
}

// addCost returns a list with c added. It does not modify list, which a concurrent
// write may read.
func addCost(list []store.Cost, c store.Cost) []store.Cost {
	return store.AddCost(slices.Clone(list), c)
}

// Running returns the number of running requests of a principal.
func (m *Meter) Running(principal string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.counters[principal]; c != nil {
		return c.running
	}
	return 0
}

// Forget writes the counts of a principal and removes them from memory. The principal
// must have no running request.
func (m *Meter) Forget(principal string) {
	m.Flush()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.counters, principal)
}

// Flush writes all counts to the store, and returns when they are written. Counts that
// cannot be written are written with the next ones; the failure is logged.
func (m *Meter) Flush() {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	var list []store.Increment
	for name, c := range m.counters {
		for _, d := range c.unsaved {
			list = append(list, store.Increment{Principal: name, DayUsage: *d})
		}
		if c.recentChanged {
			list = append(list, store.Increment{Principal: name, Recent: slices.Concat([]time.Time{}, c.recent)})
		}
		c.unsaved, c.recentChanged = map[string]*store.DayUsage{}, false
	}
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	m.mu.Unlock()
	if err := m.store.AddUsage(context.Background(), list); err != nil {
		m.log.Warn("the usage of users could not be written; weir tries again with the next write", "error", err)
		m.restore(list)
	}
}

// restore marks counts that could not be written as unsaved again.
func (m *Meter) restore(list []store.Increment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range list {
		c := m.counters[i.Principal]
		if c == nil { // forgotten in the meantime
			continue
		}
		if i.Recent != nil {
			c.recentChanged = true
			continue
		}
		d := c.unsaved[i.Day]
		if d == nil {
			d = &store.DayUsage{Day: i.Day}
			c.unsaved[i.Day] = d
		}
		sum(d, &i.DayUsage)
	}
}

// sum adds the counts of i to those of d.
func sum(d, i *store.DayUsage) {
	d.Requests, d.Refused, d.Prompt, d.Completion = d.Requests+i.Requests, d.Refused+i.Refused, d.Prompt+i.Prompt, d.Completion+i.Completion
	for _, cost := range i.Costs {
		d.Costs = addCost(d.Costs, cost)
	}
}

// Report is the usage of one principal.
type Report struct {
	Quotas  []api.QuotaState // those that are set
	Running int              // requests
	Days    []store.DayUsage // newest first; days without usage are left out
}

// Report returns what an account uses now, and what it used on the last days, today
// included.
func (m *Meter) Report(ctx context.Context, a Account, days int) (Report, error) {
	m.Flush()
	bytes, freeAt, err := m.archiveUsage(ctx, a)
	if err != nil {
		return Report{}, err
	}
	var out Report
	if m.isShared(a) {
		now, u, err := m.sharedUse(ctx, a)
		if err != nil {
			return Report{}, err
		}
		u.bytes, u.freeAt = bytes, freeAt
		out.Quotas, out.Running = a.Quota.states(u, now), u.running
		out.Days, err = m.store.Usage(ctx, a.Principal, dayOf(now.AddDate(0, 0, 1-days)))
		return out, err
	}
	m.mu.Lock()
	now := m.now()
	c, err := m.counter(ctx, a.Principal, now)
	if err == nil {
		out.Quotas, out.Running = a.Quota.states(m.usedNow(c, now, bytes, freeAt), now), c.running
	}
	m.mu.Unlock()
	if err != nil {
		return Report{}, err
	}
	out.Days, err = m.store.Usage(ctx, a.Principal, dayOf(now.AddDate(0, 0, 1-days)))
	return out, err
}
