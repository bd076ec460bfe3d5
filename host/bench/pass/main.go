// Command benchpass measures what weir adds to a request that it passes through for a client
// with a loop of its own: the time until the last byte of the answer, beside the same request
// to the model's server itself. weir is a process of its own, with its data on the disk; this
// one is the client and the server, which answers at once. Requests to the one and to the
// other take turns, and each has one message more than the one before, as in a session.
//
// Each row is printed with ok or short; it exits with 1 if one is short. `make bench-pass`
// builds what it needs.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A row is one size of bodies.
type row struct {
	bytes int
	most  time.Duration // that weir may add at p50
}

func rows() []row {
	return []row{{70_000, 5 * time.Millisecond}, {1_000_000, 30 * time.Millisecond}}
}

func main() {
	weir := flag.String("weir", "bin/weir", "weir itself")
	n := flag.Int("n", 200, "requests of each kind")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, *weir, *n, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchpass:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run measures all rows, and reports whether none is short.
func run(ctx context.Context, weir string, n int, out io.Writer) (bool, error) {
	model := httptest.NewServer(http.HandlerFunc(answer))
	defer model.Close()
	d, err := start(ctx, weir, model.URL+"/v1")
	if err != nil {
		return false, err
	}
	defer d.stop()
	fine := true
	fmt.Fprintf(out, "%-10s %12s %12s %12s %8s\n", "body", "direct p50", "weir p50", "more", "ratio")
	for _, r := range rows() {
		direct, through, err := d.measure(ctx, model.URL, r.bytes, n)
		if err != nil {
			return false, err
		}
		more, word := through-direct, "ok"
		if more > r.most {
			word, fine = fmt.Sprintf("short: at most %s more", r.most), false
		}
		fmt.Fprintf(out, "%-10d %12s %12s %12s %8.1f  %s\n", r.bytes, direct.Round(time.Microsecond), through.Round(time.Microsecond), more.Round(time.Microsecond), float64(through)/float64(direct), word)
	}
	return fine, nil
}

// answer is the model's: twenty pieces, at once.
func answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 20 {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"piece %d "},"finish_reason":null}]}`+"\n\n", i)
	}
	_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":20,"total_tokens":29}}`+"\n\ndata: [DONE]\n\n")
}

// A daemon is a weir that runs.
type daemon struct {
	cmd         *exec.Cmd
	dir         string
	addr, token string
}

// start starts weir with the model m.
func start(ctx context.Context, weir, model string) (d *daemon, err error) {
	d = &daemon{}
	if d.dir, err = os.MkdirTemp("", "benchpass"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.stop()
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now
	if err != nil {
		return nil, err
	}
	d.addr = l.Addr().String()
	_ = l.Close()
	config, data, plugins := filepath.Join(d.dir, "tools.toml"), filepath.Join(d.dir, "data"), filepath.Join(d.dir, "plugins")
	toml := fmt.Sprintf("[models.m]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\nkey = \"benchmark\"\nnative_tools = true\n", model)
	if err := errors.Join(os.WriteFile(config, []byte(toml), 0o600), os.Mkdir(plugins, 0o700)); err != nil {
		return nil, err
	}
	d.cmd = exec.CommandContext(ctx, weir, "serve", "--addr", d.addr, "--config", config, "--data", data, "--plugins", plugins, "--workspace", d.dir)
	d.cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	d.cmd.Stderr = &said
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	for range 600 {
		if c, err := net.Dial("tcp", d.addr); err == nil {
			_ = c.Close()
			token, err := os.ReadFile(filepath.Join(data, "token"))
			d.token = strings.TrimSpace(string(token))
			return d, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("weir does not listen at %s: %s", d.addr, said.Bytes())
}

func (d *daemon) stop() {
	if d.cmd != nil && d.cmd.Process != nil {
		_ = d.cmd.Process.Signal(os.Interrupt)
		_ = d.cmd.Wait() // it was interrupted
	}
	_ = os.RemoveAll(d.dir)
}

// measure returns the median times of a request to the model's server, and of one to weir.
func (d *daemon) measure(ctx context.Context, model string, size, n int) (direct, through time.Duration, err error) {
	s := newSession(size)
	var took [2][]time.Duration
	for i := range n + 2 {
		body := s.next()
		for j, to := range []string{model, "http://" + d.addr} {
			t, err := d.ask(ctx, to, body)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %w", to, err)
			}
			if i >= 2 { // the first open connections
				took[j] = append(took[j], t)
			}
		}
	}
	return median(took[0]), median(took[1]), nil
}

func median(of []time.Duration) time.Duration {
	slices.SortFunc(of, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	return of[len(of)/2]
}

// ask sends a body and reads the whole answer.
func (d *daemon) ask(ctx context.Context, to string, body []byte) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	req.Header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	took := time.Since(began)
	if err == nil && !bytes.HasSuffix(got, []byte("data: [DONE]\n\n")) {
		err = fmt.Errorf("%d %.300s", resp.StatusCode, got)
	}
	return took, err
}

// A session is what a coding agent sends: a system prompt, tools, and messages, of which each
// request has one more.
type session struct {
	messages bytes.Buffer
	n        int
}

func newSession(size int) *session {
	s := &session{}
	fmt.Fprintf(&s.messages, `{"role":"system","content":%q}`, strings.Repeat("A rule for the agent.\n", 500))
	for s.messages.Len() < size-12_000 {
		s.add(strings.Repeat("a line of a result, with <words> in it\n", 100))
	}
	return s
}

func (s *session) add(text string) {
	s.n++
	fmt.Fprintf(&s.messages, `,{"role":"user","content":[{"type":"text","text":%q}]}`, fmt.Sprint(s.n, " ", text))
}

// next is the session's next request.
func (s *session) next() []byte {
	s.add("And now?")
	tools := strings.Repeat(`{"type":"function","function":{"name":"read","description":"Reads a file.\n\n- one","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},`, 60)
	return fmt.Appendf(nil, `{"model":"m","messages":[%s],"tools":[%s],"stream":true,"stream_options":{"include_usage":true}}`, s.messages.Bytes(), strings.TrimSuffix(tools, ","))
}
