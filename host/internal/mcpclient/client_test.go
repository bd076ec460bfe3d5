package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/weirhost/weir/internal/testtime"
)

// asServer makes the test binary an MCP server on its standard streams.
const asServer = "WEIR_TEST_MCP"

func TestMain(m *testing.M) {
	if how := os.Getenv(asServer); how != "" {
		os.Exit(serve(how))
	}
	goleak.VerifyTestMain(m)
}

func serve(how string) int {
	switch how {
	case "dead":
		os.Stderr.WriteString("no key is set\n")
		return 3
	case "mute":
		end := make(chan os.Signal, 1) // reads nothing and says nothing; without a channel that may get something, Go calls it a deadlock
		signal.Notify(end, os.Interrupt)
		<-end
	case "tasks":
		return taskLister()
	case "owner":
		return owner()
	case "fickle", "same", "fleeting", "values", "deep", "endless", "invalid", "progress":
		return raw(how)
	case "orphan":
		c, err := net.Dial("tcp", os.Getenv(orphanAddr))
		if err == nil {
			_, err = c.Read(make([]byte, 1))
		}
		return 1
	}
	if addr := os.Getenv(orphanAddr); addr != "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), asServer+"=orphan")
		if child.Start() != nil {
			return 1
		}
	}
	if how == "banner" {
		os.Stdout.WriteString("Listening on stdio\n{no JSON}\n\n{}\n[1]\n")
	}
	s := exampleServer()
	mcp.AddTool(s, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(7)
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "babble"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Stdout.WriteString("done!\n")
		return text(""), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "env"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text(strings.Join(os.Environ(), "\n")), nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// orphanAddr has the server start a program of its own, which connects there.
const orphanAddr = "WEIR_TEST_ORPHAN"

// owner has a server of its own, says when it is ready, and waits to be killed.
func owner() int {
	s := Open(Config{Name: "owned", Command: os.Args[0], Env: map[string]string{asServer: "on", orphanAddr: os.Getenv(orphanAddr)}})
	s.Wait(context.Background())
	fmt.Println(s.Status().State)
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt)
	<-end
	return 0
}

// raw is a server that reports a change of its tools after every list, with or
// without a change, or that ends after its first list.
func raw(how string) int {
	in := json.NewDecoder(os.Stdin)
	for lists := 1; ; {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Meta struct{ ProgressToken string } `json:"_meta"`
			}
		}
		if in.Decode(&m) != nil {
			return 0
		}
		switch {
		case m.ID == nil:
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", m.ID)
		case how == "values" && m.Method == "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, manyMaps())
		case how == "progress" && m.Method == "tools/call":
			said := ""
			for i := range 5 {
				said += fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":%d,"total":5}}`+"\n", m.Params.Meta.ProgressToken, i+1)
			}
			fmt.Printf(`%s{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", said, m.ID)
		case how == "deep" && m.Method == "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, deep())
		case how == "invalid" && m.Method == "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{content}}`+"\n", m.ID)
		case how == "endless" && m.Method == "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			for range MaxBytes>>20 + 1 {
				fmt.Print(strings.Repeat("x", 1<<20))
			}
		case slices.Contains([]string{"values", "deep", "endless", "invalid", "progress"}, how) && m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, oneTool)
		case m.Method != "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		default:
			say := strings.Repeat("!", lists)
			if how != "fickle" {
				say = "the same"
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":%q,"inputSchema":{"type":"object"}}]}}`+"\n", m.ID, say)
			if how == "fleeting" {
				return 0
			}
			fmt.Fprintf(os.Stderr, "list %d\n", lists)
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			lists++
		}
	}
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

type echoArgs struct {
	Text string `json:"text"`
}

func exampleServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{
		Name: "echo", Description: "gives it back", Meta: mcp.Meta{sizeKey: 5000},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, r *mcp.CallToolRequest, a echoArgs) (*mcp.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
		}
		return text(a.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "trace"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		parent, _ := r.Params.Meta["traceparent"].(string)
		return text("parent " + parent), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("no such sheet")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: "waiting"})
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil, nil
	})
	return s
}

// program starts this test binary as a server.
func program(t *testing.T, how string, change func(*Config)) *Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Name: "example", Command: exe, Env: map[string]string{asServer: how}}
	if change != nil {
		change(&c)
	}
	s := Open(c)
	t.Cleanup(s.Close)
	return s
}

func ready(t *testing.T, s *Server) {
	t.Helper()
	s.Wait(t.Context())
	if st := s.Status(); st.State != Ready {
		t.Fatalf("%s: %s", st.State, st.Why)
	}
}

func call(t *testing.T, s *Server, name, args string) string {
	t.Helper()
	b, err := s.Call(t.Context(), name, json.RawMessage(args), 1<<20, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(b)
}

// A call hands its trace on, as the protocol has it.
func TestTraceIsHandedOn(t *testing.T) {
	s := program(t, "example", nil)
	ready(t, s)
	id := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	for _, row := range []struct {
		ctx  context.Context
		want string
	}{
		{t.Context(), `"parent "`},
		{trace.ContextWithSpanContext(t.Context(), id), `"parent 00-01000000000000000000000000000000-0200000000000000-01"`},
	} {
		b, err := s.Call(row.ctx, "trace", json.RawMessage("{}"), 1<<20, func(int, int, string) {})
		if err != nil || !strings.Contains(string(b), row.want) {
			t.Errorf("%s, %v", b, err)
		}
	}
}

func TestProgram(t *testing.T) {
	t.Setenv("OUR_SECRET", "sesame")
	s := program(t, "on", func(c *Config) { c.Env["ITS_OWN"] = "yes" })
	ready(t, s)
	tools := map[string]Tool{}
	for _, tl := range s.Status().Tools {
		tools[tl.Name] = tl
	}
	if e := tools["echo"]; !e.ReadOnly || e.MaxChars != 5000 || e.Description != "gives it back" || !strings.Contains(string(e.Schema), `"text"`) {
		t.Errorf("%+v", e)
	}
	if tools["fail"].ReadOnly || tools["fail"].MaxChars != 0 {
		t.Errorf("%+v", tools["fail"])
	}
	var mu sync.Mutex
	var seen []string
	b, err := s.Call(t.Context(), "echo", json.RawMessage(`{"text":"第一页"}`), 1<<20, func(_, _ int, msg string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, msg)
	})
	if err != nil || !strings.Contains(string(b), `"text":"第一页"`) {
		t.Errorf("%s, %v", b, err)
	}
	testtime.Until(t, "progress", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == 1 && seen[0] == "half" || len(seen) == 0
	})
	if got := call(t, s, "fail", `{}`); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "no such sheet") {
		t.Errorf("%s", got)
	}
	env := call(t, s, "env", `{}`)
	if strings.Contains(env, "sesame") || !strings.Contains(env, "ITS_OWN=yes") || !strings.Contains(env, "PATH=") {
		t.Errorf("the program's environment: %s", env)
	}
}

// An error of the protocol is an answer, with all that the server says.
func TestErrorsOfTheProtocolAreWhole(t *testing.T) {
	long := strings.Repeat(`a line\n  at main.go\n`, 500)
	s := program(t, "on", shell(answering(`echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32050,"message":"`+strings.ReplaceAll(long, `\`, `\\`)+`","data":{"url":"https://example.com/login"}}}'`)))
	ready(t, s)
	got := call(t, s, "t", `{}`)
	if !strings.Contains(got, long) || !strings.Contains(got, `{\"url\":\"https://example.com/login\"}`) || !strings.Contains(got, `"isError":true`) {
		t.Errorf("%.300s", got)
	}
}

func TestCallFails(t *testing.T) {
	s := program(t, "on", nil)
	ready(t, s)
	var refusal *Refusal
	for _, row := range []struct{ name, args, want string }{
		{"nothing", `{}`, "nothing"},
		{"echo", `{"text":7}`, "text"},
		{"ask", `{}`, "not passed on"},
	} {
		b, err := s.Call(t.Context(), row.name, json.RawMessage(row.args), 1<<20, nil)
		if err == nil && strings.Contains(string(b), `"isError":true`) && strings.Contains(string(b), row.want) {
			continue // a server may say so in its answer
		}
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %s, %v", row.name, b, err)
		}
	}
	if b, err := s.Call(t.Context(), "echo", json.RawMessage(`{"text":"`+strings.Repeat("x", 2000)+`"}`), 1000, nil); err != nil || len(b) != 1000 || !strings.HasPrefix(string(b), `{"content":[{"type":"text","text":"`) {
		t.Errorf("%.60s of %d bytes, %v", b, len(b), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "wait", json.RawMessage(`{}`), 1000, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if got := call(t, s, "echo", `{"text":"still there"}`); !strings.Contains(got, "still there") {
		t.Errorf("%s", got)
	}
}

// A program that dies is started again by the next call.
func TestProgramDies(t *testing.T) {
	var changes atomic.Int64
	s := program(t, "on", func(c *Config) { c.Changed = func() { changes.Add(1) } })
	ready(t, s)
	var down *DownError
	if _, err := s.Call(t.Context(), "die", json.RawMessage(`{}`), 1000, nil); !errors.As(err, &down) {
		t.Fatalf("%v", err)
	}
	testtime.Until(t, "its tools stay listed", func() bool { return len(s.Status().Tools) > 0 })
	testtime.Until(t, "an answer again", func() bool {
		b, err := s.Call(t.Context(), "echo", json.RawMessage(`{"text":"back"}`), 1000, nil)
		return err == nil && strings.Contains(string(b), "back")
	})
	testtime.Until(t, "three changes: up, down, up", func() bool { return changes.Load() >= 3 })
}

func TestServerThatCannotBeUsed(t *testing.T) {
	for _, row := range []struct {
		name, want string
		change     func(*Config)
	}{
		{"no program", `the program "/nothing/here" was not found`, func(c *Config) { c.Command = "/nothing/here" }},
		{"it ends at once", "", func(c *Config) { c.Env[asServer] = "dead" }},
		{"it says nothing", "it did not answer within 200ms", func(c *Config) { c.Env[asServer], c.Start = "mute", 200*time.Millisecond }},
		{"no address", "is not the address of an HTTP server", func(c *Config) { c.Command, c.URL = "", "ftp://x" }},
		{"nobody listens", "", func(c *Config) { c.Command, c.URL = "", "http://127.0.0.1:1/mcp" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := program(t, "on", row.change)
			s.Wait(t.Context())
			st := s.Status()
			if st.State != Down || st.Why.IsZero() || !strings.Contains(st.Why.String(), row.want) {
				t.Errorf("%+v", st)
			}
			var down *DownError
			if _, err := s.Call(t.Context(), "echo", json.RawMessage(`{}`), 1000, nil); !errors.As(err, &down) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestHTTP(t *testing.T) {
	m := exampleServer()
	var authorised, strange atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			strange.Add(1)
		}
	}))
	defer other.Close()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		authorised.Add(1)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	auth := map[string]string{"Authorization": "Bearer sesame"}
	s := Open(Config{Name: "web", URL: server.URL + "/mcp", Headers: auth})
	ready(t, s)
	if got := call(t, s, "echo", `{"text":"over HTTP"}`); !strings.Contains(got, "over HTTP") {
		t.Errorf("%s", got)
	}
	// A tool that appears is seen without asking.
	mcp.AddTool(m, &mcp.Tool{Name: "late"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text("late"), nil, nil
	})
	testtime.Until(t, "the new tool", func() bool {
		for _, tl := range s.Status().Tools {
			if tl.Name == "late" {
				return true
			}
		}
		return false
	})
	s.Close()
	if authorised.Load() == 0 {
		t.Error("no request had the header")
	}
	away := Open(Config{Name: "away", URL: server.URL + "/away", Headers: auth})
	away.Wait(t.Context())
	if st := away.Status(); st.State != Down || strange.Load() != 0 {
		t.Errorf("a redirect took the header along: %d times; %+v", strange.Load(), st)
	}
	away.Close()
	wrong := Open(Config{Name: "wrong", URL: server.URL + "/mcp"})
	wrong.Wait(t.Context())
	if st := wrong.Status(); st.State != Down || strings.Contains(st.Why.String(), "sesame") {
		t.Errorf("%+v", st)
	}
	wrong.Close()
}

func TestListIsBounded(t *testing.T) {
	m := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range maxTools + 40 {
		mcp.AddTool(m, &mcp.Tool{Name: "t" + strings.Repeat("i", i%7) + string(rune('a'+i%26)) + time.Duration(i).String()}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text(""), nil, nil
		})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	defer server.Close()
	s := Open(Config{Name: "many", URL: server.URL})
	ready(t, s)
	st := s.Status()
	if len(st.Tools) != maxTools || len(st.Notes) != 1 {
		t.Errorf("%d tools, %q", len(st.Tools), st.Notes)
	}
	s.Close()
}
