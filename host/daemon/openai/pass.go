package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/internal/jsonscan"
)

// maxPassed bounds the body of a request that is passed through, in bytes: pictures are in it.
const maxPassed = 32 << 20

// readBody is passthrough.ReadBody with a faster check: a body may have megabytes.
func readBody(raw json.RawMessage) (passthrough.Body, error) {
	if jsonscan.Valid(raw) {
		return passthrough.SplitBody(raw)
	}
	return passthrough.ReadBody(raw)
}

// pass passes a request through to a configured model, without weir's own members.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, b passthrough.Body, a ownloop.Ask) error {
	a.Body, a.WeirTools = b.Without("weir_tools"), s.cfg.WeirTools(a.From.Token)
	if said := string(b.Get("weir_tools")); said == "true" || said == "false" {
		a.WeirTools = said == "true"
	}
	a.From, a.Label = setup.Sender{Token: a.From.Token, Agent: r.UserAgent()}, labelOf(r, b)
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	p := &passing{w: w, ctx: ctx, gone: gone, model: b.Get("model"), stream: b.Streams()}
	defer p.keepAlive(s.cfg.Heartbeat())()
	err := s.cfg.Backend.Pass(ctx, a, p.emit)
	return p.finish(a, err)
}

// labelOf returns what the client calls the conversation, as far as it says it.
func labelOf(r *http.Request, b passthrough.Body) string {
	var meta struct {
		Conversation string `json:"conversation_id"`
	}
	_ = json.Unmarshal(b.Get("metadata"), &meta) // anything may be there
	label := meta.Conversation
	for _, name := range []string{"X-Session-Id", "Session-Id", "X-Claude-Code-Session-Id", "X-Weir-Conversation"} {
		label = cmp.Or(r.Header.Get(name), label)
	}
	return api.Clip(label, 200)
}

// A passing writes the answer of a request that is passed through: the chunks as they come, with
// the name of the model that the client has used.
type passing struct {
	w   http.ResponseWriter
	ctx context.Context // of the request
	// gone ends ctx: the client has disconnected. The stream calls it while emit may wait for
	// the stream, so it takes no lock.
	gone   func()
	model  json.RawMessage
	stream bool

	mu    sync.Mutex // for the request and the timer of keepAlive
	s     *sse.Stream
	whole json.RawMessage // of a request that is not for a stream
	begun bool            // a chunk is with the client
	over  bool            // only finish writes
}

// quietBeats is how many heartbeats a stream stays closed while the model says nothing: until
// then a refusal is an answer with a status, which clients understand best.
const quietBeats = 4

// keepAlive writes a comment whenever the model is silent for so long. stop ends that and
// closes the stream.
func (p *passing) keepAlive(every time.Duration) (stop func()) {
	if !p.stream {
		return func() {}
	}
	beats := 0
	still := sse.Beat(every, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if beats++; !p.over && (p.s != nil || beats >= quietBeats) {
			p.open()
			p.s.Ping()
		}
	})
	return func() {
		still()
		if p.s != nil {
			p.s.Close()
		}
	}
}

func (p *passing) open() {
	if p.s == nil {
		p.s = sse.New(p.w, p.gone)
	}
}

// emit writes one chunk. It returns false if the client has disconnected.
func (p *passing) emit(c passthrough.Chunk) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	data := p.named(c.Data)
	if !p.stream {
		p.whole = data
		return true
	}
	p.open()
	p.begun = true
	p.s.Data(string(data))
	return p.ctx.Err() == nil
}

// named returns a chunk in one line and with the name that the client knows.
func (p *passing) named(data json.RawMessage) json.RawMessage {
	if b, err := passthrough.SplitBody(data); err == nil && b.Has("model") { // a model yields JSON
		data = b.With("model", p.model).Bytes()
	}
	if bytes.ContainsAny(data, "\r\n") {
		var line bytes.Buffer
		if json.Compact(&line, data) == nil {
			data = line.Bytes()
		}
	}
	return data
}

// finish ends the answer. It returns an error only if nothing is written yet. An answer that
// broke off breaks the connection, so that the client sees that it is not whole and asks
// again, also where the server's words broke off; what asking again does not help is said in
// the stream.
func (p *passing) finish(a ownloop.Ask, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	problem := passedProblem(err)
	switch {
	case err == nil && !p.stream:
		httpjson.WriteRaw(p.w, p.whole)
	case err == nil:
		p.open()
		p.s.End()
		p.s.Data("[DONE]")
	case p.s == nil:
		return problem
	case problem.Status == http.StatusBadRequest && !(p.begun && agent.IsModelCode(err, agent.ModelGarbage)):
		p.s.End()
		p.s.Data(ErrorOf(problem.In(a.Locale)))
	default:
		p.s.Close()
		_ = http.NewResponseController(p.w).Flush() // the client has disconnected if this fails
		panic(http.ErrAbortHandler)
	}
	return nil
}

// longestWait is the longest wait that a client is asked for. Some give up at longer ones.
const longestWait = time.Minute

// The waits that a client is asked for where the server names none: for a limit of the rate,
// and for a server that fails.
const (
	rateWait    = 5 * time.Second
	failureWait = 2 * time.Second
)

// isPermanent reports whether an error is a model's, and whether asking again does not help.
func isPermanent(err error) (permanent, ofModel bool) {
	e, ok := errors.AsType[*agent.ModelError](err)
	if !ok {
		return false, false
	}
	return e.Final || e.Code == agent.ModelAuth || e.Code == agent.ModelNotFound || e.Code == agent.ModelGarbage, true
}

// passedProblem returns the problem of a request that is passed through, with the status
// which has clients do what helps: 400 if asking again does not, 429 or 503 with a
// wait if it does. nil: err is nil.
func passedProblem(err error) *api.Problem {
	if err == nil {
		return nil
	}
	p := *api.AsProblem(err)
	permanent, ofModel := isPermanent(err)
	if !ofModel && p.Status != http.StatusTooManyRequests && p.Status < http.StatusInternalServerError {
		return &p // weir's own refusal
	}
	switch {
	case p.Status == http.StatusTooManyRequests && (permanent || p.RetryAfter > longestWait || p.Code == api.CodeQuota && p.RetryAfter <= 0):
		p.Status, p.Code, p.RetryAfter = http.StatusBadRequest, api.CodeQuota, 0
	case p.Status == http.StatusTooManyRequests:
		p.RetryAfter = cmp.Or(p.RetryAfter, rateWait)
	case permanent:
		p.Status, p.RetryAfter = http.StatusBadRequest, 0
	case p.Status == http.StatusInsufficientStorage || p.Status < http.StatusInternalServerError:
		p.RetryAfter = 0
	default:
		p.Status, p.RetryAfter = http.StatusServiceUnavailable, min(cmp.Or(p.RetryAfter, failureWait), longestWait)
	}
	return &p
}
