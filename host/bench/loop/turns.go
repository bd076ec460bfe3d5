package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/bench/internal/cputime"
)

// What is promised of turns: at most clients, so many a second, or so many times
// what the peer does in the same run.
const (
	promisedClients = 256
	promisedChats   = 2000
	promisedRatio   = 1.3
)

// levels are the numbers of clients at once.
var levels = []int{1, 16, 64, promisedClients}

// question is what every client asks, as OpenAI's protocol has it and as weir's.
const (
	question = `{"model":"weir","stream":true,"messages":[{"role":"user","content":"Say hello by the tool."}]}`
	ask      = `{"message":"Say hello by the tool."}`
)

// A row is one measurement.
type row struct {
	clients  int
	chats    float64 // a second
	p50, p99 time.Duration
	cpu      time.Duration // of the server, a chat; 0: it does not tell
}

func measureTurns(ctx context.Context, o options, out io.Writer) (bool, error) {
	ours, err := weir(ctx, o, "loop")
	if err != nil {
		return false, err
	}
	var peer *child
	if o.peer != "" {
		if peer, err = start(ctx, o.peer); err != nil {
			return false, errors.Join(err, ours.stop())
		}
		defer func() { _ = peer.stop() }() // it has nothing to tell
	}
	var spanned *child
	sent := newCollector()
	if o.spans {
		defer sent.Close()
		with := o
		with.sendTo, with.profile, with.allocs = sent.URL, "", ""
		if spanned, err = weir(ctx, with, "loop"); err != nil {
			return false, errors.Join(err, ours.stop())
		}
	}
	fmt.Fprintf(out, "%-22s %8s %10s %10s %10s %12s\n", "one turn, one tool", "clients", "chats/s", "p50", "p99", "CPU a chat")
	best, theirs := 0.0, 0.0
	all := levels
	if o.clients > 0 {
		all = []int{o.clients}
	}
	for _, clients := range all {
		rows := []struct {
			name, path, body string
			at               *child
		}{
			{"weir /v1", "/v1/chat/completions", question, ours},
			{"weir /api/chat", "/api/chat", ask, ours},
			{"weir /v1, with spans", "/v1/chat/completions", question, spanned},
			{"peer /v1", "/v1/chat/completions", question, peer},
		}
		for _, r := range rows {
			if r.at == nil {
				continue
			}
			got, err := measured(ctx, r.at, request(r.at.addr, r.path, r.body), clients, o.time)
			if err != nil {
				return false, errors.Join(fmt.Errorf("%s with %d clients: %w", r.name, clients, err), ours.stop())
			}
			fmt.Fprintf(out, "%-22s %8d %10.0f %10s %10s %12s\n", r.name, clients, got.chats, short(got.p50), short(got.p99), short(got.cpu))
			if clients == promisedClients && r.at == peer {
				theirs = got.chats
			} else if clients == promisedClients && r.at == ours {
				best = max(best, got.chats)
			}
		}
	}
	if o.spans {
		if err := spanned.stop(); err != nil {
			return false, errors.Join(err, ours.stop())
		}
		fmt.Fprintf(out, "%d spans reached the collector\n", sent.spans.Load())
	}
	verdict := map[bool]string{true: "ok", false: "short"}
	ok := best >= promisedChats
	fmt.Fprintf(out, "%d clients: %.0f chats/s, wanted %d: %s\n", promisedClients, best, promisedChats, verdict[ok])
	if theirs > 0 {
		beats := best >= promisedRatio*theirs
		fmt.Fprintf(out, "or %.2f × the peer, wanted %.1f ×: %s\n", best/theirs, promisedRatio, verdict[beats])
		ok = ok || beats
	}
	return ok, ours.stop()
}

// measured is load with what it took of the server's processors.
func measured(ctx context.Context, c *child, ask []byte, clients int, length time.Duration) (row, error) {
	before := cputime.Of(c.cmd.Process.Pid)
	r, n, err := load(ctx, c.addr, ask, clients, length)
	if err != nil {
		return row{}, err
	}
	r.cpu = (cputime.Of(c.cmd.Process.Pid) - before) / time.Duration(n)
	return r, nil
}

// load lets so many clients ask for so long.
func load(ctx context.Context, addr string, ask []byte, clients int, length time.Duration) (r row, n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	var failed error
	began := time.Now()
	for range clients {
		wg.Go(func() {
			mine, err := one(ctx, addr, ask)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, mine...)
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	took := time.Since(began)
	if failed == nil && len(times) == 0 {
		failed = errors.New("nobody got an answer")
	}
	if failed != nil {
		return row{}, 0, failed
	}
	slices.Sort(times)
	return row{clients: clients, chats: float64(len(times)) / took.Seconds(), p50: times[len(times)/2], p99: times[len(times)*99/100]}, len(times), nil
}

// one is one client, who asks until ctx ends.
func one(ctx context.Context, addr string, ask []byte) ([]time.Duration, error) {
	c, err := dial(addr, ask)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var times []time.Duration
	for ctx.Err() == nil {
		_, whole, err := c.chat()
		if err != nil {
			return nil, err
		}
		times = append(times, whole)
	}
	return times, nil
}

func short(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
