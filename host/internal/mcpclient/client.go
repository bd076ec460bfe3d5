package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Config names one server. Either Command or URL is set.
type Config struct {
	Name string
	// Command is a program that speaks MCP on its standard input and output. It
	// gets Env and, of our environment, only what programs cannot do without.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string // empty: ours
	// URL is an endpoint of the streamable HTTP transport. Headers go with every
	// request to its own host, and to no other.
	URL     string
	Headers map[string]string

	// Start bounds a connection, the list of tools included; 0 or less: 60
	// seconds, for the first start of a packaged server may download it.
	Start time.Duration
	// Version is what we say of ourselves.
	Version string
	Logger  hclog.Logger // nil: nothing
	// Changed is called when the state or the tools have changed, from any
	// goroutine; it must not block. nil: nobody is told.
	Changed func()

	pause backoff.BackOff // between connections; nil: the usual one
}

// State is what a server can be used for at the moment.
type State string

// A server is Starting until its first connection has come to an end, Ready
// while its tools can be called, and Down when it cannot be reached.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Down     State = "down"
)

// Status is a server at one moment. Tools stay those of the last list while
// the server is down.
type Status struct {
	State State
	Why   string // of Down
	Tools []Tool
	Notes []string // what of its list could not be used
}

// A Tool is one of a server's tools, as it describes it.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage
	// The server's own claims.
	ReadOnly, Idempotent, OpenWorld bool
	// MaxChars is the limit the tool declares for its results, in characters; 0: none.
	MaxChars int
}

// A Server is a connection that is kept up. It is safe for concurrent use.
type Server struct {
	cfg    Config
	log    hclog.Logger
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // closed when the keeper has ended
	kick   chan struct{} // asks the keeper to try again now

	progress reports
	web      *http.Transport
	cmd      *exec.Cmd // of the last connection, the keeper's; nil: none

	mu      sync.Mutex
	status  Status
	session *mcp.ClientSession // nil: none
	tries   int                // that have ended, with a connection or without
	turned  chan struct{}      // closed and replaced when one has ended
}

// Open begins to connect, in the background.
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
	if log == nil {
		log = hclog.NewNullLogger()
	}
	s := &Server{
		cfg: cfg, log: log, done: make(chan struct{}), kick: make(chan struct{}, 1),
		status: Status{State: Starting}, turned: make(chan struct{}),
	}
	if base, ok := http.DefaultTransport.(*http.Transport); ok {
		s.web = base.Clone()
	} else {
		s.web = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.keep()
	return s
}

// Close ends the connection, and the program if there is one. It waits for
// both; a program that does not end is killed.
func (s *Server) Close() {
	s.cancel()
	<-s.done
	s.web.CloseIdleConnections()
}

// Status is how the server stands. The slices are the caller's.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Tools, st.Notes = slices.Clone(st.Tools), slices.Clone(st.Notes)
	return st
}

// Wait returns when the server is no longer Starting, or ctx has ended.
func (s *Server) Wait(ctx context.Context) {
	if _, tries, turned := s.now(); tries == 0 {
		_ = s.await(ctx, turned)
	}
}
