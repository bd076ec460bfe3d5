package daemon

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/script/offer"
)

// TestEvalTokens compares the prompt tokens of a turn that needs twenty results of 50,000
// characters: by a script, by direct calls under weir's limits, and by direct calls uncut.
func TestEvalTokens(t *testing.T) {
	const calls = 20
	sent := func(mode string, edit func(*agent.Config), model func(n int, r agent.Request) replay.Reply) int {
		s := newServer(t, replay.Func(model))
		s.offers(offer.Always, false)
		c := s.daemon.current.State().Config
		p := c.Profiles["default"]
		p.Agent.MaxToolCalls = calls + 5
		edit(&p.Agent)
		c.Profiles = map[string]Profile{"default": p}
		if err := s.daemon.Configure(c); err != nil {
			t.Fatal(err)
		}
		end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"How many lines have the twenty texts?"}`).body), "chat.end")
		var tr api.Trace
		if a := s.get("/api/traces/last?conversation_id=" + end.Conversation); json.Unmarshal([]byte(a.body), &tr) != nil || end.Reason != agent.ReasonAnswer {
			t.Fatalf("%s: %s %+v", mode, a.body, end)
		}
		sum := 0
		for _, r := range tr.Rounds {
			sum += r.Sent.Total()
		}
		t.Logf("%s: %d requests, %d prompt tokens", mode, len(tr.Rounds), sum)
		return sum
	}
	direct := func(n int, _ agent.Request) replay.Reply {
		if n < calls {
			return replay.Call("long_text", fmt.Sprintf(`{"lines":%d}`, 770+n))
		}
		return replay.Text("a\nb\nc\nd\ne")
	}
	script := sent("a script", func(*agent.Config) {}, func(n int, _ agent.Request) replay.Reply {
		if n == 0 {
			return codeCall("const out = [];\nfor (let i = 0; i < 20; i++) out.push((await tools.long_text({lines: 770 + i})).lines);\nreturn out.slice(0, 5).join('\\n')")
		}
		return replay.Text("a\nb\nc\nd\ne")
	})
	limited := sent("direct calls under weir's limits", func(*agent.Config) {}, direct)
	all := 1 << 30
	uncut := sent("direct calls, uncut", func(a *agent.Config) { a.MaxToolResultLength, a.RoundChars = &all, new(int) }, direct)
	for name, x := range map[string]struct {
		direct int
		wanted float64
	}{"under weir's limits": {limited, 95}, "uncut": {uncut, 99}} {
		saved := 100 - 100*float64(script)/float64(x.direct)
		t.Logf("%.1f %% fewer prompt tokens than direct calls %s", saved, name)
		if saved < x.wanted {
			t.Errorf("%.1f %% fewer prompt tokens than direct calls %s; wanted %v", saved, name, x.wanted)
		}
	}
}
