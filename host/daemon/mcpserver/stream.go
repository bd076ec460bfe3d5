package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/lines"
	"github.com/weirhost/weir/host/internal/signal"
)

// maxAtOnce bounds the calls of one stream that run at once.
const maxAtOnce = 1024

// lastAnswers is how long answers are waited for when a client has said all
// that it wanted.
const lastAnswers = 30 * time.Second

// ServeStream serves one client over a stream of lines, each a message, until in
// ends, ctx does or the Server is closed. Where in has ended, what the client
// asked for before is answered first. The error is that of reading or writing,
// ctx's own or ErrClosed. in may still be read when it returns.
func (s *Server) ServeStream(ctx context.Context, principal string, in io.Reader, out io.Writer) error {
	u, err := s.user(principal)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	st := &stream{
		out: newLineWriter(out, stop), slots: make(chan struct{}, maxAtOnce), hands: make(chan *job), over: ctx.Done(),
		none: make(chan struct{}, 1), passed: map[jsonrpc.ID]bool{}, lastAnswers: s.lastAnswers,
	}
	toSDK, passed := io.Pipe()
	defer passed.Close()
	st.sdk = passed
	sdk, err := u.sdk.Connect(ctx, &mcp.IOTransport{Reader: toSDK, Writer: answers{st}, MaxLineLength: MaxMessage}, nil)
	if err != nil {
		return err
	}
	st.session = s.newSession(u, sdk)
	st.session.line = st.out.line
	if !s.joined(st.session) {
		stop()
	}
	defer s.left(st.session)
	defer stop() // the SDK writes no more
	ended := make(chan error, 1)
	go func() {
		err := st.read(in)
		st.drain(ctx)
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		if s.ctx.Err() != nil {
			err = ErrClosed
		}
	}
	return st.out.first(err)
}

// Leaving is the method of the notification by which `weir mcp` learns that the server is about
// to end: it keeps new requests for the next one.
const Leaving = "notifications/weir/leaving"

// Leave notifies the other ends of all streams that the server is about to end.
func (s *Server) Leave() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.streams))
	s.mu.Unlock()
	for _, x := range all {
		go x.line([]byte(`{"jsonrpc":"2.0","method":"` + Leaving + `"}`)) // it waits for who does not read
	}
}

// joined adds the session of a stream; false: the Server is closed.
func (s *Server) joined(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[x.sdk] = x
	return !s.closed
}

func (s *Server) left(x *session) {
	s.mu.Lock()
	delete(s.streams, x.sdk)
	s.mu.Unlock()
	x.close()
}

// A stream is the reading side of one client.
type stream struct {
	*session
	out         *lineWriter
	sdk         io.Writer
	lastAnswers time.Duration
	slots       chan struct{} // one for each call without the SDK
	hands       chan *job     // to a goroutine that waits for a call
	idle        atomic.Int32  // of those
	over        <-chan struct{}

	counting   sync.Mutex
	unanswered int                 // calls without the SDK
	passed     map[jsonrpc.ID]bool // what the SDK is to answer
	none       chan struct{}       // holds one when there is nothing left to answer
}

// asked counts a call without the SDK, and answered its answer.
func (st *stream) asked() {
	st.counting.Lock()
	defer st.counting.Unlock()
	st.unanswered++
}

func (st *stream) answered() {
	st.counting.Lock()
	defer st.counting.Unlock()
	st.unanswered--
	st.lessLocked()
}

// lessLocked wakes the goroutine that waits for the last answer, if this was it. The
// caller holds st.counting.
func (st *stream) lessLocked() {
	if st.unanswered+len(st.passed) > 0 {
		return
	}
	signal.One(st.none)
}

// drain waits until every request is answered and every answer written, for as long
// as that may take.
func (st *stream) drain(ctx context.Context) {
	limit := time.NewTimer(st.lastAnswers)
	defer limit.Stop()
	for {
		st.counting.Lock()
		n := st.unanswered + len(st.passed)
		st.counting.Unlock()
		if n == 0 && !st.out.busy() {
			return
		}
		select {
		case <-st.none:
		case <-st.out.rested:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// answers is where the SDK writes its lines.
type answers struct{ *stream }

// Write returns when the stream is over, too: a session ends when the SDK has written
// what it has to say, and a client that does not read would keep it.
func (a answers) Write(b []byte) (int, error) {
	line := bytes.Clone(b)
	written := make(chan error, 1)
	go func() {
		_, err := a.out.Write(line)
		written <- err
	}()
	select {
	case err := <-written:
		a.wrote(string(line))
		return len(b), err
	case <-a.over:
		return 0, io.ErrClosedPipe
	}
}

// wrote takes note of an answer, or of several.
func (a answers) wrote(line string) {
	if line[0] == '[' {
		for one := range jsonscan.Items(line) {
			a.wrote(one)
		}
		return
	}
	var value any
	answer := false
	each(line, func(key, text string) bool {
		if key == "id" {
			_ = json.Unmarshal([]byte(text), &value) // the SDK has written it
		}
		answer = answer || key == "result" || key == "error"
		return true
	})
	id, err := jsonrpc.MakeID(value)
	if !answer || err != nil {
		return
	}
	a.counting.Lock()
	defer a.counting.Unlock()
	delete(a.passed, id)
	a.lessLocked()
}

// Close implements io.Closer; the stream is not the SDK's to close.
func (a answers) Close() error { return nil }

// read takes messages until there are no more.
func (st *stream) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.Read(r, MaxMessage)
		switch {
		case errors.Is(err, lines.ErrLong):
			st.out.line(failure("null", jsonrpc.CodeInvalidRequest, "the message is too long"))
			continue
		case len(bytes.TrimSpace(line)) > 0:
			if e := st.take(line); e != nil {
				return e
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take answers a message, or hands it to the SDK.
func (st *stream) take(line []byte) error {
	m := recognise(line)
	if m.kind == call {
		m.client = st.user.s.client(nil, cmp.Or(m.info, st.infoOf()))
	}
	switch {
	case m.kind == broken:
		st.out.line(failure("null", jsonrpc.CodeParseError, textsIn(st.user.locale()).garbled))
	case m.kind == call && st.takesNow(m):
		st.slots <- struct{}{}
		j := &job{m: m}
		st.begin(&j.running, m.id)
		st.asked()
		select {
		case st.hands <- j:
		default:
			go st.work(j)
		}
	case m.kind == cancel && st.stop(m.id):
	default:
		return st.pass(bytes.TrimSpace(line))
	}
	return nil
}

// pass hands messages to the SDK. One that it cannot read would end the session, and
// all that is under way with it: that one is answered here.
func (st *stream) pass(text []byte) error {
	messages, apart, ok := st.messages(text)
	ids := map[jsonrpc.ID]bool{}
	for _, m := range messages {
		msg, err := jsonrpc.DecodeMessage([]byte(m))
		if ok = ok && err == nil; !ok {
			break
		}
		if req, is := msg.(*jsonrpc.Request); is && req.IsCall() && req.Method != "subscriptions/listen" && !st.waits(req.ID) { // whose answer is its end
			ids[req.ID] = true
		}
	}
	switch {
	case !ok:
		st.out.line(failure(idOf(text), jsonrpc.CodeInvalidRequest, "the line is no message of the protocol"))
		return nil
	case apart || text[0] == '[' && len(ids) < len(messages): // at a batch of other than requests the SDK ends, or does not answer
		for _, m := range messages {
			if err := st.take([]byte(m)); err != nil {
				return err
			}
		}
		return nil
	}
	st.counting.Lock()
	maps.Copy(st.passed, ids)
	st.counting.Unlock()
	_, err := st.sdk.Write(append(bytes.Clone(text), '\n'))
	return err
}

// messages are those of a line; not ok: there are none or too many, or there may not be
// several. They go to the SDK apart while the client's revision, by which it takes batches,
// may still be on its way to it.
func (st *stream) messages(text []byte) (list []string, apart, ok bool) {
	if text[0] != '[' {
		return []string{string(text)}, false, !tooHeavy(text)
	}
	st.mu.Lock()
	open, batches := st.open, st.batches
	st.mu.Unlock()
	if open && !batches || tooMany(text) || tooHeavy(text) {
		return nil, false, false
	}
	list = slices.Collect(jsonscan.Items(string(text)))
	return list, !open, len(list) > 0
}

// waits reports whether the SDK is to answer that already.
func (st *stream) waits(id jsonrpc.ID) bool {
	st.counting.Lock()
	defer st.counting.Unlock()
	return st.passed[id]
}

// idOf is the id that a request is answered by, as it is written; null: it has none.
func idOf(text []byte) string {
	id, request := "null", false
	each(string(text), func(key, value string) bool {
		if key == "id" && (value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
			id = value
		}
		request = request || key == "method"
		return true
	})
	if !request {
		return "null"
	}
	return id
}

// mostIdle is how many goroutines of a stream wait for its next calls.
const mostIdle = 32

// A job is a call that waits for its goroutine, or is under way.
type job struct {
	running
	m message
}

// work does a job, and waits for more: a goroutine that made a call has the
// stack that the next one needs, and a new one would have to grow it again.
func (st *stream) work(j *job) {
	for j != nil {
		st.do(j)
		if st.idle.Add(1) > mostIdle {
			st.idle.Add(-1)
			return
		}
		select {
		case j = <-st.hands:
		case <-st.over:
			j = nil
		}
		st.idle.Add(-1)
	}
}

// takesNow is takes for a message that may speak for itself.
func (st *stream) takesNow(m message) bool {
	if m.version == "" {
		return st.takes(m)
	}
	return m.version == stateless && st.user.plain(m) && !(m.elicits && st.user.tools().MayAsk(m.name))
}

// do makes a call. One that the client has ended is not answered.
func (st *stream) do(j *job) {
	defer st.done(j)
	out := st.user.serve(j.ctx, j.m)
	if j.ctx.Err() == nil {
		st.out.answer(out, len(st.slots) > 1)
	}
}

// done runs after a job, whatever its outcome.
func (st *stream) done(j *job) {
	j.end()
	<-st.slots
	st.answered()
}
