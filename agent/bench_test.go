package agent_test

import (
	"strings"
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

// A turn with a call whose result is long, and with a second one behind it.
func BenchmarkTurnOfLongResult(b *testing.B) {
	for name, text := range map[string]string{
		"64KiB":       strings.Repeat("2026-11-23 20:14:01 INFO request served path=/index.html status=200\n", 64<<10/68),
		"5MB":         strings.Repeat("2026-11-23 20:14:01 INFO request served path=/index.html status=200\n", 5_000_000/68),
		"64KiB named": strings.Repeat("2026-11-23 20:14:01 INFO echo served path=/index.html status=200\n", 64<<10/65),
	} {
		for _, twice := range []bool{false, true} {
			b.Run(name+map[bool]string{true: "/two calls", false: "/one call"}[twice], func(b *testing.B) {
				box := newBox().says("echo", text).says("look", "a short one")
				n := 0
				m := replay.Func(func(int, agent.Request) replay.Reply {
					n++
					switch {
					case n == 1:
						return replay.Call("echo", `{"text":"x"}`)
					case n == 2 && twice:
						return replay.Call("look", `{"text":"x"}`)
					}
					return replay.Text("done")
				})
				cfg := config(func(c *agent.Config) { c.Tools = new(agent.ToolCache) })
				l, err := agent.New(cfg, m, box, nil)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					n = 0
					if _, err := l.Run(b.Context(), nil, "what does it say?"); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
