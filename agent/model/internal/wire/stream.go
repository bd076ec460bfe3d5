package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// maxWhole bounds an answer that is not a stream, in bytes.
	maxWhole = 16 << 20
	// maxLine bounds one line of an answer in lines, in bytes.
	maxLine = 32 << 20
)

var endlessAnswer = tool.Textf("a line or an answer without end")

// A Reply reads what the server of one protocol says in one answer. It belongs
// to that answer's Stream and is used by one goroutine at a time.
type Reply interface {
	// Take reads one event, or, with whole, an answer that is not a stream. It may
	// not keep data. Its error is the reader's, unless the reply was complete before:
	// what follows then does not unmake it.
	Take(data []byte, whole bool) (Piece, error)
	// Finish returns what only a complete reply has, the last delta with Finish set;
	// nothing where the reply is not complete.
	Finish() []agent.Delta
}

// A Piece is what one event said. The zero value said nothing.
type Piece struct {
	// Delta is delivered at once, where it holds text or thought.
	Delta agent.Delta
	// Raw is delivered at once, as it is: the event, of an answer that is passed on. nil:
	// there is nothing to pass on.
	Raw json.RawMessage
	// Held is how much the reply holds until it is complete, in bytes, with HeldCall for each
	// of its calls: all so far.
	Held int
	// Fed: it was a part of the reply, not a sign of life.
	Fed bool
	// Complete: all of the reply is there. Over: nothing follows.
	Complete, Over bool
}

// A Question is how one answer is asked for and read.
type Question struct {
	Peer Peer
	// First and Stall are the arguments of NewWatch.
	First, Stall time.Duration
	// Send sends the request. Its error is a *Refusal or the connection's.
	Send  func(context.Context) (*http.Response, error)
	Reply Reply
	// Lines: a JSON text a line, whatever the server calls it; else server-sent
	// events, or one JSON text where the server says so.
	Lines bool
}

// events are what an answer is cut into.
type events interface {
	Next() bool
	Data() []byte // until the next Next
	Err() error
}

// An Item is what one event brought: a delta, or the event as it came.
type Item struct {
	agent.Delta
	Raw json.RawMessage
}

// A Stream is an answer whose first delta is known. It is not safe for
// concurrent use.
type Stream struct {
	peer     Peer
	ctx      context.Context
	watch    *Watch
	body     io.Closer
	events   events // nil: the answer was no stream and all of it is taken
	named    bool   // the server calls its answer what it should be
	reply    Reply
	queue    []Item
	taken    int // events
	steps    int // events, of which those without a word count more
	held     int
	complete bool
	ended    bool
}

// Ask sends the question and reads up to the first delta that can be delivered.
// A *Refusal is returned as it is; every other error is a *agent.ModelError. Close
// must be called on the stream.
func (q Question) Ask(ctx context.Context) (*Stream, error) {
	ctx, watch := q.Peer.NewWatch(ctx, q.First, q.Stall)
	res, err := q.Send(ctx)
	if err != nil {
		defer watch.Stop()
		if no, ok := errors.AsType[*Refusal](err); ok {
			return nil, no
		}
		return nil, q.Peer.Transport(ctx, Opening, err)
	}
	res.Body = watch.Body(res.Body)
	s := &Stream{peer: q.Peer, ctx: ctx, watch: watch, body: res.Body, reply: q.Reply}
	if err = s.begin(res, q.Lines); err == nil {
		err = s.fill()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin looks at what kind of answer comes.
func (s *Stream) begin(res *http.Response, lines bool) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case kind == "text/html":
		return s.peer.Garbage(tool.Textf("a web page"))
	case lines:
		s.named, s.events = true, newLines(res.Body)
	case kind == "application/json":
		data, err := io.ReadAll(io.LimitReader(res.Body, maxWhole))
		if err != nil {
			return s.peer.Transport(s.ctx, Reading, err)
		}
		if len(data) < maxWhole && halved(data) {
			return s.peer.Cut()
		}
		_, err = s.take(data, true)
		return err
	default: // some servers send a stream as text/plain or with no type
		s.named, s.events = kind == "text/event-stream", sse{ssestream.NewDecoder(res)}
	}
	return nil
}

// fill reads until something can be delivered.
func (s *Stream) fill() error {
	for len(s.queue) == 0 {
		if s.ended {
			return s.peer.Cut()
		}
		if s.events == nil || !s.events.Next() {
			if err := s.end(); err != nil {
				return err
			}
			continue
		}
		complete := s.complete
		over, err := s.take(bytes.TrimSpace(s.events.Data()), false)
		if err != nil && !complete {
			return err
		}
		if err != nil || over {
			s.finish()
		}
	}
	return nil
}

func (s *Stream) take(data []byte, whole bool) (over bool, err error) {
	if len(data) == 0 {
		return false, nil
	}
	if heavy(data, MaxValues) {
		return false, s.peer.Garbage(tool.Textf("one event with more than %d values", MaxValues))
	}
	p, err := s.reply.Take(data, whole)
	if err != nil {
		return false, err
	}
	s.taken++
	if s.steps++; p.Delta.Text == "" && p.Delta.Reasoning == "" && p.Held == s.held && !(p.Fed && p.Raw != nil) {
		s.steps += idleSteps - 1
	}
	if s.held = p.Held; s.held > maxHeld || s.steps > maxSteps {
		return false, s.peer.Garbage(endlessAnswer)
	}
	if p.Fed {
		s.watch.Fed()
	}
	if p.Delta.Text != "" || p.Delta.Reasoning != "" || p.Raw != nil {
		s.queue = append(s.queue, Item{p.Delta, p.Raw})
	}
	if s.complete = s.complete || p.Complete; s.complete {
		s.watch.Finished()
	}
	return p.Over, nil
}

func (s *Stream) finish() {
	s.ended = true
	for _, d := range s.reply.Finish() {
		s.queue = append(s.queue, Item{Delta: d})
	}
}

// end is the end of the connection: fine after a complete reply, a failure before it.
func (s *Stream) end() error {
	if s.complete {
		s.finish()
		return nil
	}
	s.ended = true
	if s.events == nil {
		return s.peer.Garbage(tool.Textf("a JSON text without an answer"))
	}
	switch err := s.events.Err(); {
	case errors.Is(err, bufio.ErrTooLong), errors.Is(err, ErrEndless):
		return s.peer.Garbage(endlessAnswer)
	case err != nil:
		return s.peer.Transport(s.ctx, Reading, err)
	case s.taken == 0 && !s.named:
		return s.peer.Garbage(tool.Textf("no events"))
	}
	return s.peer.Cut()
}

// Next returns what comes next; the last Item has Finish set. It may not be called
// after that or an error.
func (s *Stream) Next() (Item, error) {
	if err := s.fill(); err != nil {
		return Item{}, err
	}
	if err := context.Cause(s.ctx); err != nil && !s.complete {
		return Item{}, s.peer.Transport(s.ctx, Reading, err)
	}
	d := s.queue[0]
	s.queue = s.queue[1:]
	return d, nil
}

// Close ends the request.
func (s *Stream) Close() {
	s.watch.Stop()
	_ = s.body.Close()
}

// Deliver opens a stream, again where the policy says so, and yields its deltas up
// to the one with Finish set, or an error.
func Deliver(ctx context.Context, p Policy, open func() (*Stream, error), yield func(agent.Delta, error) bool) {
	DeliverItems(ctx, p, open, func(i Item, err error) bool { return yield(i.Delta, err) })
}

// DeliverItems is Deliver for answers with events that are passed on.
func DeliverItems(ctx context.Context, p Policy, open func() (*Stream, error), yield func(Item, error) bool) {
	s, err := Retry(ctx, p, open)
	if err != nil {
		yield(Item{}, err)
		return
	}
	defer s.Close()
	for {
		i, err := s.Next()
		if err != nil {
			yield(Item{}, err)
			return
		}
		if !yield(i, nil) || i.Finish != "" {
			return
		}
	}
}

// halved reports whether a JSON text was cut off. An empty one was not: it is
// what some servers answer.
func halved(data []byte) bool {
	var v json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(&v), io.ErrUnexpectedEOF)
}

type sse struct{ ssestream.Decoder }

func (e sse) Data() []byte { return e.Event().Data }

type lines struct{ *bufio.Scanner }

func newLines(body io.Reader) lines {
	l := lines{bufio.NewScanner(body)}
	l.Buffer(nil, maxLine)
	l.Split(splitLines)
	return l
}

func (l lines) Next() bool   { return l.Scan() }
func (l lines) Data() []byte { return l.Bytes() }

// splitLines is bufio.ScanLines without an unended last line: it was cut.
// A JSON object may be whole without its line end, so the caller gets it.
func splitLines(data []byte, eof bool) (int, []byte, error) {
	if n, line, err := bufio.ScanLines(data, false); n > 0 || err != nil || !eof {
		return n, line, err
	}
	if line := bytes.TrimSpace(data); json.Valid(line) {
		return len(data), line, nil
	}
	return len(data), nil, nil
}
