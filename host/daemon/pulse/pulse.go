// Package pulse tells clients what has changed, in one small answer or one stream.
package pulse

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/plugin"
)

const (
	// MaxStreams bounds the streams of one principal.
	MaxStreams = 16
	// maxNames bounds each list of a pulse.
	maxNames = 256
	// minGap is the shortest time between two events of a stream.
	minGap = 250 * time.Millisecond
	// stream is the content type of events.
	stream = "text/event-stream"
)

// Config has the parts whose changes a Pulse reports.
type Config struct {
	Host      *host.Host
	Approvals *approvals.Queue
	Admission *turns.Admission
	Setup     *setup.Current
	Bearers   *access.Bearers
	// Heartbeat returns the longest silence of a stream.
	Heartbeat func() time.Duration
	// Run is different in each run of the daemon.
	Run string
}

// A Pulse has the route. Create it with New. It is safe for concurrent use.
type Pulse struct {
	Config

	mu            sync.Mutex
	streams       map[string]int // by principal
	tools, config revision
}

// New returns a Pulse.
func New(c Config) *Pulse { return &Pulse{Config: c, streams: map[string]int{}} }

// Routes returns the route.
func (p *Pulse) Routes() []openapi.Route {
	return []openapi.Route{{
		Method: "GET", Path: "/api/pulse",
		Auth: openapi.Token, Handle: p.serve,
		About:   "What changes: calls that wait for you, running answers, tools, configuration, plugins that wait. With Accept: text/event-stream, a stream with an event at each change",
		Headers: map[string]string{"If-None-Match": "the ETag of the answer before: 304 if nothing has changed"},
		Gives:   api.Pulse{},
		Kind:    stream,
		Fails:   []int{429},
	}}
}

func (p *Pulse) serve(w http.ResponseWriter, r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Accept"), stream) {
		return p.follow(w, r)
	}
	now, err := p.now(r.Context(), access.Principal(r), nil)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	tag := fmt.Sprintf(`"%x"`, sum[:12])
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-store")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return httpjson.Answer(w, now)
}

// follow sends a pulse at once and at each change, until the client disconnects, its token
// ends or the daemon stops.
func (p *Pulse) follow(w http.ResponseWriter, r *http.Request) error {
	who := access.Principal(r)
	if !p.enter(who) {
		return api.Problemf(http.StatusTooManyRequests, "too_many_streams", "close one, or ask without Accept: text/event-stream now and then", "%d streams of yours are open already", MaxStreams)
	}
	defer p.leave(who)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer p.Bearers.Add(r, cancel)()
	s := sse.New(w, cancel)
	defer s.Close()
	beat := time.NewTicker(p.Heartbeat())
	defer beat.Stop()
	var before []byte
	waiting := []string{}
	for {
		change := p.changes() // before the state, so that no change is missed
		now, err := p.now(ctx, who, waiting)
		if waiting = now.Approvals; err != nil { // the database is away
			change.again = time.After(time.Second)
		}
		switch raw, err := json.Marshal(now); {
		case err != nil:
			return nil
		case string(raw) != string(before):
			before = raw
			s.Event(api.EventPulse, now)
		}
		if now.Draining {
			return nil
		}
		if !change.wait(ctx, beat.C, s.Ping) || !pause(ctx) {
			return nil
		}
	}
}

// pause waits a moment, in which several changes become one event. It reports whether the
// client is still there.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(minGap)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Pulse) enter(who string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[who] >= MaxStreams {
		return false
	}
	p.streams[who]++
	return true
}

func (p *Pulse) leave(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[who]--; p.streams[who] == 0 {
		delete(p.streams, who)
	}
}

// changes are the channels that the next change of each kind closes, and one that says when
// to look again.
type changes struct {
	host, approvals, turns, setup <-chan struct{}
	again                         <-chan time.Time // nil: never
}

func (p *Pulse) changes() changes {
	return changes{p.Host.Changed(), p.Approvals.Changed(), p.Admission.Changed(), p.Setup.Changed(), nil}
}

// wait waits for a change, or for a beat, at which it calls ping. It returns false at the
// end of ctx.
func (c changes) wait(ctx context.Context, beat <-chan time.Time, ping func()) bool {
	select {
	case <-c.host:
	case <-c.approvals:
	case <-c.turns:
	case <-c.setup:
	case <-c.again:
	case <-beat:
		ping()
	case <-ctx.Done():
		return false
	}
	return true
}

// waiting returns the calls that wait for a principal, those before if they cannot be read.
func (p *Pulse) waiting(ctx context.Context, who string, before []string) ([]string, error) {
	list, err := p.Approvals.List(ctx, who)
	if err != nil {
		return before, err
	}
	ids := []string{}
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// now returns the pulse of a principal; before is of waiting.
func (p *Pulse) now(ctx context.Context, who string, before []string) (api.Pulse, error) {
	c := p.changes()
	p.mu.Lock()
	tools, config := p.tools.of(c.host), p.config.of(c.setup)
	p.mu.Unlock()
	out := api.Pulse{
		Answering: first(p.Admission.Answering(who)), Draining: p.Admission.Closed(),
		Tools: fmt.Sprintf("%s-%d", p.Run, tools), Configuration: fmt.Sprintf("%s-%d", p.Run, config),
	}
	var err error
	out.Approvals, err = p.waiting(ctx, who, before)
	if who == p.Setup.Operator() {
		out.Plugins = pluginsOf(p.Host.Plugins())
	}
	return out, err
}

func pluginsOf(list []plugin.Info) *api.PluginPulse {
	in := func(s plugin.State) []string {
		names := []string{}
		for _, i := range list {
			if i.State == s {
				names = append(names, i.Name)
			}
		}
		slices.Sort(names)
		return first(names)
	}
	return &api.PluginPulse{Waiting: in(plugin.Pending), Invalid: in(plugin.Invalid), Quarantined: in(plugin.Quarantined)}
}

func first(names []string) []string { return names[:min(len(names), maxNames)] }

// A revision counts the channels that it has seen, each of which ended with a change.
type revision struct {
	seen  <-chan struct{}
	count int
}

func (r *revision) of(c <-chan struct{}) int {
	if c != r.seen {
		r.seen, r.count = c, r.count+1
	}
	return r.count
}
