package wire

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
)

// mostPatience is the longest wait that a server may ask for while another model could
// answer in its place.
const mostPatience = 10 * time.Second

// A Policy bounds the retries of a request. A request is retried only while nothing of
// its answer was delivered. If another model answers in place of this one, as
// agent.WithAlternative says, a server that limits the rate is asked once more, and one that
// asks for more than ten seconds is not.
type Policy struct {
	// Retries is the number of repeats; 0: 3, negative: none.
	Retries int
	// Budget bounds the time from the first try to the last, waits included; 0:
	// one minute. A server that asks for a longer wait gets no repeat.
	Budget time.Duration
	// First is the wait before the first repeat, about doubled every time; 0: 300 ms.
	First time.Duration
	// Notify is called before the wait of every retry, as the function of
	// agent.OnRepeat is; nil: no call.
	Notify func(err error, wait time.Duration)

	once bool
}

// NewPolicy returns the policy that a client is configured with.
func NewPolicy(c model.Config) Policy {
	return Policy{Retries: c.Retries, Budget: c.RetryBudget, First: c.RetryWait, Notify: c.OnRetry}
}

// Once returns the policy of a request whose client repeats it by itself: one repeat at
// most, and none where the server limits the rate.
func (p Policy) Once() Policy {
	p.once = true
	return p
}

// Repeatable reports whether a retry may succeed.
func Repeatable(err error) bool {
	var me *agent.ModelError
	if !errors.As(err, &me) || errors.Is(err, errFinal) {
		return false
	}
	switch me.Code {
	case agent.ModelRateLimited, agent.ModelOverloaded, agent.ModelUnreachable, agent.ModelCut:
		return true
	}
	return false
}

// Retry calls open until it succeeds, fails for good, or the policy's tries or
// budget are used up; then it returns the last failure.
func Retry[T any](ctx context.Context, p Policy, open func() (T, error)) (T, error) {
	var last error
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = cmp.Or(p.First, 300*time.Millisecond)
	b.Multiplier = 2
	opts := []backoff.RetryOption{
		backoff.WithBackOff(b), backoff.WithMaxTries(p.tries()), backoff.WithMaxElapsedTime(cmp.Or(p.Budget, time.Minute)),
	}
	opts = append(opts, backoff.WithNotify(func(_ error, wait time.Duration) {
		agent.Repeating(ctx, last, wait)
		if p.Notify != nil {
			p.Notify(last, wait)
		}
	}))
	tries := 0
	v, err := backoff.Retry(ctx, func() (T, error) {
		var v T
		v, last = open()
		if tries++; last != nil && (agent.HasAlternative(ctx) && leaves(last, tries) || p.once && clients(last)) {
			return v, backoff.Permanent(last)
		}
		return v, asBackoff(last)
	}, opts...)
	if err != nil && ctx.Err() == nil {
		return v, last
	}
	if err != nil {
		return v, ctx.Err()
	}
	return v, nil
}

func (p Policy) tries() uint {
	switch {
	case p.Retries < 0:
		return 1
	case p.once:
		return 2
	case p.Retries == 0:
		return 4
	}
	return uint(p.Retries) + 1
}

// leaves reports whether another model is to answer in place of one that failed so often,
// the last time with err.
func leaves(err error, tries int) bool {
	var me *agent.ModelError
	return errors.As(err, &me) && (me.RetryAfter > mostPatience || me.Code == agent.ModelRateLimited && tries > 1)
}

// clients reports whether the client of a request is to repeat it, as it was told when: weir
// would wait in its place, without a word.
func clients(err error) bool {
	var me *agent.ModelError
	return errors.As(err, &me) && (me.Code == agent.ModelRateLimited || me.RetryAfter > time.Second)
}

// asBackoff words err as the backoff package wants it.
func asBackoff(err error) error {
	var me *agent.ModelError
	switch {
	case err == nil:
		return nil
	case !Repeatable(err):
		return backoff.Permanent(err)
	case errors.As(err, &me) && me.RetryAfter > 0:
		return &backoff.RetryAfterError{Duration: me.RetryAfter}
	}
	return err
}
