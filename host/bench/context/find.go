package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
)

// A way is how a model comes by a fact that it does not see.
type way struct {
	name     string
	question func(language, fact) string
	next     func(f fact, n int, r agent.Request) replay.Reply
}

var ways = []way{
	{
		"by the placeholder of its chapter",
		func(l language, f fact) string { return fmt.Sprintf(l.ask, f.path, f.gauge) },
		func(f fact, _ int, r agent.Request) replay.Reply {
			ids := placeholders(r, f.path)
			if len(ids) == 0 {
				return replay.Text("there is no placeholder of that chapter")
			}
			return replay.Call(loadTool, fmt.Sprintf(`{"uuid":%q,"grep":%q}`, ids[0], f.gauge))
		},
	},
	{
		"by search, without knowing the chapter",
		func(l language, f fact) string { return fmt.Sprintf(l.askBlind, f.gauge) },
		func(f fact, n int, r agent.Request) replay.Reply {
			if n == 0 {
				return replay.Call(searchTool, fmt.Sprintf(`{"query":%q}`, f.gauge))
			}
			m := searchHit.FindStringSubmatch(r.Messages[len(r.Messages)-1].Text)
			if m == nil {
				return replay.Text("the search found nothing")
			}
			return replay.Call(loadTool, fmt.Sprintf(`{"uuid":%q,"lines":"%s-%s"}`, m[1], m[2], m[2]))
		},
	},
}

// searchHit finds the first result and its first line in what a search says.
var searchHit = regexp.MustCompile(`uuid=([0-9a-f-]{36})[^\n]*\n(\d+): `)

// A found says how many facts were reached, and by how many calls.
type found struct {
	way     string
	byCalls [mostCalls + 1]int
}

func (f found) total() int {
	n := 0
	for _, k := range f.byCalls {
		n += k
	}
	return n
}

// findAll asks for every fact, in each way, as the question after the session.
func (s *session) findAll(ctx context.Context, h *host.Host, cfg agent.Config, history []agent.Message) ([]found, error) {
	var out []found
	for _, w := range ways {
		one := found{way: w.name}
		for _, f := range s.facts {
			calls, err := s.find(ctx, h, cfg, history, w, f)
			if err != nil {
				return nil, err
			}
			if calls >= 0 && calls <= mostCalls {
				one.byCalls[calls]++
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// find asks for one fact and returns the calls that it took; -1: it was not
// found. The model answers as soon as it sees the value and goes on calling
// while it does not.
func (s *session) find(ctx context.Context, h *host.Host, cfg agent.Config, history []agent.Message, w way, f fact) (int, error) {
	cfg.MaxToolCalls = mostCalls + 1
	m := replay.Func(func(n int, r agent.Request) replay.Reply {
		if value := sees(s.lang, f, r); value != "" {
			return replay.Text(value)
		}
		if n > mostCalls {
			return replay.Text("not found")
		}
		return w.next(f, n, r)
	})
	out, err := s.turn(ctx, h, m, cfg, history, w.question(s.lang, f))
	if err != nil {
		return -1, fmt.Errorf("%s %s: %w", w.name, f.gauge, err)
	}
	if out.Answer != fmt.Sprint(f.value) {
		return -1, nil
	}
	return out.Stats.Calls, nil
}
