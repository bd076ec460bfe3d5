package usage

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/daemon/store"
)

// renewTime is the time between two renewals of the running requests.
const renewTime = time.Second

// A sharedStore is the part of a Store that several daemons may share. By its clock, and
// by what it has at that moment, a Meter then decides on the accounts that have a quota.
type sharedStore interface {
	// Shared reports whether they do; the other methods are for such a store alone.
	Shared() bool
	Clock(ctx context.Context) (time.Time, error)
	// Recent and Running return the requests of the last minute and those that run.
	Running(ctx context.Context, principal string) (int, error)
	// Admit counts a request, if decide allows it. It is as if nothing else happened
	// meanwhile.
	Admit(ctx context.Context, id, principal string, decide func(now time.Time, running int, recent []time.Time) ([]time.Time, error)) error
	// Renew says that requests still run, EndRequest that one does not.
	Renew(ctx context.Context, list func() map[string]string) error
	EndRequest(ctx context.Context, id string) error
}

// shared is the state of a Meter whose store is shared.
type shared struct {
	mu      sync.Mutex
	running map[string]string // the principals of this daemon's running requests, by their ids
	timer   *time.Timer       // of the next renewal
}

// isShared reports whether other daemons check the account's quota, too.
func (m *Meter) isShared(a Account) bool {
	a.Quota.ArchiveBytes = 0 // the archive itself counts them
	return a.Quota != (Quota{Currency: a.Quota.Currency}) && m.store.Shared()
}

// moved returns a time of the store's clock as the daemon's shows it: in its zone, by
// whose midnights the days begin, and moved as tests move it, by more than a second.
func (m *Meter) moved(t time.Time) time.Time {
	now := m.now()
	if by := time.Until(now); by.Abs() > time.Second {
		t = t.Add(by).Round(time.Second)
	}
	return t.In(now.Location())
}

// clock returns the time by which a reply is counted.
func (m *Meter) clock(a Account) time.Time {
	if m.isShared(a) {
		if t, err := m.store.Clock(context.Background()); err == nil {
			return m.moved(t)
		}
	}
	return m.now()
}

// today returns what all daemons counted on a day, and what this one has not written.
func (m *Meter) today(ctx context.Context, principal string, now time.Time) (*store.DayUsage, error) {
	day := dayOf(now)
	list, err := m.store.Usage(ctx, principal, day)
	if err != nil {
		return nil, err
	}
	out := &store.DayUsage{Day: day}
	for _, d := range list {
		if d.Day == day {
			out = &d
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.counters[principal]; c != nil && c.unsaved[day] != nil {
		sum(out, c.unsaved[day])
	}
	return out, nil
}

// sharedUse returns the time, and what an account uses on all daemons.
func (m *Meter) sharedUse(ctx context.Context, a Account) (now time.Time, u usedNow, err error) {
	if now, err = m.store.Clock(ctx); err != nil {
		return now, u, err
	}
	now = m.moved(now)
	if u.today, err = m.today(ctx, a.Principal, now); err != nil {
		return now, u, err
	}
	if u.running, err = m.store.Running(ctx, a.Principal); err != nil {
		return now, u, err
	}
	u.recent, err = m.store.Recent(ctx, a.Principal)
	u.recent = lastMinute(u.recent, now)
	return now, u, err
}

// newID returns the id of a request.
func (m *Meter) newID() string {
	if m.Daemon == nil {
		return uuid.NewString()
	}
	return m.Daemon() + " " + uuid.NewString()
}

// beginShared is Begin for an account whose quota other daemons check, too.
func (m *Meter) beginShared(ctx context.Context, a Account, bytes int64, freeAt time.Time) (r *Request, err error) {
	id := m.newID()
	now := m.now()
	refused := false
	err = m.store.Admit(ctx, id, a.Principal, func(at time.Time, running int, recent []time.Time) ([]time.Time, error) {
		now, refused = m.moved(at), false // it may be called twice
		// All writes wait for this one, and the server ends it after two idle seconds.
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		today, err := m.today(short, a.Principal, now)
		if err != nil {
			return nil, err
		}
		setBack := slices.ContainsFunc(recent, now.Before) // the clock
		recent = lastMinute(recent, now)
		if err := a.refusal(usedNow{running, recent, today, bytes, freeAt}, now); err != nil {
			if refused = true; !setBack {
				recent = nil
			}
			return recent, err
		}
		if a.Quota.PerMinute <= 0 {
			return nil, nil
		}
		return append(recent, now), nil
	})
	if err != nil && !refused {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, failed := m.counter(ctx, a.Principal, now)
	switch {
	case failed != nil:
		return nil, failed
	case refused:
		m.add(c, dayOf(now), func(d *store.DayUsage) { d.Refused++ })
		return nil, err
	}
	r = m.begun(c, now)
	r.id = id
	m.renewLater(id, a.Principal)
	return r, nil
}

// renewLater has a request renewed until it ends.
func (m *Meter) renewLater(id, principal string) {
	s := &m.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[string]string{}
	}
	s.running[id] = principal
	if s.timer == nil {
		s.timer = time.AfterFunc(renewTime, m.renew)
	}
}

func (m *Meter) renew() {
	s := &m.shared
	list := func() map[string]string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(s.running)
	}
	if err := m.store.Renew(context.Background(), list); err != nil {
		m.log.Warn("the requests that run could not be renewed", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) == 0 {
		s.timer = nil
		return
	}
	s.timer.Reset(renewTime)
}

// endShared removes a request, or has it removed at its time if the store cannot do it.
func (m *Meter) endShared(id string) {
	m.shared.mu.Lock()
	delete(m.shared.running, id) // before the store's row: the next renewal does not add it again
	m.shared.mu.Unlock()
	if err := m.store.EndRequest(context.Background(), id); err != nil {
		m.log.Warn("the end of a request could not be saved", "error", err)
	}
}
