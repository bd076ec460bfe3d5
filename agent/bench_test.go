package agent_test

import (
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
)

// One question, one call and its answer, with a model and a tool that take no time.
func BenchmarkTurn(b *testing.B) {
	box := newBox().says("echo", lines(600, 60))
	m := replay.Func(func(n int, _ agent.Request) replay.Reply {
		if n%2 == 0 {
			return replay.Call("echo", `{"text":"x"}`)
		}
		return replay.Text("done")
	})
	l, err := agent.New(config(), m, box, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Run(b.Context(), nil, "what does it say?"); err != nil {
			b.Fatal(err)
		}
	}
}
