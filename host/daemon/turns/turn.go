package turns

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/lease"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// A turn is one question on its way through the agent: what is asked, what is stored of it,
// and what is told of it.
type turn struct {
	s     *Service
	ask   Question
	scope archive.Scope
	began time.Time // when the question came
	quota usage.Quota
	model setup.Model
	prof  setup.Profile
	title string // of a new conversation

	run *lasting // what is stored before the end
	kept
	report
}

// kept is what is in the store, and what the end of the turn adds to it.
type kept struct {
	stored []store.Message // the question included
	// unsaved says that the disk was full when the question came. What of the
	// turn is in the store then is what stored says.
	unsaved bool
	calls   *Calls
}

// A report is what the client, the log, the trace, the metrics and the spans are told while
// the turn runs, and what its last event says.
type report struct {
	emit    func(name string, data any)
	spans   *telemetry.Turn   // nil: no spans
	decided sync.Map          // call id → *tool.Approval, of the calls that asked a person
	format  map[string]string // call id → format
	pace    pacer
	side    usage.SideUsage
	thought bool // the model has thought since the last call
	end     api.ChatEnd

	stream    *Stream
	trace     *Trace
	observers Observers
	inner     Observers // of the calls of scripts
	metrics   *Metrics
	log       *Log

	candidates candidates
}

// A candidate is a model that a turn may ask, with its name.
type candidate struct {
	setup.Model
	name string
}

// candidates are the models that a turn may ask.
type candidates struct {
	// own is the agent's part of the profile, which may leave the mode open.
	own agent.Config
	all []candidate // the turn's model first
}

// locale is the language of the turn's refusals.
func (t *turn) locale() tool.Locale { return t.s.Setup.Locale(t.scope.Principal, t.ask.Message) }

// metered returns a model, counted for the turn's principal.
func (t *turn) metered(m setup.Model) agent.Model {
	return t.s.metered(m, usage.Account{Principal: t.scope.Principal, Quota: t.quota, Locale: t.locale()})
}

// A step is what another daemon needs to go on from an agent.Checkpoint.
type step struct {
	agent.Checkpoint
	Sent    string               `json:"sent,omitempty"` // the text that the client has
	Calls   []store.Call         `json:"calls,omitempty"`
	Results []api.ToolCallResult `json:"results,omitempty"`
	timer   *time.Timer          // of a step that waits
}

// A lasting is what a turn keeps in the database before its end: where daemons share that,
// another one can go on with it, else the next one stores how far it came.
type lasting struct {
	*store.Run
	t     *turn
	keep  *lease.Keeper // nil: a file has one daemon
	ended bool          // its end is stored
	begun bool          // the agent has it, of a turn that goes on here
	// calls and results are how many of the turn's are in its steps.
	calls, results int
	before         []agent.Checkpoint // of other daemons
	sent           string             // the text that the client has from them

	failed atomic.Bool // a step could not be stored, and none is any more

	storing sync.Mutex // held while a step or a piece is stored
	waits   *step      // one that is stored with the results of its calls
	pieces  pieces     // what was streamed since the last step

	mu    sync.Mutex // guards what follows
	holds bool       // all events are held back, not only those from a result on
	back  []func()   // the events that no step has
}

// shared reports whether another daemon can go on with the turn.
func (l *lasting) shared() bool { return l.keep != nil }

// progressPause is how long a call's next report of progress must wait, but for
// the last one.
const progressPause = 100 * time.Millisecond

// A pacer lets one report of each call through at a time. It is safe for
// concurrent use.
type pacer struct {
	mu   sync.Mutex
	last map[string]time.Time // by call
}

// may reports whether a report of this call is due.
func (p *pacer) may(call string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.last[call]; ok && now.Sub(last) < progressPause {
		return false
	}
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[call] = now
	return true
}
