package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	st := &stream{out: newLineWriter(out, stop), slots: make(chan struct{}, maxAtOnce), hands: make(chan *job), over: ctx.Done(), none: make(chan struct{}, 1)}
	toSDK, lines := io.Pipe()
	defer lines.Close()
	st.sdk = lines
	sdk, err := u.sdk.Connect(ctx, &mcp.IOTransport{Reader: toSDK, Writer: answers{st}, MaxLineLength: maxMessage}, nil)
	if err != nil {
		return err
	}
	st.session = s.newSession(u, sdk)
	if !s.joined(st.session) {
		stop()
	}
	defer s.left(st.session)
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
	out   *lineWriter
	sdk   io.Writer
	slots chan struct{} // one for each call without the SDK
	hands chan *job     // to a goroutine that waits for a call
	idle  atomic.Int32  // of those
	over  <-chan struct{}

	counting   sync.Mutex
	unanswered int
	none       chan struct{} // holds one when unanswered has come to 0
}

// asked counts a request, and answered its answer.
func (st *stream) asked() {
	st.counting.Lock()
	defer st.counting.Unlock()
	st.unanswered++
}

func (st *stream) answered() {
	st.counting.Lock()
	defer st.counting.Unlock()
	if st.unanswered--; st.unanswered <= 0 {
		select {
		case st.none <- struct{}{}:
		default:
		}
	}
}

// drain waits until every request is answered and every answer written, for as long
// as that may take.
func (st *stream) drain(ctx context.Context) {
	limit := time.NewTimer(lastAnswers)
	defer limit.Stop()
	for {
		st.counting.Lock()
		n := st.unanswered
		st.counting.Unlock()
		if n <= 0 && !st.out.busy() {
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

func (a answers) Write(b []byte) (int, error) {
	n, err := a.out.Write(b)
	each(string(b), func(key, _ string) bool {
		if key == "result" || key == "error" {
			a.answered()
			return false
		}
		return true
	})
	return n, err
}

// Close implements io.Closer; the stream is not the SDK's to close.
func (a answers) Close() error { return nil }

// waits reports whether a message will be answered in the course of things.
func waits(line []byte) bool {
	id, method := false, ""
	each(string(line), func(key, value string) bool {
		id = id || key == "id"
		if key == "method" {
			method = value
		}
		return true
	})
	return id && method != "" && method != `"subscriptions/listen"`
}

// read takes messages until there are no more.
func (st *stream) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		switch {
		case errors.Is(err, errLong):
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
	switch {
	case m.kind == broken:
		st.out.line(failure("null", jsonrpc.CodeParseError, "the line is no JSON"))
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
		if waits(line) {
			st.asked()
		}
		text := bytes.TrimRight(line, "\r\n")
		_, err := st.sdk.Write(append(text[:len(text):len(text)], '\n')) // the rest of the line's room is the reader's
		return err
	}
	return nil
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
		return st.takes(m.name)
	}
	return m.version == stateless && st.user.plain(m.name) && !(m.elicits && st.user.tools.MayAsk(m.name))
}

// do makes a call. One that the client has ended is not answered.
func (st *stream) do(j *job) {
	defer st.done(j)
	out := st.user.serve(&j.ctx, j.m)
	if j.ctx.Err() == nil {
		st.out.answer(out, len(st.slots) > 1)
	}
}

// done is behind a job, however it went.
func (st *stream) done(j *job) {
	j.end()
	<-st.slots
	st.answered()
}
