package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/internal/testtime"
)

// A world is daemons, their database, the model that they ask and the tools they call.
type world struct {
	*testing.T
	pg      *pgtest.Server
	effects *effects
	daemons []*daemon
}

func newWorld(t *testing.T, daemons int, programs ...string) *world {
	t.Helper()
	if _, err := pgtest.Installed(); err != nil {
		t.Skip(err)
	}
	if len(programs) == 0 {
		programs = versions(t) // one daemon each in turn
	}
	pg, err := pgtest.StartServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	w := &world{T: t, pg: pg, effects: &effects{seen: map[string]int{}}}
	tools, model := httptest.NewServer(w.effects.handler()), httptest.NewServer(http.HandlerFunc(reply))
	t.Cleanup(model.Close)
	t.Cleanup(tools.CloseClientConnections)
	for i := range daemons {
		d := &daemon{world: w, program: programs[i%len(programs)], dir: filepath.Join(t.TempDir(), fmt.Sprint(i)), proxy: newProxy(t, pg.URL)}
		d.configure(model.URL, tools.URL)
		w.daemons = append(w.daemons, d)
		d.start()
		t.Cleanup(func() { d.kill() })
	}
	return w
}

// versions returns the programs to test, which may be several versions.
func versions(t *testing.T) []string {
	t.Helper()
	if list := filepath.SplitList(os.Getenv("WEIR_CLUSTER_PROGRAMS")); len(list) > 0 {
		return list
	}
	program, err := guesttest.Program("../../cmd/weir")
	if err != nil {
		t.Fatal(err)
	}
	return []string{program}
}

// takes is how long a tool, a model, a network or a fault takes in this world: daemons must
// be killed in the middle of calls, not between them. Nothing waits for anything here.
func takes(d time.Duration) { time.Sleep(d) }

// effects are what the tools did: how often the call with an id happened.
type effects struct {
	mu   sync.Mutex
	seen map[string]int
}

func (e *effects) happened(id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[id]
}

// handler serves two tools: once must not happen twice, again may.
func (e *effects) handler() http.Handler {
	type args struct {
		ID string `json:"id"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "effects", Version: "1"}, nil)
	for name, idempotent := range map[string]bool{"once": false, "again": true} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Has an effect.", Annotations: &mcp.ToolAnnotations{IdempotentHint: idempotent}}, func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
			takes(50 * time.Millisecond)
			e.mu.Lock()
			e.seen[a.ID]++
			e.mu.Unlock()
			takes(50 * time.Millisecond)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "effect of " + a.ID}}}, nil, nil
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
}

const callsOfTurn = 3

var question = regexp.MustCompile(`question (q\d+)\b`)

// reply is a model whose answer depends on the request alone: a turn has callsOfTurn
// calls, of which the last may happen twice, and then an answer.
func reply(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	id, results := "", 0
	for _, m := range in.Messages {
		// The question of a turn that failed comes before the next one in the same message.
		if found := question.FindAllSubmatch(m.Content, -1); m.Role == "user" && found != nil {
			id, results = string(found[len(found)-1][1]), 0
		} else if m.Role == "tool" {
			results++
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(delta any, finish string) {
		b, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": delta, "finish_reason": finish}}})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
		takes(30 * time.Millisecond)
	}
	if results < callsOfTurn {
		name := "effects__once"
		if results == callsOfTurn-1 {
			name = "effects__again"
		}
		call := map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", results), "type": "function", "function": map[string]any{"name": name, "arguments": fmt.Sprintf(`{"id":"%s-%d"}`, id, results)}}
		say(map[string]any{"tool_calls": []any{call}}, "tool_calls")
	} else {
		for _, word := range []string{"All ", "is ", "done ", "of "} {
			say(map[string]any{"content": word}, "")
		}
		say(map[string]any{"content": id}, "stop")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func answerOf(id string) string { return "All is done of " + id }

// A daemon is a process of its own, with a data folder and a proxy of its own.
type daemon struct {
	*world
	program, dir string
	addr         string
	proxy        *proxy
	process      *exec.Cmd
	token        string
	leaving      atomic.Bool // it stops: a load balancer sends it nothing new

	mu     sync.Mutex
	down   chan struct{} // closed when it is killed or frozen: a load balancer would see that
	downAt time.Time
}

func (d *daemon) configure(model, tools string) {
	d.Helper()
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		d.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.Fatal(err)
	}
	d.addr = l.Addr().String()
	l.Close()
	text := fmt.Sprintf(`[store]
url = "postgres://weir@%s/postgres?sslmode=disable"
[models.script]
provider = "openai"
base_url = "%s/v1"
model = "script"
key = "k"
native_tools = true
window = 100000
[agent]
model = "script"
mode = "native"
[approvals]
default = "allow"
[mcpServers.effects]
url = "%s"
trust_hints = true
[tools.effects__once]
archive = "always"
`, d.proxy.addr(), model, tools)
	if err := os.WriteFile(filepath.Join(d.dir, "tools.toml"), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

// start starts the process and waits until it is ready.
func (d *daemon) start() {
	d.Helper()
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	defer log.Close()
	d.process = exec.Command(d.program, "--config", filepath.Join(d.dir, "tools.toml"), "--data", filepath.Join(d.dir, "data"), "serve", "--addr", d.addr)
	d.process.Env = append(os.Environ(), "HOME="+d.dir, "WEIR_NO_PROBE=1")
	d.process.Stdout, d.process.Stderr = log, log
	d.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.process.Start(); err != nil {
		d.Fatal(err)
	}
	if !testtime.Comes(d.ready) {
		said, _ := os.ReadFile(log.Name())
		d.Fatalf("the daemon is not ready:\n%s", said)
	}
	if d.token == "" { // clients read it later
		token, err := os.ReadFile(filepath.Join(d.dir, "data", "token"))
		if err != nil {
			d.Fatal(err)
		}
		d.token = strings.TrimSpace(string(token))
	}
	d.up()
}

func (d *daemon) ready() bool {
	ctx, cancel := context.WithTimeout(d.Context(), time.Second)
	defer cancel()
	status, _, err := d.do(ctx, "GET", "/readyz", "")
	return err == nil && status == http.StatusOK
}

func (d *daemon) up() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = make(chan struct{})
}

// fail says that the daemon is gone.
func (d *daemon) fail() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.downAt = time.Now()
	close(d.down)
}

// state returns the channel that ends with the daemon; ok reports whether it runs.
func (d *daemon) state() (down <-chan struct{}, at time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.down:
		return d.down, d.downAt, false
	default:
		return d.down, d.downAt, true
	}
}

func (d *daemon) kill() {
	_ = d.process.Process.Kill()
	_ = d.process.Wait() // it says that it was killed
}

func (d *daemon) signal(s os.Signal) {
	if err := d.process.Process.Signal(s); err != nil {
		d.Error(err)
	}
}

func (d *daemon) request(ctx context.Context, method, path, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// do returns a whole answer.
func (d *daemon) do(ctx context.Context, method, path, body string) (status int, text []byte, err error) {
	resp, err := http.DefaultClient.Do(d.request(ctx, method, path, body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, bytes.TrimSpace(text), err
}

// A proxy forwards connections to the server. It can cut them, and delay what they carry.
type proxy struct {
	listener net.Listener
	to       string
	delay    atomic.Int64
	cut      atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(url, "@")
	to, _, _ := strings.Cut(rest, "/")
	p := &proxy{listener: l, to: to, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); p.setCut(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.forward(c)
		}
	}()
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) forward(from net.Conn) {
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		from.Close()
		return
	}
	p.mu.Lock()
	p.conns[from], p.conns[to] = true, true
	p.mu.Unlock()
	end := func() {
		from.Close()
		to.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, from)
		delete(p.conns, to)
	}
	if p.cut.Load() {
		end()
		return
	}
	pass := func(to, from net.Conn) {
		defer end()
		b := make([]byte, 32<<10)
		for {
			n, err := from.Read(b)
			takes(time.Duration(p.delay.Load()))
			if n > 0 {
				if _, err := to.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go pass(to, from)
	pass(from, to)
}

// setCut ends all connections and refuses new ones, or lets them through again.
func (p *proxy) setCut(cut bool) {
	p.cut.Store(cut)
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if cut {
			c.Close()
		}
	}
}
