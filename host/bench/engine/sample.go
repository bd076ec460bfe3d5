package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// A contender does one thing in its own way, n times.
type contender struct {
	name string
	run  func(n int) error
}

const (
	sampleTime = 20 * time.Millisecond // duration of a sample, about
	sampleMost = 20_000                // runs in one
)

// race samples the contenders in turns, so that whatever else the machine does
// meets all of them, and returns the median time of one run for each. Every
// round begins with another one.
func race(rounds int, cs ...contender) (map[string]time.Duration, error) {
	runs := make([]int, len(cs))
	for i, c := range cs {
		var err error
		if runs[i], err = c.calibrate(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	samples := make([][]time.Duration, len(cs))
	for round := range rounds {
		for k := range cs {
			i := (round + k) % len(cs)
			runtime.GC() // garbage of one contender must not slow the next one
			took, err := cs[i].sample(runs[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cs[i].name, err)
			}
			samples[i] = append(samples[i], took)
		}
	}
	medians := make(map[string]time.Duration, len(cs))
	for i, c := range cs {
		medians[c.name] = median(samples[i])
	}
	return medians, nil
}

// calibrate warms the contender up and finds how many runs make a sample. The
// first run tells nothing: it compiles, makes an instance or starts a process.
func (c contender) calibrate() (int, error) {
	if err := c.run(1); err != nil {
		return 0, err
	}
	for n := 1; ; n *= 2 {
		took, err := c.sample(n)
		if err != nil {
			return 0, err
		}
		if total := took * time.Duration(n); total >= sampleTime/2 || n >= sampleMost {
			return n, nil
		}
	}
}

func (c contender) sample(n int) (time.Duration, error) {
	began := time.Now()
	err := c.run(n)
	return time.Since(began) / time.Duration(n), err
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
