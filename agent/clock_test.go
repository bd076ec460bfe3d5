package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// asking is a tool that waits for a person for as long as its text says, and
// then works for a second.
func asking(ctx context.Context, args map[string]any) (string, *tool.Error) {
	d, _ := time.ParseDuration(args["text"].(string))
	resume := agent.Pause(ctx)
	sleep(ctx, d)
	resume()
	resume() // once is enough
	sleep(ctx, time.Second)
	return "asked for " + d.String(), nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func working(ctx context.Context, args map[string]any) (string, *tool.Error) {
	d, _ := time.ParseDuration(args["text"].(string))
	sleep(ctx, d)
	return "worked", nil
}

// Waiting for a person costs the turn nothing of its time, and keeps no other
// call of the round from running.
func TestPauseStopsTheClock(t *testing.T) {
	call := func(name, d string) string { return replay.Call(name, `{"text":"`+d+`"}`).Text + "\n" }
	for _, tt := range []struct {
		name   string
		group  string
		took   time.Duration
		reason agent.Reason
	}{
		{"an hour of waiting", call("asking", "1h"), time.Hour + time.Second, agent.ReasonAnswer},
		{"two at once", call("asking", "1h") + call("asking", "2h"), 2*time.Hour + time.Second, agent.ReasonAnswer},
		{"work beside it", call("asking", "1h") + call("working", "3s"), time.Hour + time.Second, agent.ReasonAnswer},
		// Ten seconds are the budget: the clock runs again after the wait.
		{"too much work behind it", call("asking", "1h") + call("working", "1h0m30s"), time.Hour + 10*time.Second, agent.ReasonTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox().add("asking", asking).add("working", working)
				cfg := config(func(c *agent.Config) { c.TimeBudget = 10 * time.Second })
				start := time.Now()
				turn, _, err := ask(t, cfg, replay.New(replay.Text(tt.group), replay.Text("done")), b, nil, "go")
				if err != nil || turn.Reason != tt.reason || testtime.Since(start) != tt.took {
					t.Errorf("%v, %s after %s", err, turn.Reason, testtime.Since(start))
				}
			})
		})
	}
}

// A call that waits gives its place to the next.
func TestPauseGivesItsPlaceAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox().add("asking", asking)
		group := replay.Call("asking", `{"text":"60m"}`).Text + "\n" + replay.Call("asking", `{"text":"1h"}`).Text
		start := time.Now()
		turn, _ := must(t, config(func(c *agent.Config) { c.Parallel = -1 }), replay.New(replay.Text(group), replay.Text("done")), b, nil, "go")
		if d := testtime.Since(start); d != time.Hour+2*time.Second { // they wait together and work one after the other
			t.Errorf("the round took %s", d)
		}
		if turn.Stats.Calls != 2 {
			t.Errorf("%+v", turn.Stats)
		}
	})
}

// A turn that is cancelled while a person is waited for ends at once.
func TestPauseEndsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox().add("asking", func(ctx context.Context, _ map[string]any) (string, *tool.Error) {
			defer agent.Pause(ctx)()
			<-ctx.Done()
			return "", &tool.Error{Code: tool.Denied, Msg: "gone"}
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		l, err := agent.New(config(func(c *agent.Config) { c.TimeBudget = 10 * time.Second }), replay.New(replay.Call("asking", `{"text":"x"}`), replay.Text("no")), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := l.Run(ctx, nil, "go")
		if !errors.Is(err, context.Canceled) || turn.Reason != agent.ReasonCancelled {
			t.Errorf("%v, %s", err, turn.Reason)
		}
	})
}

// Outside of a turn there is nothing to stop.
func TestPauseOfNothing(t *testing.T) {
	agent.Pause(t.Context())()
}
