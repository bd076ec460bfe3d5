package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// burst measures 16 callers of a short answer from the first call after a start on.
func (b *bench) burst() error {
	const span, step = 4 * time.Second, 100 * time.Millisecond
	fmt.Printf("%d callers over stdio just after a start, a worker process for the tool; the median of %d starts\n", callers, b.rounds)
	var first, early []time.Duration // early: the time until 80 % of the later rate
	var rates, later []float64
	args, _, err := b.ours("cut")
	if err != nil {
		return err
	}
	if _, _, err := b.start(args, 0); err != nil { // compiles the tool
		return err
	}
	for range b.rounds {
		ends, one, err := b.start(args, span)
		if err != nil {
			return err
		}
		counts := make([]float64, span/step)
		for _, at := range ends {
			if i := int(at / step); i < len(counts) {
				counts[i]++
			}
		}
		rate := 0.0 // of the second half
		for _, n := range counts[len(counts)/2:] {
			rate += n / float64(len(counts)-len(counts)/2)
		}
		at := slices.IndexFunc(counts, func(n float64) bool { return n >= 0.8*rate })
		first, early = append(first, one), append(early, time.Duration(at)*step)
		rates, later = append(rates, (counts[0]+counts[1]+counts[2])/3/step.Seconds()), append(later, rate/step.Seconds())
	}
	slices.Sort(rates)
	slices.Sort(later)
	at := middle(early)
	fmt.Printf("%-34s %10s the first answer; %.0f calls/s in the first 300 ms, %.0f later; 80 %% of it after %s", "weir", middle(first).Round(time.Microsecond),
		rates[len(rates)/2], later[len(later)/2], at)
	b.target(at >= 0 && at < 3*step, "within 300 ms")
	return nil
}

// start starts weir, and calls until a time after the first answer. It returns how long
// that one took, and when each call ended, from the first answer on.
func (b *bench) start(args []string, span time.Duration) (ends []time.Duration, first time.Duration, failed error) {
	c, err := dial(b.ctx, args)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	var until atomic.Int64 // since began; 0: there is no answer
	var mu sync.Mutex
	var wg sync.WaitGroup
	for id := range callers {
		wg.Go(func() {
			var mine []time.Duration
			var err error
			for more := true; err == nil && more; {
				err = c.call(id+1, 0, 100)
				at := time.Since(began)
				mine = append(mine, at)
				until.CompareAndSwap(0, int64(at+span))
				more = at < time.Duration(until.Load())
			}
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, mine...)
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	first = slices.Min(ends)
	for i := range ends {
		ends[i] -= first
	}
	return ends, first, errors.Join(failed, c.stop())
}
