package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

func read(ctx context.Context, m agent.Model) (text string, last agent.Delta, n int, err error) {
	for d, e := range m.Generate(ctx, agent.Request{}) {
		if e != nil {
			return text, last, n, e
		}
		text, last, n = text+d.Text, d, n+1
	}
	return text, last, n, nil
}

func TestPiecesJoinToTheText(t *testing.T) {
	const text = "héllo 世界 👩‍💻"
	for chunk := range 6 {
		got, last, n, err := read(t.Context(), New(Reply{Text: text, Chunk: chunk}))
		if got != text || err != nil || last.Finish != agent.FinishStop {
			t.Errorf("chunk %d: %q, %v, %v", chunk, got, last.Finish, err)
		}
		want := 2
		if chunk > 0 {
			want = (len([]rune(text))+chunk-1)/chunk + 1
		}
		if n != want {
			t.Errorf("chunk %d: %d pieces, want %d", chunk, n, want)
		}
	}
}

func TestRepliesComeInOrderAndRunOut(t *testing.T) {
	m := New(Text("one"), Call("echo", `{"a":1}`))
	if got, _, _, _ := read(t.Context(), m); got != "one" {
		t.Errorf("first reply %q", got)
	}
	if got, _, _, _ := read(t.Context(), m); !strings.Contains(got, `"tool_name":"echo","arguments":{"a":1}`) {
		t.Errorf("second reply %q", got)
	}
	if _, _, _, err := read(t.Context(), m); !agent.IsModelCode(err, agent.ModelGarbage) {
		t.Errorf("a request beyond the script gave %v", err)
	}
	if n := len(m.Requests()); n != 3 {
		t.Errorf("%d requests recorded, want 3", n)
	}
}

func TestRecordedRequestsAreCopies(t *testing.T) {
	m := New(Text("a"))
	r := agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: "q"}}}
	for range m.Generate(t.Context(), r) {
	}
	r.Messages[0].Text = "changed"
	if got := m.Requests()[0].Messages[0].Text; got != "q" {
		t.Errorf("the record changed to %q", got)
	}
}

func TestEnds(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		reply  Reply
		text   string
		finish agent.Finish
		err    error
	}{
		{"native calls finish as calls", Reply{Calls: []tool.Call{{ID: "x", Tool: "echo"}}}, "", agent.FinishCalls, nil},
		{"a length limit", Reply{Text: "half", Finish: agent.FinishLength}, "half", agent.FinishLength, nil},
		{"a lost connection has no finish", Reply{Text: "half", Cut: true}, "half", "", nil},
		{"an error comes behind the text", Reply{Text: "half", Err: boom}, "half", "", boom},
		{"nothing at all", Reply{}, "", agent.FinishStop, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, last, _, err := read(t.Context(), New(c.reply))
			if text != c.text || last.Finish != c.finish || !errors.Is(err, c.err) {
				t.Errorf("got %q, finish %q, %v", text, last.Finish, err)
			}
		})
	}
}

func TestDelayAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, _, _, err := read(t.Context(), New(Reply{Text: "ab", Chunk: 1, Delay: time.Minute})); err != nil {
			t.Fatal(err)
		}
		if d := testtime.Since(start); d != 3*time.Minute {
			t.Errorf("three pieces took %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		text, _, _, err := read(ctx, New(Reply{Text: "ab", Chunk: 1, Delay: time.Minute}))
		if text != "a" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

func TestDescribing(t *testing.T) {
	m := New().Describing(agent.ModelInfo{Name: "x", Window: 5})
	if info, err := m.Describe(t.Context()); err != nil || info.Window != 5 {
		t.Errorf("%+v, %v", info, err)
	}
}
