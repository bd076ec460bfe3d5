package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/bench/internal/cputime"
)

// What is promised of streams.
const (
	promisedRSS   = 600 // MiB
	promisedFirst = 500 * time.Millisecond
)

// slowPart is for how many streams there is one client that reads nothing.
const slowPart = 100

// What a stream is asked for: a short answer, and one that no socket holds.
const (
	askShort = `{"message":"What can you do?","profile":"demo"}`
	askFlood = `{"message":"What can you do?","profile":"flood"}`
)

// bursts are what came of opening all streams at once, several times.
type bursts struct {
	rows          []burst
	slow          int // clients that read nothing meanwhile
	before, after figures
}

// A burst is one time. The times are the p50 and p99 over the streams.
type burst struct {
	first50, first99, whole99 time.Duration
	peak                      float64 // RSS so far, MiB
}

func measureStreams(ctx context.Context, o options, out io.Writer) (bool, error) {
	b, err := streams(ctx, o)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%-22s %10s %10s %10s %12s\n", "streams at once", "p50 first", "p99 first", "p99 whole", "peak RSS")
	first, peak := time.Duration(0), 0.0
	for _, r := range b.rows {
		fmt.Fprintf(out, "%-22d %10s %10s %10s %8.0f MiB\n", o.streams, short(r.first50), short(r.first99), short(r.whole99), r.peak)
		first, peak = max(first, r.first99), max(peak, r.peak)
	}
	all := true
	say := func(what string, ok bool) {
		all = all && ok
		fmt.Fprintf(out, "%-60s %s\n", what, map[bool]string{true: "ok", false: "short"}[ok])
	}
	say(fmt.Sprintf("no stream failed, beside %d clients that read nothing", b.slow), true)
	say(fmt.Sprintf("p99 to the first event: %s, wanted %s", short(first), short(promisedFirst)), first < promisedFirst)
	say(fmt.Sprintf("RSS: %.0f MiB, wanted %d MiB", peak, promisedRSS), peak < promisedRSS)
	say(fmt.Sprintf("goroutines: %d before, %d after", b.before.Goroutines, b.after.Goroutines), b.after.Goroutines <= b.before.Goroutines)
	return all, nil
}

// streams opens all streams at once, three times, beside clients that read
// nothing, and waits until the server has closed all of them. The error is about a
// stream that failed, or the server.
func streams(ctx context.Context, o options) (b bursts, err error) {
	s, err := weir(ctx, o, "streams")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if b.before, err = s.figures(); err != nil {
		return b, err
	}
	slow, err := stalled(s, max(2, o.streams/slowPart))
	b.slow = len(slow)
	for i := 0; i < 3 && err == nil; i++ {
		var r burst
		if r, err = atOnce(ctx, s.addr, request(s.addr, "/api/chat", askShort), o.streams); err == nil {
			var now figures
			now, err = s.figures()
			r.peak = now.Peak
			b.rows = append(b.rows, r)
		}
	}
	for _, c := range slow {
		_ = c.Close()
	}
	if err == nil {
		b.after, err = settled(ctx, s, b.before.Goroutines)
	}
	return b, err
}

// stalled opens streams of which nothing is read, and waits until the server
// computes no more for them: their connections are full.
func stalled(s *child, n int) (conns []net.Conn, err error) {
	for range n {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			return conns, err
		}
		if _, err := c.Write(request(s.addr, "/api/chat", askFlood)); err != nil {
			return conns, err
		}
	}
	if _, err := io.ReadFull(conns[0], make([]byte, len("HTTP/1.1 200 "))); err != nil {
		return conns, err
	}
	const look = 100 * time.Millisecond
	pid := s.cmd.Process.Pid
	for used, left := cputime.Of(pid), 50; left > 0; left-- {
		time.Sleep(look)
		now := cputime.Of(pid)
		if now-used < look/20 {
			break
		}
		used = now
	}
	return conns, nil
}

// atOnce opens so many streams at one moment and reads them all to the end.
func atOnce(ctx context.Context, addr string, ask []byte, n int) (burst, error) {
	clients := make([]*client, n)
	for i := range clients {
		var err error
		if clients[i], err = dial(addr, ask); err != nil {
			return burst{}, err
		}
		defer clients[i].close()
	}
	first, whole := make([]time.Duration, n), make([]time.Duration, n)
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
	return burst{first50: first[n/2], first99: first[n*99/100], whole99: whole[n*99/100]}, errors.Join(append(errs, ctx.Err())...)
}

// settled waits until the server has closed its connections.
func settled(ctx context.Context, s *child, goroutines int) (figures, error) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		f, err := s.figures()
		if err != nil || f.Goroutines <= goroutines || time.Now().After(deadline) || ctx.Err() != nil {
			return f, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
