package agent

import (
	"context"
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
