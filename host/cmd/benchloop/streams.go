package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// What is promised of streams.
const (
	promisedRSS   = 600 // MiB
	promisedFirst = 500 * time.Millisecond
)

// measureStreams opens all streams at once, several times, and looks at what
// stays behind.
func measureStreams(ctx context.Context, o options, out io.Writer) (bool, error) {
	s, err := weir(ctx, o, "streams")
	if err != nil {
		return false, err
	}
	before, err := s.figures()
	if err != nil {
		return false, errors.Join(err, s.stop())
	}
	ask := request(s.addr, "/api/chat", `{"message":"What can you do?","profile":"demo"}`)
	fmt.Fprintf(out, "%-22s %10s %10s %10s %12s\n", "streams at once", "p50 first", "p99 first", "p99 whole", "peak RSS")
	ok := true
	for range 3 {
		first, whole, err := burst(ctx, s.addr, ask, o.streams)
		if err != nil {
			return false, errors.Join(err, s.stop())
		}
		now, err := s.figures()
		if err != nil {
			return false, errors.Join(err, s.stop())
		}
		p99 := first[len(first)*99/100]
		fmt.Fprintf(out, "%-22d %10s %10s %10s %8.0f MiB\n", o.streams, short(first[len(first)/2]), short(p99), short(whole[len(whole)*99/100]), now.Peak)
		ok = ok && p99 < promisedFirst && now.Peak < promisedRSS
	}
	after, err := settled(ctx, s, before.Goroutines)
	if err != nil {
		return false, errors.Join(err, s.stop())
	}
	ok = ok && after.Goroutines <= before.Goroutines
	fmt.Fprintf(out, "goroutines: %d before, %d after; RSS %.0f MiB before, %.0f after\n", before.Goroutines, after.Goroutines, before.RSS, after.RSS)
	fmt.Fprintf(out, "promised: no failure, p99 to the first event under %s, RSS under %d MiB, goroutines as at the start: %s\n",
		promisedFirst, promisedRSS, map[bool]string{true: "ok", false: "SHORT"}[ok])
	return ok, s.stop()
}

// burst opens so many streams at one moment and reads them all to the end.
func burst(ctx context.Context, addr string, ask []byte, n int) (first, whole []time.Duration, err error) {
	clients := make([]*client, n)
	for i := range clients {
		if clients[i], err = dial(addr, ask); err != nil {
			return nil, nil, err
		}
		defer clients[i].close()
	}
	first, whole = make([]time.Duration, n), make([]time.Duration, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i, c := range clients {
		wg.Go(func() {
			<-begin
			first[i], whole[i], errs[i] = c.chat()
		})
	}
	close(begin)
	wg.Wait()
	slices.Sort(first)
	slices.Sort(whole)
	return first, whole, errors.Join(append(errs, ctx.Err())...)
}

// settled waits until the server has let go of its connections.
func settled(ctx context.Context, s *child, goroutines int) (figures, error) {
	deadline := time.Now().Add(10 * time.Second)
	for {
		f, err := s.figures()
		if err != nil || f.Goroutines <= goroutines || time.Now().After(deadline) || ctx.Err() != nil {
			return f, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
