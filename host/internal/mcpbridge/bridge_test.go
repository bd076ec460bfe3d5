package mcpbridge

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/internal/testtime"
)

// A fakeDaemon is the other end of a Peer.
type fakeDaemon struct {
	*testing.T
	in  *bufio.Reader
	out io.WriteCloser
}

func newFakeDaemon(t *testing.T) (*fakeDaemon, *Peer) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	return &fakeDaemon{t, bufio.NewReader(in), out}, &Peer{R: r, W: w, Close: func() {}}
}

func (f *fakeDaemon) reads(want string) {
	f.Helper()
	line, err := f.in.ReadString('\n')
	if err != nil || !strings.Contains(line, want) {
		f.Fatalf("read %q, %v; want %s", line, err, want)
	}
}

func (f *fakeDaemon) writes(line string) {
	f.Helper()
	if _, err := io.WriteString(f.out, line+"\n"); err != nil {
		f.Fatal(err)
	}
}

// When a daemon dies, its client continues with the next one, which receives the
// client's introduction. Open requests get an answer.
func TestBridge(t *testing.T) {
	clientIn, toBridge := io.Pipe()
	fromBridge, clientOut := io.Pipe()
	client := bufio.NewReader(fromBridge)
	says := func(line string) {
		t.Helper()
		if _, err := io.WriteString(toBridge, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(want string) {
		t.Helper()
		line, err := client.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("heard %q, %v; want %s", line, err, want)
		}
	}
	b := newBridge(clientIn, clientOut)
	type end struct {
		over bool
		err  error
	}
	ended := make(chan end, 1)
	run := func(l *Peer) {
		go func() {
			over, err := b.run(context.Background(), l)
			ended <- end{over, err}
		}()
	}

	first, l := newFakeDaemon(t)
	run(l)
	says(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	first.reads(`"initialize"`)
	first.writes(`{"jsonrpc":"2.0","id":1,"result":{"first":true}}`)
	hears(`"first"`)
	says(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	first.reads(`initialized`)
	says(`{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"debug"}}`)
	first.reads(`setLevel`)
	first.writes(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	hears(`"id":9`)
	says(`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`)
	first.reads(`"a"`)
	first.writes(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	hears(`notifications/message`)
	first.out.Close()
	hears(`"id":"a","error"`)
	if e := <-ended; e.over || e.err != nil {
		t.Fatalf("%+v", e)
	}

	second, l := newFakeDaemon(t)
	run(l)
	second.reads(`"initialize"`)
	second.writes(`{"jsonrpc":"2.0","id":1,"result":{"second":true}}`)
	hears(`list_changed`) // in place of an answer that it has had
	second.reads(`initialized`)
	second.reads(`setLevel`)
	second.writes(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	says(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	second.reads(`"id":2`)
	second.writes(`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
	hears(`"id":2,"result"`)

	// The client has said all that it wanted; what it asked is still answered.
	says(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	second.reads(`ping`)
	toBridge.Close()
	if _, err := second.in.ReadString('\n'); err != io.EOF {
		t.Fatalf("%v", err)
	}
	second.writes(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	hears(`"id":3`)
	second.out.Close()
	if e := <-ended; !e.over || e.err != nil {
		t.Fatalf("%+v", e)
	}
}

// A client whose introduction was not answered introduces itself again, to one that
// has heard of none: the protocol allows one introduction.
func TestBridgeForgetsAnIntroductionWithoutAnswer(t *testing.T) {
	clientIn, toBridge := io.Pipe()
	fromBridge, clientOut := io.Pipe()
	client := bufio.NewReader(fromBridge)
	b := newBridge(clientIn, clientOut)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	ended := make(chan struct{}, 2)
	run := func(l *Peer) {
		go func() {
			_, _ = b.run(context.Background(), l)
			ended <- struct{}{}
		}()
	}
	first, l := newFakeDaemon(t)
	run(l)
	_, _ = io.WriteString(toBridge, hello+"\n")
	first.reads(`"initialize"`)
	first.out.Close()
	if line, err := client.ReadString('\n'); err != nil || !strings.Contains(line, `"id":1,"error"`) {
		t.Fatalf("heard %q, %v", line, err)
	}
	<-ended

	second, l := newFakeDaemon(t)
	run(l)
	_, _ = io.WriteString(toBridge, `{"jsonrpc":"2.0","id":2,"method":"initialize"}`+"\n")
	second.reads(`"id":2`)
	second.writes(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if line, err := client.ReadString('\n'); err != nil || !strings.Contains(line, `"id":2,"result"`) {
		t.Fatalf("heard %q, %v", line, err)
	}
	toBridge.Close()
	second.out.Close()
	<-ended
}

// A client whose peer is to be left notices nothing: what it asked for is answered first, and
// what it asks for meanwhile the next peer answers. Its answers are for who asked.
func TestBridgeLeaves(t *testing.T) {
	clientIn, toBridge := io.Pipe()
	fromBridge, clientOut := io.Pipe()
	client := bufio.NewReader(fromBridge)
	says := func(line string) {
		t.Helper()
		if _, err := io.WriteString(toBridge, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(want string) {
		t.Helper()
		line, err := client.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("heard %q, %v; want %s", line, err, want)
		}
	}
	first, one := newFakeDaemon(t)
	leave := make(chan struct{})
	one.Leave, one.Grace, one.Close = leave, time.Hour, func() { first.out.Close() }
	second, two := newFakeDaemon(t)
	peers := []*Peer{one, two}
	connect := func(context.Context) (*Peer, error) {
		p := peers[0]
		peers = peers[1:]
		return p, nil
	}
	ended := make(chan error, 1)
	b := newBridge(clientIn, clientOut)
	go func() {
		ended <- b.serve(t.Context(), connect, func() { t.Error("it says that the daemon was lost") })
	}()
	says(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	first.reads(`"initialize"`)
	first.writes(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	hears(`"id":1`)
	says(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	first.reads(`"id":2`)
	close(leave)
	testtime.Until(t, "the first peer is being left", b.leaving)
	says(`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`)
	says(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
	says(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	first.writes(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}`)
	hears(`elicitation`)
	says(`{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}`)
	first.reads(`accept`)
	first.writes(`{"jsonrpc":"2.0","id":2,"result":{"first":true}}`)
	hears(`"first"`)

	second.reads(`"initialize"`)
	second.writes(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	hears(`list_changed`)
	second.reads(`"id":3`)
	second.reads(`"id":4`)
	second.reads(`cancelled`)
	says(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	second.reads(`ping`)
	toBridge.Close()
	if _, err := second.in.ReadString('\n'); err != io.EOF {
		t.Fatalf("%v", err)
	}
	second.out.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A daemon that is about to end gets no more requests: the next one gets them.
func TestBridgeOfADaemonThatLeaves(t *testing.T) {
	clientIn, toBridge := io.Pipe()
	fromBridge, clientOut := io.Pipe()
	client := bufio.NewReader(fromBridge)
	first, one := newFakeDaemon(t)
	second, two := newFakeDaemon(t)
	peers := []*Peer{one, two}
	connect := func(context.Context) (*Peer, error) {
		p := peers[0]
		peers = peers[1:]
		return p, nil
	}
	b := newBridge(clientIn, clientOut)
	ended := make(chan error, 1)
	go func() { ended <- b.serve(t.Context(), connect, func() {}) }()
	says := func(line string) {
		t.Helper()
		if _, err := io.WriteString(toBridge, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	says(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	first.reads(`"id":1`)
	first.writes(`{"jsonrpc":"2.0","method":"notifications/weir/leaving"}`)
	testtime.Until(t, "the daemon is being left", b.leaving)
	says(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	first.writes(`{"jsonrpc":"2.0","id":1,"result":{"first":true}}`)
	if line, err := client.ReadString('\n'); err != nil || !strings.Contains(line, `"first"`) {
		t.Fatalf("heard %q, %v", line, err)
	}
	first.out.Close()
	second.reads(`"id":2`)
	toBridge.Close()
	testtime.Until(t, "the client has ended", func() bool { // else a peer that disconnects is lost
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.ended
	})
	second.writes(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if line, err := client.ReadString('\n'); err != nil || !strings.Contains(line, `"id":2,"result"`) {
		t.Fatalf("heard %q, %v", line, err)
	}
	second.out.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A client that ends while the next daemon is looked for needs none.
func TestNoPeerForNobody(t *testing.T) {
	clientIn, toBridge := io.Pipe()
	daemon, p := newFakeDaemon(t)
	daemon.out.Close()
	first := true
	connect := func(ctx context.Context) (*Peer, error) {
		if first {
			first = false
			return p, nil
		}
		toBridge.Close()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := newBridge(clientIn, io.Discard).serve(t.Context(), connect, func() {}); err != nil {
		t.Error(err)
	}
}
