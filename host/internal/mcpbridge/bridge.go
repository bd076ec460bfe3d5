// Package mcpbridge connects a Model Context Protocol client, which started weir as
// a child process, to a daemon. Run passes messages between them and survives a
// restart of the daemon. Pollable prepares the standard files of the process. Clients
// lists the known client programs; Entry is what their configuration files say about
// weir, and WriteEntry puts it there.
package mcpbridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Peer answers the messages of a client: a daemon, or this process.
type Peer struct {
	// R and W are the connection to a daemon.
	R io.Reader
	W io.WriteCloser
	// Serve answers in this process. Nil: R and W do.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	// Leave is closed when the client must go on with another peer. Its requests are then
	// answered first, within Grace; new ones wait for the other peer. Nil: never.
	Leave <-chan struct{}
	Grace time.Duration
	// Close releases the peer, and ends R. It may be called twice.
	Close func()
}

// Run connects a client, which writes messages to in and reads answers from out, to
// a peer. When a peer disconnects, Run calls lost and connects to the next one: it
// repeats the client's introduction there, and answers the requests that were open
// with an error. From a peer that is to be left it goes to the next one in the same way,
// without a call of lost. It returns when the client ends its input or when ctx ends; a
// search for the next peer then ends, by its context.
func Run(ctx context.Context, in io.Reader, out io.Writer, connect func(context.Context) (*Peer, error), lost func()) error {
	return newBridge(in, out).serve(ctx, connect, lost)
}

// serve is Run with this bridge.
func (b *bridge) serve(ctx context.Context, connect func(context.Context) (*Peer, error), lost func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := connect(ctx)
	if err != nil {
		return err
	}
	defer func() { p.Close() }()
	for {
		over, err := b.run(ctx, p)
		if over {
			return ended(ctx, err)
		}
		p.Close()
		if !b.leaving() {
			lost()
		}
		found := b.onceOver(cancel)
		p, err = connect(ctx)
		found()
		if err != nil {
			p = &Peer{Close: func() {}}
			return ended(ctx, err)
		}
	}
}

// onceOver calls f when the client has ended and nothing is kept for the next peer, unless
// stop was called before: a peer that is opened for nobody would only have to end again.
func (b *bridge) onceOver(f func()) (stop func()) {
	stopped := make(chan struct{})
	go func() {
		for {
			b.mu.Lock()
			over, changed := b.over(), b.changed
			b.mu.Unlock()
			if over {
				f()
				return
			}
			select {
			case <-changed:
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}

// over reports whether nothing is left to do without a peer, as the client has ended. b.mu is
// held.
func (b *bridge) over() bool { return b.ended && len(b.kept) == 0 }

// ended returns nil for the ordinary ends: a client that disconnects, or a signal.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// A bridge passes the lines of a client to a peer and its answers back. It stores
// what the next peer must know: how the client introduced itself, and which
// requests are open.
type bridge struct {
	in  *bufio.Reader
	out io.Writer

	mu      sync.Mutex      // also held while anything is written to out
	to      io.Writer       // the peer; nil: none is connected
	ended   bool            // the client has closed its input
	failure error           // of reading from the client or writing to it
	hello   [][]byte        // the messages that begin a session
	open    map[string]bool // ids of requests; false: answered by an earlier peer
	lines   []byte          // that are not written to out yet
	skip    string          // id of an answer that the client has received already
	hold    bool            // the peer is left: requests are kept for the next one
	kept    [][]byte
	changed chan struct{} // closed and replaced when to, ended or failure change
}

func newBridge(in io.Reader, out io.Writer) *bridge {
	b := &bridge{in: bufio.NewReaderSize(in, 64<<10), out: out, open: map[string]bool{}, changed: make(chan struct{})}
	go b.pump()
	return b
}

// An envelope is the part of a message that a bridge reads.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// pump reads the client's lines to their end. It may run until the process ends: a
// read from standard input cannot be interrupted.
func (b *bridge) pump() {
	for {
		line, err := b.in.ReadBytes('\n')
		if len(line) > 0 {
			b.forward(line)
		}
		if err != nil {
			b.mu.Lock()
			if b.ended = true; !errors.Is(err, io.EOF) {
				b.failure = err
			}
			b.wake()
			b.mu.Unlock()
			return
		}
	}
}

// maxKept bounds the lines that are kept for the next peer; what else the client says waits.
const maxKept = 1000

// forward passes a line to the peer, and waits until one is connected.
func (b *bridge) forward(line []byte) {
	var e envelope
	known := json.Unmarshal(line, &e) == nil
	for {
		b.mu.Lock()
		to, changed, failed := b.to, b.changed, b.failure
		if failed != nil {
			b.mu.Unlock()
			return
		}
		if b.hold && b.forNext(e, known) {
			if to = nil; len(b.kept) < maxKept {
				b.kept = append(b.kept, line)
				b.mu.Unlock()
				return
			}
		}
		if to != nil && known {
			b.remember(e, line)
		}
		b.mu.Unlock()
		if to != nil {
			_, _ = to.Write(line) // reading from the peer reports a lost connection
			return
		}
		<-changed
	}
}

// forNext reports whether a line is for the next peer when the present one is left: what
// asks for something, and what ends something that the next one is asked for. Answers are
// for who has asked. b.mu is held.
func (b *bridge) forNext(e envelope, known bool) bool {
	if e.Method == "notifications/cancelled" {
		var of struct{ RequestID json.RawMessage }
		return json.Unmarshal(e.Params, &of) != nil || !b.open[string(of.RequestID)]
	}
	return !known || len(e.ID) > 0 && e.Method != ""
}

// leaving reports whether the peer was left, and the next one is not connected yet.
func (b *bridge) leaving() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hold
}

// remember stores what the next peer must know of a message. b.mu is held.
func (b *bridge) remember(e envelope, line []byte) {
	switch e.Method {
	case "initialize":
		b.hello = [][]byte{line}
	case "notifications/initialized", "logging/setLevel":
		b.hello = append(b.hello, line)
	}
	if len(e.ID) > 0 && e.Method != "" {
		b.open[string(e.ID)] = true
	}
}

// wake reports a change to all waiting goroutines. b.mu is held.
func (b *bridge) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// run passes lines until the client has ended (over), or the peer has or was left.
func (b *bridge) run(ctx context.Context, p *Peer) (over bool, err error) {
	r, w := p.R, p.W
	served := make(chan error, 1)
	if p.Serve != nil {
		r, w = p.pipe(ctx, served)
	}
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		b.answers(bufio.NewReaderSize(r, 64<<10))
	}()
	if err := b.attach(w); err != nil {
		return false, nil // the peer has disconnected already
	}
	leave, late := p.Leave, (<-chan time.Time)(nil)
	for half := false; ; {
		b.mu.Lock()
		changed, ended, failed := b.changed, b.ended, b.failure
		left := b.hold && !b.waits()
		b.mu.Unlock()
		if left && !ended && p.Leave != nil {
			p.Close() // ends the answers; a daemon that leaves ends them itself
		}
		if ended && !half {
			half = true
			_ = w.Close() // open requests are still answered
		}
		if failed != nil {
			return true, failed
		}
		select {
		case <-changed:
		case <-leave:
			leave, late = nil, time.After(p.Grace)
			b.mu.Lock()
			b.hold = true
			b.wake()
			b.mu.Unlock()
		case <-late:
			p.Close()
		case <-answers:
			if p.Serve != nil && !b.leaving() {
				if err := <-served; err != nil {
					return true, err // the next one would not do better
				}
			}
			return b.detach(), nil
		case <-ctx.Done():
			return true, nil
		}
	}
}

// waits reports whether the client waits for an answer of the peer. b.mu is held.
func (b *bridge) waits() bool {
	for _, waits := range b.open {
		if waits {
			return true
		}
	}
	return false
}

// pipe serves in this process and returns the other ends of its pipes.
func (p *Peer) pipe(ctx context.Context, served chan<- error) (io.Reader, io.WriteCloser) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	go func() {
		served <- p.Serve(ctx, in, out)
		_ = out.Close()
		_ = in.Close()
	}()
	return r, w
}

// attach starts to pass lines to a peer. A peer after the first one receives the
// client's introduction first, and what was kept for it.
func (b *bridge) attach(w io.Writer) error {
	b.mu.Lock()
	hello := slices.Clone(b.hello)
	for i, line := range hello {
		var e envelope
		if json.Unmarshal(line, &e) != nil || len(e.ID) == 0 {
			continue
		}
		if i == 0 {
			b.skip = string(e.ID)
		} else {
			b.open[string(e.ID)] = false // the client has its answer
		}
	}
	b.mu.Unlock()
	for _, line := range hello {
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.kept) > 0 {
		line := b.kept[0]
		b.kept = b.kept[1:]
		var e envelope
		if json.Unmarshal(line, &e) == nil {
			b.remember(e, line)
		}
		b.mu.Unlock()
		_, err := w.Write(line)
		b.mu.Lock()
		if err != nil {
			b.kept = slices.Insert(b.kept, 0, line)
			return err
		}
	}
	b.to, b.hold = w, false
	b.wake()
	return nil
}

// detach answers the open requests with an error when a peer has disconnected. It reports
// whether nothing is left to do, as the client has ended.
func (b *bridge) detach() (over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = nil
	b.wake()
	if len(b.hello) > 0 && b.introducing(b.hello[0]) {
		b.hello = nil // the client repeats it, and a peer accepts it only once
	}
	for id, waits := range b.open {
		if waits && !b.ended {
			b.write([]byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"weir was stopped while it answered; ask again"}}` + "\n"))
		}
	}
	b.flush()
	clear(b.open)
	return b.over()
}

// introducing reports whether the client still waits for the answer to its
// introduction. b.mu is held.
func (b *bridge) introducing(hello []byte) bool {
	var e envelope
	return json.Unmarshal(hello, &e) == nil && b.open[string(e.ID)]
}

// answers passes the peer's answers to the client until they end.
func (b *bridge) answers(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil { // a line without a line break is incomplete
			b.mu.Lock()
			b.flush()
			b.mu.Unlock()
			return
		}
		ready, _ := r.Peek(r.Buffered())
		b.deliver(line, bytes.IndexByte(ready, '\n') >= 0)
	}
}

// leaving is the method by which a daemon says that it is about to end. It is no part of the
// protocol, and the client does not see it.
const leaving = "notifications/weir/leaving"

// deliver writes an answer unless the client has received it already. more says that another
// one follows at once: they are written together.
func (b *bridge) deliver(line []byte, more bool) {
	var e envelope
	read := json.Unmarshal(line, &e) == nil
	known := read && e.Method == "" && len(e.ID) > 0
	b.mu.Lock()
	defer b.mu.Unlock()
	if read && e.Method == leaving {
		b.hold = true
		return
	}
	if !more {
		defer b.flush()
	}
	if known {
		id := string(e.ID)
		waits, asked := b.open[id]
		delete(b.open, id)
		if b.hold {
			b.wake()
		}
		if b.skip == id {
			b.skip = ""
			b.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")) // the new peer may have other tools
			return
		}
		if asked && !waits {
			return
		}
	}
	b.write(line)
}

// maxLines bounds the lines that are written together, in bytes.
const maxLines = 64 << 10

// write writes a line to the client, with the next flush. b.mu is held.
func (b *bridge) write(line []byte) {
	if b.lines = append(b.lines, line...); len(b.lines) > maxLines {
		b.flush()
	}
}

// flush writes the lines that write has collected. b.mu is held.
func (b *bridge) flush() {
	lines := b.lines
	if b.lines = lines[:0]; cap(lines) > 2*maxLines {
		b.lines = nil
	}
	if b.failure != nil || len(lines) == 0 {
		return
	}
	if _, err := b.out.Write(lines); err != nil {
		b.failure = err
		b.wake()
	}
}
