package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A caller makes calls of one server, one at a time for each of its workers.
type caller struct {
	call  func(worker int) error
	close func()
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func message(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q}}}`, id, text)
}

// start runs a server until the returned function is called.
func start(ctx context.Context, args []string) (*exec.Cmd, func()) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	return cmd, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
	}
}

// overHTTP starts a server on a port and opens a session.
func overHTTP(ctx context.Context, args func(port string) []string, tokenFile string) (*caller, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd, stop := start(ctx, args(port))
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := await("127.0.0.1:" + port); err != nil {
		stop()
		return nil, err
	}
	token := []byte("none")
	if tokenFile != "" {
		if token, err = os.ReadFile(tokenFile); err != nil {
			stop()
			return nil, err
		}
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	session := ""
	post := func(body string) ([]byte, http.Header, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:"+port+"/mcp", strings.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + strings.TrimSpace(string(token))},
		}
		if session != "" {
			req.Header["Mcp-Session-Id"], req.Header["Mcp-Protocol-Version"] = []string{session}, []string{"2025-06-18"}
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return b, resp.Header, err
	}
	_, h, err := post(initialize)
	if err == nil {
		session = h.Get("Mcp-Session-Id")
		_, _, err = post(initialized)
	}
	var ids atomic.Int64
	return &caller{close: stop, call: func(int) error {
		b, _, err := post(message(int(ids.Add(1))))
		if err == nil && !bytes.Contains(b, []byte(text)) {
			err = fmt.Errorf("a call came to %.300s", b)
		}
		return err
	}}, err
}

// overStdio starts a server on pipes.
func overStdio(ctx context.Context, args []string, workers int) (*caller, error) {
	cmd, stop := start(ctx, args)
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
	answers := make([]chan bool, workers+1)
	for i := range answers {
		answers[i] = make(chan bool, 1)
	}
	go deliver(bufio.NewReaderSize(out, 1<<20), answers)
	var mu sync.Mutex
	say := func(line string) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := io.WriteString(in, line+"\n")
		return err
	}
	err = say(initialize)
	if err == nil {
		<-answers[0]
		err = say(initialized)
	}
	return &caller{close: stop, call: func(worker int) error {
		if err := say(message(worker + 1)); err != nil {
			return err
		}
		if ok, open := <-answers[worker+1]; !ok || !open {
			return fmt.Errorf("a call failed")
		}
		return nil
	}}, err
}

// deliver hands answers to the workers that wait for them.
func deliver(r *bufio.Reader, to []chan bool) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			for _, c := range to {
				close(c)
			}
			return
		}
		_, rest, ok := bytes.Cut(line, []byte(`"id":`))
		id := 0
		for _, c := range rest {
			if c < '0' || c > '9' {
				break
			}
			id = id*10 + int(c-'0')
		}
		if ok && id < len(to) {
			to[id] <- id == 0 || bytes.Contains(line, []byte(text))
		}
	}
}

// measure calls for a time, after some warming, and returns how many calls were
// made and how long each took, the shortest first. A call that fails ends it.
func measure(call func(int) error, workers int, warm, span time.Duration) (int, []time.Duration) {
	round := func(span time.Duration) []time.Duration {
		var mu sync.Mutex
		var all []time.Duration
		var wg sync.WaitGroup
		end := time.Now().Add(span)
		for w := range workers {
			wg.Go(func() {
				var mine []time.Duration
				for began := time.Now(); began.Before(end); began = time.Now() {
					if err := call(w); err != nil {
						fmt.Fprintln(os.Stderr, "benchmcp: "+err.Error())
						break
					}
					mine = append(mine, time.Since(began))
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, mine...)
			})
		}
		wg.Wait()
		return all
	}
	round(warm)
	times := round(span)
	slices.Sort(times)
	if len(times) == 0 {
		times = []time.Duration{0}
	}
	return len(times), times
}
