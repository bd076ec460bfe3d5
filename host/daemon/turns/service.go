// Package turns runs the turns of conversations.
//
// A Service answers one Question: it finds the conversation, runs the agent over the
// host's tools and stores what came of it. An Admission lets in one turn for each
// conversation, and a stop waits for all that it has let in.
//
// The agent sends each event to one place, Observers.Observe. Each Observer has one
// purpose: Stream sends events to the client, Log writes the log, Metrics counts, Trace
// records the turn for later, Spans feeds OpenTelemetry, and Calls fills the call log.
//
// # Files
//
//   - service: makes turns
//   - ask, turn: one turn
//   - question: what begins it
//   - admission: how many at the same time
//   - match, mark: which conversation a client of /v1 continues
//   - load: results that a question brings
//   - fits: what a question would bring
//   - caller: a client's own tools
//   - toolbox: tools of a profile
//   - asker: asks a person
//   - observe, observer, stream, log, trace, metrics, watched: report a turn
//   - stored, short: what is stored at its end, results that only the messages have
//   - lasting, takeover, giveup: what is stored meanwhile, and who goes on
//   - aside: requests beside a turn
package turns

import (
	"cmp"
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/lease"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/panics"
	"github.com/weirhost/weir/host/script/offer"
)

// Config is everything a Service needs. All fields are required, but
// Scripts, Leases and Behind.
type Config struct {
	Host      *host.Host
	Store     *store.Store
	Setup     *setup.Current
	Admission *Admission
	Meter     *usage.Meter
	// Leases are the turns that this daemon owns; nil: the store is a file.
	Leases *lease.Keeper
	// Metrics count turns, calls and requests to models. Known reports whether a tool
	// of that name exists.
	Metrics *telemetry.Metrics
	Known   func(tool string) bool
	// Approvals are the calls that wait for a person.
	Approvals *approvals.Queue
	// Scripts are the scripts that are offered as tools; nil: none.
	Scripts *offer.Tools
	// OwnIDs are the beginnings of ids of conversations that the daemon itself makes,
	// one for each principal.
	OwnIDs []string
	Logger hclog.Logger
	Now    func() time.Time
	// Behind is how far what is stored of a reply may be behind what was streamed of it; 0: a
	// second.
	Behind time.Duration
}

// A Service runs turns. Create it with New. It is safe for concurrent use.
type Service struct {
	Config
	tools agent.ToolCache
}

// New returns a Service.
func New(c Config) *Service {
	c.Behind = cmp.Or(c.Behind, behindBy)
	return &Service{Config: c}
}

// Begin counts a request of a principal's that is over when end is called, or
// refuses it by their quota. The question decides the language of the refusal.
func (s *Service) Begin(ctx context.Context, principal, question string) (end func(), err error) {
	request, err := s.Meter.Begin(ctx, s.Setup.Account(principal, s.Setup.Locale(principal, question)))
	if err != nil {
		return nil, err
	}
	return request.End, nil
}

// metered returns a model whose replies are counted for an account.
func (s *Service) metered(m setup.Model, a usage.Account) usage.Model {
	return usage.Model{Model: m.Model, Meter: s.Meter, Account: a, Price: m.Price, Estimator: m.Estimator}
}

// CheckConversation refuses ids that no log, header or address can carry, and to users
// those that are kept for what others do without a conversation.
func (s *Service) CheckConversation(principal, id string) error {
	if len(id) > maxConversationID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return api.Problemf(http.StatusBadRequest, "bad_conversation", "leave it out to begin a new conversation",
			"a conversation's id has at most %d bytes and no control characters", maxConversationID)
	}
	if principal == s.Setup.Operator() {
		return nil
	}
	for _, prefix := range s.OwnIDs {
		if strings.HasPrefix(id, prefix) && id != prefix+principal {
			return api.Problemf(http.StatusBadRequest, "bad_conversation", "leave it out to begin a new conversation", "ids that begin with %s are weir's own", prefix)
		}
	}
	return nil
}

// CheckThread rejects the id of a thread that is too long or not printable.
func CheckThread(id string) error {
	if len(id) > maxConversationID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return api.Problemf(http.StatusBadRequest, "bad_thread", "shorten it, or leave it out",
			"a thread's id has at most %d bytes and no control characters", maxConversationID)
	}
	return nil
}

// maxConversationID is the longest id that a client may choose, in bytes.
const maxConversationID = 200

// peerOf identifies a model and a conversation in spans.
func peerOf(m setup.Model, name, conversation string) telemetry.Peer {
	return telemetry.Peer{Name: name, Info: m.Info, Server: m.Server, Conversation: conversation}
}

// recovered makes a panic an error.
func (s *Service) recovered(end *api.ChatEnd, err *error) {
	if p := recover(); p != nil {
		s.Logger.Error("a turn panicked", "panic", panics.Says(p), "stack", string(debug.Stack()))
		*end, *err = api.ChatEnd{}, api.AsProblem(nil)
	}
}
