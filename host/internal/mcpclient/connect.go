package mcpclient

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/sdk/tool"
)

// steady is how long a connection must last before its end resets the pauses, and
// the longest pause. Without it, a connection that always breaks at once would be
// retried at the shortest pause for ever.
const steady = time.Minute

// relistPause is the shortest time between two lists after change notifications.
const relistPause = time.Second

// maintain connects, waits for the end of the connection, and connects again with
// growing pauses until Close.
func (s *Server) maintain() {
	defer close(s.done)
	if len(s.cfg.Unset) > 0 {
		s.down(s.unset())
		<-s.ctx.Done()
		return
	}
	for s.ctx.Err() == nil {
		session, relist, err := s.connect()
		if err == nil {
			began := time.Now()
			err = s.watch(session, relist)
			if time.Since(began) >= steady {
				s.cfg.pause.Reset()
			}
		}
		if s.process != nil {
			s.process.end()
			s.process = nil
		}
		if s.ctx.Err() != nil {
			return
		}
		s.down(err)
		select {
		case <-time.After(s.cfg.pause.NextBackOff()):
		case <-s.retry:
		case <-s.ctx.Done():
			return
		}
	}
}

// connect creates a session and lists its tools. relist receives a value when the
// server reports a change of its tools.
func (s *Server) connect() (session *mcp.ClientSession, relist chan struct{}, err error) {
	relist = make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "weir", Version: s.cfg.Version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			signal.One(relist)
		},
		ProgressNotificationHandler: s.progress.handle,
	})
	client.AddReceivingMiddleware(s.refuse)
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Start)
	defer cancel()
	ctx = withAnswer(ctx)
	transport, err := s.transport()
	if err != nil {
		return nil, nil, err
	}
	if session, err = client.Connect(ctx, transport, nil); err != nil {
		return nil, nil, s.explain(ctx, err)
	}
	tools, notes, err := list(ctx, session)
	if err != nil {
		_ = session.Close()
		return nil, nil, s.explain(ctx, err)
	}
	s.noteServer(session.InitializeResult())
	s.up(session, tools, notes)
	return session, relist, nil
}

// maxInstructions bounds those of a server, in bytes. The host shows fewer.
const maxInstructions = 64 << 10

// noteServer stores what a server says of itself, and says once for each connection what
// of it does not come through.
func (s *Server) noteServer(r *mcp.InitializeResult) {
	var out []string
	said := ""
	if r != nil {
		said = r.Instructions[:min(len(r.Instructions), maxInstructions)]
	}
	if r != nil && r.Capabilities != nil {
		if r.Capabilities.Resources != nil {
			out = append(out, "resources")
		}
		if r.Capabilities.Prompts != nil {
			out = append(out, "prompts")
		}
	}
	s.mu.Lock()
	s.status.Unpassed, s.status.Instructions = out, said
	s.mu.Unlock()
	if len(out) > 0 {
		s.log.Info("of another server only the tools are passed on", "server", s.cfg.Name, "not", strings.Join(out, ", "))
	}
}

// watch waits for the end of the session and returns the reason.
func (s *Server) watch(session *mcp.ClientSession, relist chan struct{}) error {
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	due := relist
	var rested <-chan time.Time
	for {
		select {
		case err := <-ended:
			_ = session.Close() // reaps the program
			return s.whyEnded(err)
		case <-s.ctx.Done():
			_ = session.Close()
			<-ended
			return s.ctx.Err()
		case <-rested:
			due = relist
		case <-due:
			due, rested = nil, time.After(relistPause)
			ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Start)
			tools, notes, err := list(ctx, session)
			cancel()
			if err != nil && s.process != nil && broken(err) {
				continue // the session ends, and says why
			}
			if err != nil {
				s.log.Warn("the server's tools cannot be listed again", "server", s.cfg.Name, "error", s.explain(ctx, err))
				continue
			}
			if old := s.Status(); !reflect.DeepEqual(old.Tools, tools) || !reflect.DeepEqual(old.Notes, notes) {
				s.up(session, tools, notes)
			}
		}
	}
}

func (s *Server) up(session *mcp.ClientSession, tools []Tool, notes []tool.Text) {
	s.mu.Lock()
	if s.session != session {
		s.life, s.cut = context.WithCancel(s.ctx)
		s.running, s.program = &sync.WaitGroup{}, s.process
	}
	s.session, s.status = session, Status{State: Ready, Tools: tools, Notes: notes, Unpassed: s.status.Unpassed, Instructions: s.status.Instructions}
	s.finishTry()
	s.mu.Unlock()
	s.log.Info("another server's tools can be used", "server", s.cfg.Name, "tools", len(tools))
	for _, n := range notes {
		s.log.Warn("another server's tool is left out", "server", s.cfg.Name, "why", n)
	}
	s.notify()
}

func (s *Server) down(err error) {
	s.mu.Lock()
	if s.session != nil {
		s.cut()
		s.session, s.ending = nil, tool.Text{} // a reason that came after whyEnded is not the next session's
	}
	s.why = msg.Of(err)
	s.status.State, s.status.Why, s.status.Fix = Down, s.why, tool.Text{}
	if p, ok := errors.AsType[*msg.Problem](err); ok {
		s.status.Fix = p.Hint
	}
	s.finishTry()
	s.mu.Unlock()
	s.log.Warn("another server's tools cannot be used", "server", s.cfg.Name, "why", err)
	s.notify()
}

// finishTry wakes the callers that wait for an attempt. The caller holds s.mu.
func (s *Server) finishTry() {
	s.tries++
	close(s.tried)
	s.tried = make(chan struct{})
}

func (s *Server) notify() {
	if s.cfg.Changed != nil {
		s.cfg.Changed()
	}
}
