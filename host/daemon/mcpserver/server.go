package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// Config is everything a Server is made from. The caller keeps the Host and
// closes it after the Server.
type Config struct {
	Host *host.Host
	// Scripts are the scripts that are offered as tools; nil: none.
	Scripts *offer.Tools
	Version string
	Logger  hclog.Logger // nil: silent
	// Locale is the language of descriptions, notices and errors; every other
	// than Zh is English.
	Locale tool.Locale
	// Allow lists the tools that are offered, nil: all; Deny wins over it.
	Allow, Deny []string
	// Listing says which of them the protocol's list has, and ListingOf the same for one
	// principal, or empty; nil: Listing holds for all. Empty: ListAuto.
	Listing   Listing
	ListingOf func(principal string) Listing
	// ClientOf returns how a client program gets lists and results; nil: all do as the
	// zero Client.
	ClientOf func(Sender) Client
	// StructuredBytes bounds the structured answers that are passed on whole.
	// 0: DefaultStructuredBytes.
	StructuredBytes int
	// Pinned reports whether a tool is in the list of clients that search; nil: none is.
	Pinned func(name string) bool
	// ToolsChars is how many characters of descriptions ListAuto lists. 0: all that
	// agent.DefaultToolsChars allows; negative: no bound.
	ToolsChars int
	// MaxSessions bounds the sessions over HTTP, of all users together; the one
	// that was idle longest makes room for a new one, unless its last request was
	// within a minute. 0: 256; negative: no bound.
	MaxSessions int
	// MaxUserSessions bounds those of each user in the same way, so one user cannot use
	// up the sessions of all. 0: a quarter of MaxSessions, at least 1; negative: no bound.
	MaxUserSessions int
	// Idle is how long a session over HTTP lives without a request or an open
	// stream; 0: 30 minutes; negative: for ever.
	Idle time.Duration
	// Sees reports whether a principal may call a tool that is offered; nil: all
	// may. Refresh tells when it would answer otherwise than before.
	Sees func(principal, tool string) bool
	// LocaleOf is a principal's own Locale; nil: they have none.
	LocaleOf func(principal string) tool.Locale
	// TaskAfter is how long a client that knows tasks waits for a script before it gets one.
	// 0: DefaultTaskAfter; negative: not at all.
	TaskAfter time.Duration
	// Begin is called before every call; an error refuses the call, and the model
	// reads it (a *tool.Error unchanged). end must be called after the call. If nil,
	// every call may run.
	Begin func(principal string) (end func(), err error)
	// Trace is called before every call, with the trace of the request. It returns
	// the context of the call, and a function for its end, which may be nil. If nil,
	// calls are not traced.
	Trace func(ctx context.Context, c tool.Call, from Trace) (context.Context, func(tool.Result, error))
	// TraceInner is Trace for the calls of a script, whose context is in the script's
	// trace. If nil, they are not traced.
	TraceInner script.StartCall
	// Called receives every call that has a result, from the goroutine that made
	// it. If nil, calls are not reported.
	Called func(Call)
	// Structured receives the bytes of each structured answer that a client gets, whole or
	// short, or that is refused because it is too long. It may be nil.
	Structured func(outcome string, bytes int)
	// Searched receives how many tools a search has found. It may be nil.
	Searched func(found int)
	// Card puts a request into the words that a person decides by; nil: the
	// request's own.
	Card  func(approval.Request) string
	Now   func() time.Time // nil: time.Now
	NewID func() string    // returns the id of a new session over HTTP; nil: a random text
}

// A Trace is the caller's, in the words of W3C's traceparent and tracestate; empty:
// it has none.
type Trace struct{ Parent, State string }

// A Call is one call with its result.
type Call struct {
	Principal, Conversation string
	Result                  tool.Result
	Began                   time.Time
	Took                    time.Duration // a person's time included
	// FoundRank is the place at which the first search had found the tool, if this is
	// the first call since; 0: none had.
	FoundRank int
	// Inner says that a script made the call.
	Inner bool
}

// Conversation and the principal's name make the id of the conversation that
// keeps what is called by the protocol, which has no conversations of its own.
const Conversation = "mcp-"

// The defaults of Config.
const (
	DefaultMaxSessions = 256
	DefaultIdle        = 30 * time.Minute
)

// MaxMessage bounds one message of a client, in bytes.
const MaxMessage = 8 << 20

// MaxBatch bounds the messages that a client sends as one: each needs up to 100 KiB
// while the SDK answers it.
const MaxBatch = 100

// maxValues bounds the values of a message outside of a call's arguments, which have a
// bound of their own. The SDK reads some of them into Go values, such as those of _meta,
// which need up to some hundred bytes each.
const maxValues = 250_000

// ErrClosed is what a closed Server answers.
var ErrClosed = errors.New("the server is closed")

// A Server serves every user of one host. It is safe for concurrent use.
type Server struct {
	cfg Config
	log hclog.Logger
	now func() time.Time

	began       time.Time
	lastAnswers time.Duration // lastAnswers, in tests another one
	saysEvery   time.Duration // saysEvery, in tests another one

	run    string        // what its calls' ids begin with, which no other Server's do
	called atomic.Uint64 // calls

	ctx  context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // what must have ended when Close returns

	mu       sync.Mutex
	users    map[string]*user
	sessions map[string]*session // those over HTTP, by id
	streams  map[*mcp.ServerSession]*session
	making   int // sessions that are being made
	closed   bool
}

// New makes a Server. It does nothing until somebody comes.
func New(cfg Config) *Server {
	cfg.MaxSessions = cmp.Or(cfg.MaxSessions, DefaultMaxSessions)
	if cfg.MaxUserSessions == 0 && cfg.MaxSessions > 0 {
		cfg.MaxUserSessions = max(cfg.MaxSessions/4, 1)
	}
	cfg.Idle = cmp.Or(cfg.Idle, DefaultIdle)
	cfg.TaskAfter = cmp.Or(cfg.TaskAfter, DefaultTaskAfter)
	cfg.StructuredBytes = cmp.Or(cfg.StructuredBytes, DefaultStructuredBytes)
	cfg.ToolsChars = cmp.Or(cfg.ToolsChars, agent.DefaultToolsChars)
	if cfg.Locale != tool.Zh {
		cfg.Locale = tool.En
	}
	s := &Server{cfg: cfg, log: cfg.Logger, now: cfg.Now, lastAnswers: lastAnswers, saysEvery: saysEvery, run: rand.Text()[:12] + "-",
		users: map[string]*user{}, sessions: map[string]*session{}, streams: map[*mcp.ServerSession]*session{}}
	s.log = cmp.Or(s.log, hclog.NewNullLogger())
	if s.now == nil {
		s.now = time.Now
	}
	s.began = s.now()
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends every session and the calls in it, and waits for them. Closing
// twice is allowed.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var all []*session
	for _, x := range s.sessions {
		all = append(all, x)
	}
	for _, x := range s.streams {
		all = append(all, x)
	}
	s.mu.Unlock()
	s.end()
	for _, x := range all {
		x.close()
	}
	s.work.Wait()
}

// callID names a call, unlike every other one that there ever is. An id of random
// numbers for each would take longer than to count calls, and more room in the log.
func (s *Server) callID() string {
	id := append(make([]byte, 0, 40), s.run...)
	return string(strconv.AppendUint(id, s.called.Add(1), 10))
}

// goesLocked runs f until it returns, which it must do soon after s.ctx has ended;
// false: the Server is closed. s.mu is held.
func (s *Server) goesLocked(f func()) bool {
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// user returns the side of one principal, making it at first.
func (s *Server) user(principal string) (*user, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if u := s.users[principal]; u != nil {
		return u, nil
	}
	u := newUser(s, principal)
	if len(s.users) == 0 {
		s.goesLocked(s.follow)
		if s.cfg.Idle > 0 {
			s.goesLocked(s.sweep)
		}
	}
	s.users[principal] = u
	return u, nil
}

// firstLists is how long after the start lists of tools wait for other servers that have not
// said for the first time which they have: not every client asks again when it is notified.
const firstLists = 10 * time.Second

func (s *Server) settle(ctx context.Context) {
	left := s.began.Add(firstLists).Sub(s.now())
	if _, starting := s.cfg.Host.MissingServers(); left <= 0 || len(starting) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	if s.cfg.Host.WaitServers(ctx) == nil { // or the list has what there is
		s.Refresh()
	}
}

// Refresh tells every client whose tools are others than before.
func (s *Server) Refresh() {
	s.mu.Lock()
	var all []*user
	for _, u := range s.users {
		all = append(all, u)
	}
	s.mu.Unlock()
	for _, u := range all {
		u.list()
	}
}

// follow tells the clients when the tools have changed.
func (s *Server) follow() {
	for {
		changed := s.cfg.Host.Changed()
		s.Refresh()
		select {
		case <-changed:
		case <-s.ctx.Done():
			return
		}
	}
}
