package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
)

// A bridge joins a client's lines to whoever answers them, and goes on with
// another one when that one goes: it remembers how the client introduced itself
// and what it waits for.
type bridge struct {
	in  *bufio.Reader
	out io.Writer

	mu      sync.Mutex // held while anything is written to out, too
	to      io.Writer  // nil: nobody answers at the moment
	ended   bool       // the client has said all that it wanted
	failure error      // of reading from the client or writing to it
	hello   [][]byte   // what a new one must be told first
	open    map[string]bool
	skip    string        // id of an answer that the client has had already
	changed chan struct{} // closed and replaced when to, ended or failure have changed
}

func newBridge(in io.Reader, out io.Writer) *bridge {
	b := &bridge{in: bufio.NewReaderSize(in, 64<<10), out: out, open: map[string]bool{}, changed: make(chan struct{})}
	go b.pump()
	return b
}

// An envelope is what a bridge has to know of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// pump takes the client's lines for as long as there are any. It ends with the
// process: a read from standard input cannot be broken off.
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

// forward hands a line on, as soon as somebody answers.
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
		if to != nil && known {
			b.remember(e, line)
		}
		b.mu.Unlock()
		if to != nil {
			_, _ = to.Write(line) // who has gone is noticed by reading, and what waits is answered then
			return
		}
		<-changed
	}
}

// remember keeps what another one would have to know. b.mu is held.
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

// wake tells whoever waits that something has changed. b.mu is held.
func (b *bridge) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// run passes lines on until the client has ended (over) or l has.
func (b *bridge) run(ctx context.Context, l *link) (over bool, err error) {
	r, w := l.r, l.w
	if l.app != nil {
		r, w = l.serve(ctx)
	}
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		b.answers(bufio.NewReaderSize(r, 64<<10))
	}()
	if err := b.attach(w); err != nil {
		return false, nil // it has gone already
	}
	for half := false; ; {
		b.mu.Lock()
		changed, ended, failed := b.changed, b.ended, b.failure
		b.mu.Unlock()
		if ended && !half {
			half = true
			_ = w.Close() // what was asked is still answered
		}
		if failed != nil {
			return true, failed
		}
		select {
		case <-changed:
		case <-answers:
			b.detach()
			return ended, nil
		case <-ctx.Done():
			return true, nil
		}
	}
}

// serve makes this process the one that answers.
func (l *link) serve(ctx context.Context) (io.Reader, io.WriteCloser) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	go func() {
		_ = l.app.daemon.ServeMCP(ctx, in, out) // how it ended shows in what it wrote
		_ = out.Close()
		_ = in.Close()
	}()
	return r, w
}

// attach begins to hand lines to w. One that comes later than the client's first
// is told first who the client is.
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
			b.open[string(e.ID)] = false // it has been answered once
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
	b.to = w
	b.wake()
	return nil
}

// detach answers what waited for one that has gone.
func (b *bridge) detach() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = nil
	b.wake()
	if len(b.hello) > 0 && b.introducing(b.hello[0]) {
		b.hello = nil // the client says it again: one that has heard it would not take it twice
	}
	for id, waits := range b.open {
		if waits && !b.ended {
			b.write([]byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"weir was stopped while it answered; ask again"}}` + "\n"))
		}
	}
	clear(b.open)
}

// introducing reports whether the client still waits for the answer to that. b.mu is held.
func (b *bridge) introducing(hello []byte) bool {
	var e envelope
	return json.Unmarshal(hello, &e) == nil && b.open[string(e.ID)]
}

// answers hands the answers on until there are no more.
func (b *bridge) answers(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil { // a line without an end is half a line
			return
		}
		b.deliver(line)
	}
}

// deliver writes an answer, unless the client has had it already.
func (b *bridge) deliver(line []byte) {
	var e envelope
	known := json.Unmarshal(line, &e) == nil && e.Method == "" && len(e.ID) > 0
	b.mu.Lock()
	defer b.mu.Unlock()
	if known {
		id := string(e.ID)
		waits, asked := b.open[id]
		delete(b.open, id)
		if b.skip == id {
			b.skip = ""
			b.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")) // another one may have others
			return
		}
		if asked && !waits {
			return
		}
	}
	b.write(line)
}

// write writes to the client. b.mu is held.
func (b *bridge) write(line []byte) {
	if b.failure != nil {
		return
	}
	if _, err := b.out.Write(line); err != nil {
		b.failure = err
		b.wake()
	}
}
