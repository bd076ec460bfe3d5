package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// repeatKey is the key of the function that OnRepeat sets.
type repeatKey struct{}

// OnRepeat returns a context with which a Model calls f before it asks its provider
// again: with the error, and the time it waits. f is called from the goroutine that
// reads the sequence of Generate.
func OnRepeat(ctx context.Context, f func(err error, wait time.Duration)) context.Context {
	return context.WithValue(ctx, repeatKey{}, f)
}

// Repeating is called by a Model before it waits and asks its provider again.
func Repeating(ctx context.Context, err error, wait time.Duration) {
	if f, ok := ctx.Value(repeatKey{}).(func(error, time.Duration)); ok {
		f(err, wait)
	}
}

// alternativeKey is the key that WithAlternative sets.
type alternativeKey struct{}

// WithAlternative returns a context that says that another model answers if this one
// cannot: it need not be asked again as patiently.
func WithAlternative(ctx context.Context) context.Context {
	return context.WithValue(ctx, alternativeKey{}, true)
}

// HasAlternative reports whether another model answers if this one cannot.
func HasAlternative(ctx context.Context) bool {
	has, _ := ctx.Value(alternativeKey{}).(bool)
	return has
}

// patienceKey is the key of the times that OnePatience counts.
type patienceKey struct{}

// OnePatience returns a context in which the waits for a silent server count together,
// until it answers. Models bound their sum: a turn whose server is silent asks it several
// times, and each question would wait as long as the first.
func OnePatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, new(sync.Map))
}

// Waited returns OnePatience's count for a model, in nanoseconds, or a new one.
func Waited(ctx context.Context, model string) *atomic.Int64 {
	n := any(new(atomic.Int64))
	if counts, ok := ctx.Value(patienceKey{}).(*sync.Map); ok {
		n, _ = counts.LoadOrStore(model, n)
	}
	return n.(*atomic.Int64)
}
