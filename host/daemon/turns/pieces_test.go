package turns

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// What is streamed is passed on a second later, once in a second, and not at all if the turn
// takes less.
func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pieces
		passed := make(chan string, 10)
		began := time.Now()
		p.add("before it begins", "")
		p.begin(time.Second, func() {
			text, reasoning := p.take()
			passed <- fmt.Sprintf("%s: %s|%s", testtime.Since(began), text, reasoning)
		})
		p.add("a", "x")
		testtime.Sleep(900 * time.Millisecond)
		p.add("b", "")
		testtime.Sleep(5 * time.Second) // nothing flows
		p.add("c", "")
		testtime.Sleep(500 * time.Millisecond)
		p.take() // a step has it
		p.add("d", "")
		testtime.Sleep(600 * time.Millisecond)
		p.back("c", "")
		testtime.Sleep(600 * time.Millisecond)
		p.add("e", "")
		testtime.Sleep(900 * time.Millisecond)
		p.end()
		p.add("f", "")
		testtime.Sleep(time.Minute)
		synctest.Wait()
		close(passed)
		var got []string
		for p := range passed {
			got = append(got, p)
		}
		if want := []string{"1s: ab|x", "7.4s: cd|"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

const killedDir = "WEIR_TEST_KILLED_TURN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedDir); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

// A speaker is a model that calls, then thinks and says something, and waits for what it said to be
// stored.
type speaker struct {
	s     *Service
	asked int
}

// Generate implements agent.Model.
func (m *speaker) Generate(ctx context.Context, _ agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if m.asked++; m.asked == 1 {
			yield(agent.Delta{Text: "I look. " + replay.Call(tool.SearchHistory, `{"query":"x"}`).Text, Finish: agent.FinishStop}, nil)
			return
		}
		for _, word := range []string{"One", " two", " three"} {
			if !yield(agent.Delta{Text: word}, nil) {
				return
			}
		}
		yield(agent.Delta{Reasoning: "Hm."}, nil)
		testtime.Comes(func() bool {
			runs, err := m.s.Store.Unended(ctx)
			if err != nil || len(runs) != 1 {
				return false
			}
			l := &lasting{Run: &runs[0], t: &turn{s: m.s}}
			reply, _ := l.brokenOff(1)
			return reply.Text == "One two three" && reply.Reasoning == "Hm."
		})
		fmt.Println("stored")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the process is killed
	}
}

// victim asks a question and is killed before it is answered.
func victim(dir string) {
	m := &speaker{}
	s, err := open(filepath.Join(dir, "archive.db"), m, nil)
	if err == nil {
		m.s, s.Behind = s, time.Millisecond
		_, err = s.Ask(context.Background(), "local", Question{Ask: api.Ask{Message: "Tell me.", Conversation: "c1"}}, nil, func(string, any) {})
	}
	fmt.Println(err)
	os.Exit(1)
}

// After a kill, what was streamed is there when the conversation is opened again, with the
// remark that the answer broke off.
func TestKilledWhileAnswering(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), killedDir+"="+dir), os.Stderr
	in, err := cmd.StdinPipe() // which stays open
	var out io.ReadCloser
	if err == nil {
		defer in.Close()
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if killed := cmd.Process.Kill(); err != nil || killed != nil || line != "stored\n" {
		t.Fatalf("%q, %v, %v", line, err, killed)
	}
	_ = cmd.Wait() // it was killed

	s := serviceAt(t, filepath.Join(dir, "archive.db"), replay.New(replay.Text("Four.")), nil)
	if err := s.GiveUpAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	ms := stored(t, s, "c1")
	want := []agent.Role{agent.RoleUser, agent.RoleAssistant, agent.RoleResults, agent.RoleAssistant}
	if !slices.Equal(roles(ms), want) || ms[1].Text != "I look." || ms[3].Text != "One two three" || ms[3].Reasoning != "Hm." {
		t.Fatalf("%+v", ms)
	}
	if said := fmt.Sprint(ms[3].Remarks); !strings.Contains(said, "the daemon stopped before the answer was complete") {
		t.Error(said)
	}
	if left, err := s.Store.Unended(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if end, err := s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: "Go on.", Conversation: "c1"}}, nil, func(string, any) {}); err != nil || end.Answer != "Four." {
		t.Errorf("%+v, %v", end, err)
	}
}

// What was streamed before a step, or in another turn, is no part of the answer that broke off.
func TestBrokenOff(t *testing.T) {
	l := &lasting{t: &turn{s: New(Config{Now: time.Now})}, Run: &store.Run{Steps: [][]byte{nil}, Pieces: [][]byte{
		[]byte(`{"turn":2,"after":0,"text":"before the step"}`), []byte(`{"turn":2,"after":1,"text":"One"}`), []byte(`{"turn":1,"after":1,"text":"another turn"}`),
		[]byte(`{"turn":2,"after":1,"text":" two","reasoning":"Hm."}`), []byte(`{"turn":2,"after":2,"text":"after the next step"}`), []byte(`no JSON`),
	}}}
	if m, ok := l.brokenOff(2); !ok || m.Text != "One two" || m.Reasoning != "Hm." || m.Role != agent.RoleAssistant || m.Turn != 2 {
		t.Errorf("%+v, %t", m, ok)
	}
	if m, ok := l.brokenOff(3); ok {
		t.Errorf("a turn of which nothing was streamed: %+v", m)
	}
}

// Once the end of a turn is being stored, no piece is.
func TestNoPieceAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lasting{Run: &store.Run{}}
		passed := 0
		l.pieces.begin(time.Second, func() { passed++ })
		l.pieces.add("One", "")
		l.run(nil)
		l.pieces.add(" two", "")
		testtime.Sleep(time.Minute)
		synctest.Wait()
		if text, _ := l.pieces.take(); passed > 0 || text != "" {
			t.Errorf("%d, %q", passed, text)
		}
	})
}

// A turn that ends has no piece left, whichever it had.
func TestPiecesGoWithTheTurn(t *testing.T) {
	m := &speakerOnce{}
	s := newService(t, m)
	m.s, s.Behind = s, time.Millisecond
	if end, err := s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: "Tell me."}}, nil, func(string, any) {}); err != nil || end.Answer != "One." {
		t.Fatalf("%+v, %v", end, err)
	}
	if left, err := s.Store.Unended(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A speakerOnce ends its answer once a piece of it is stored.
type speakerOnce struct{ s *Service }

// Generate implements agent.Model.
func (m *speakerOnce) Generate(ctx context.Context, _ agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		yield(agent.Delta{Text: "One."}, nil)
		testtime.Comes(func() bool {
			runs, _ := m.s.Store.Unended(ctx)
			return len(runs) > 0
		})
		yield(agent.Delta{Finish: agent.FinishStop}, nil)
	}
}
