package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A child is a server in a process of its own.
type child struct {
	addr string
	cmd  *exec.Cmd
	in   io.Closer
}

// start runs a program that prints its address, and ends with its input.
func start(ctx context.Context, program string, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 15 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("%s did not say its address: %w", program, cmd.Wait())
	}
	return &child{strings.TrimSpace(line), cmd, in}, nil
}

// weir starts this program as the server.
func weir(ctx context.Context, o options, what string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-serve", what}
	if o.profile != "" {
		args = append(args, "-profile", o.profile)
	}
	if o.allocs != "" {
		args = append(args, "-allocs", o.allocs)
	}
	if o.sendTo != "" {
		args = append(args, "-send-to", o.sendTo)
	}
	if o.inline {
		args = append(args, "-inline")
	}
	return start(ctx, self, args...)
}

func (c *child) stop() error {
	_ = c.in.Close()
	return c.cmd.Wait()
}

// figures asks the server for its resource usage.
func (c *child) figures() (figures, error) {
	var f figures
	b, err := get("http://" + c.addr + "/self")
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(b, &f)
}

// rss reads a size of this process, in MiB; 0 where the system does not tell.
func rss(key string) float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}
