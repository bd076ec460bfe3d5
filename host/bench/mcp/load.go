package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/bench/internal/cputime"
)

// A caller makes calls of one server, one at a time for each of its workers.
type caller struct {
	call func(worker int) error
	*process
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func message(id int) string {
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}`
}

// text is what the tool gives back.
var text = strings.Repeat("a hundred bytes ", 6) + "are"

// A process is a server's.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// start runs a server. Its output goes to out, if that is not nil.
func start(ctx context.Context, args []string, out chan<- io.Reader) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	p.cmd.WaitDelay = 10 * time.Second
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if out != nil {
		r, err := p.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		out <- r
	}
	return p, p.cmd.Start()
}

func (p *process) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait() // it was interrupted
	return nil
}

// A sample is what was measured of one server.
type sample struct {
	rate     float64 // calls a second
	p50, p99 time.Duration
	cpu      time.Duration // of the server, a call; 0: unknown
}

// measure calls for a time, after some warming.
func (c *caller) measure(workers int, warm, span time.Duration) (sample, error) {
	if _, err := c.round(workers, warm); err != nil {
		return sample{}, err
	}
	before := cputime.Of(c.cmd.Process.Pid)
	times, err := c.round(workers, span)
	if err != nil {
		return sample{}, err
	}
	used := cputime.Of(c.cmd.Process.Pid) - before
	slices.Sort(times)
	n := len(times)
	return sample{float64(n) / span.Seconds(), times[n/2], times[n*99/100], used / time.Duration(n)}, nil
}

// round calls for a time and returns how long each call took.
func (c *caller) round(workers int, span time.Duration) (all []time.Duration, failed error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for w := range workers {
		wg.Go(func() {
			var mine []time.Duration
			var err error
			for began := time.Now(); err == nil && began.Before(end); began = time.Now() {
				err = c.call(w)
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			if err != nil {
				failed = fmt.Errorf("a call failed: %w", err)
			}
		})
	}
	wg.Wait()
	return all, failed
}
