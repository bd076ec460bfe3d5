package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/sdk/tool"
)

// Config configures one server. Set either Command or URL.
type Config struct {
	Name string
	// Command is a program that speaks MCP on its standard input and output. Its
	// environment is Env and the few variables of ours that programs need.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string // empty: ours
	// URL is an endpoint of the streamable HTTP transport. Headers go with every
	// request to its own host, and to no other.
	URL     string
	Headers map[string]string

	// Variables are those that the settings above refer to, with their values.
	Variables map[string]string
	// Unset are variables that are missing. If there are any, no attempt is made.
	Unset []string
	// Start bounds the time to connect and list the tools. Zero or negative means
	// 60 seconds, because the first start may download the server.
	Start time.Duration
	// Version is our version in the handshake.
	Version string
	Logger  hclog.Logger // nil: nothing
	// Changed is called after a change of the state or the tools, from any
	// goroutine. It must not block. If nil, changes are not
	// reported.
	Changed func()

	pause backoff.BackOff // between connections; nil: the usual one
}

// State is the state of a server's connection.
type State string

// A server is Starting until the first attempt to connect ends, Ready while its
// tools can be called, and Down if it cannot be reached.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Down     State = "down"
)

// Status is the state of a server at one time. While the server is down, Tools are
// those of the last list.
type Status struct {
	State State
	Why   tool.Text // why it is Down; zero in every other state
	Fix   tool.Text // what to do then; zero: nothing in particular
	Tools []Tool
	Notes []tool.Text // faults of its tool list
	// Unpassed is what the server offers besides tools: "resources", "prompts" or both.
	// weir passes only tools on.
	Unpassed []string
	// Instructions are what the server says of how its tools are used; empty: nothing.
	Instructions string
}

// A Tool is a tool in the server's own description.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage
	OutputSchema             json.RawMessage `json:",omitempty"` // nil: none
	// The server's own claims. A tool that says nothing of what it reaches counts as OpenWorld,
	// as the protocol has it; SaysOpen reports whether it says so itself.
	ReadOnly, Idempotent, OpenWorld bool
	SaysOpen                        bool `json:",omitempty"`
	// What else it says, as it wrote it; nil: nothing, or too much.
	Annotations, Meta, Execution, Icons json.RawMessage `json:",omitempty"`
	// MaxChars is the limit the tool declares for its results, in characters; 0: none.
	MaxChars int
}

// A Server is a maintained connection to a server. It is safe for concurrent use.
type Server struct {
	cfg    Config
	log    hclog.Logger
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // closed when maintain has returned
	retry  chan struct{} // requests an attempt to connect now

	progress reports
	unasked  *unasked
	asked    atomic.Int64 // requests of the server that were refused
	web      *http.Transport
	streak   streak
	mask     *strings.Replacer
	process  *process // of the last connection, used only by maintain; nil: none

	mu      sync.Mutex
	status  Status
	session *mcp.ClientSession // nil: none
	life    context.Context    // of the session; its end ends running calls
	cut     func()             // ends life
	running *sync.WaitGroup    // the calls of the session
	program *process           // of the session; nil: it has none
	ending  tool.Text          // why we end the session; zero: we do not
	why     tool.Text          // of the last end
	tries   int                // attempts that have ended, successful or not
	tried   chan struct{}      // closed and replaced after each attempt
}

// Open returns a Server and connects in the background.
func Open(cfg Config) *Server {
	if cfg.Start <= 0 {
		cfg.Start = 60 * time.Second
	}
	if cfg.pause == nil {
		pause := backoff.NewExponentialBackOff()
		pause.InitialInterval, pause.MaxInterval = time.Second, steady
		cfg.pause = pause
	}
	log := cfg.Logger
	log = cmp.Or(log, hclog.NewNullLogger())
	s := &Server{
		cfg: cfg, log: log, done: make(chan struct{}), retry: make(chan struct{}, 1),
		status: Status{State: Starting}, tried: make(chan struct{}), mask: masks(cfg),
	}
	s.unasked = newUnasked(cfg.Name, log, &s.progress)
	if base, ok := http.DefaultTransport.(*http.Transport); ok {
		s.web = base.Clone()
	} else {
		s.web = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.maintain()
	return s
}

// Close ends the connection and the program, and waits for both. It kills a
// program that does not end.
func (s *Server) Close() {
	s.cancel()
	<-s.done
	s.web.CloseIdleConnections()
}

// Status returns the current state of the server. The slices are copies.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Tools, st.Notes, st.Unpassed = slices.Clone(st.Tools), slices.Clone(st.Notes), slices.Clone(st.Unpassed)
	return st
}

// Wait returns when the server is no longer Starting, or ctx has ended.
func (s *Server) Wait(ctx context.Context) {
	if _, tries, tried := s.now(); tries == 0 {
		_ = s.await(ctx, tried)
	}
}
