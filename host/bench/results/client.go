package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/weirhost/weir/host/bench/internal/cputime"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// A client is a server on pipes and its callers, each of which has an id of its own.
type client struct {
	cmd     *exec.Cmd
	answers [callers + 1]chan int // bytes of an answer; closed: the server has gone

	mu sync.Mutex
	in io.WriteCloser
}

// callers is the largest number of callers at the same time.
const callers = 16

// dial starts a server and greets it.
func dial(ctx context.Context, args []string) (*client, error) {
	c := &client{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	c.cmd.WaitDelay = 10 * time.Second
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	for i := range c.answers {
		c.answers[i] = make(chan int, 1)
	}
	go c.deliver(bufio.NewReaderSize(out, 1<<20))
	if err = c.say(initialize); err == nil {
		if _, ok := <-c.answers[0]; !ok {
			err = errors.New("the server does not greet back")
		}
	}
	if err == nil {
		err = c.say(initialized)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *client) say(line string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// call asks for a report of n bytes.
func (c *client) call(id, number, n int) error {
	if err := c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"report","arguments":{"number":%d,"bytes":%d}}}`, id, number, n)); err != nil {
		return err
	}
	got, ok := <-c.answers[id]
	if !ok {
		return errors.New("the server has gone")
	}
	if got < min(n, 4000) {
		return fmt.Errorf("the answer to a call has %d bytes", got)
	}
	return nil
}

// deliver hands answers to the callers.
func (c *client) deliver(r *bufio.Reader) {
	const head = `{"jsonrpc":"2.0","id":`
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			for _, to := range c.answers {
				close(to)
			}
			return
		}
		if len(line) < len(head) || string(line[:len(head)]) != head {
			continue
		}
		end := len(head)
		for line[end] >= '0' && line[end] <= '9' {
			end++
		}
		if id, err := strconv.Atoi(string(line[len(head):end])); err == nil && id < len(c.answers) {
			c.answers[id] <- len(line)
		}
	}
}

// cpu returns the CPU time of the server and its workers so far.
func (c *client) cpu() time.Duration { return cputime.Of(c.cmd.Process.Pid) }

func (c *client) stop() error {
	_ = c.cmd.Process.Signal(os.Interrupt)
	_ = c.in.Close()
	_ = c.cmd.Wait() // it was interrupted
	return nil
}
