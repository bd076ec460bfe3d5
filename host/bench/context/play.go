package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
)

const (
	// window is the scripted model's context window, in tokens, where it has one.
	window = 200_000
	// shownChars is the limit of a result where there is one, in characters. A tool
	// that declares none follows the window: 24,000 for this one.
	shownChars = 8_000
)

// A variant is one way to treat results.
type variant struct {
	name          string
	limits, folds bool
	reload        reload
	asks          bool // for the facts, at the end
	target        bool // has to save what is promised
}

// A reload says what every turn but the first loads back of the turn before.
type reload int

const (
	nothing     reload = iota
	aPart              // two hundred lines, in a round of its own
	aWhole             // everything, beside the turn's other call as the prompt teaches it
	aWholeAlone        // everything, in a round of its own
)

var variants = []variant{
	{name: "everything kept"},
	{name: "limits only", limits: true},
	{name: "placeholders", limits: true, folds: true, asks: true, target: true},
	{name: "placeholders, each turn loads a part back", limits: true, folds: true, reload: aPart, target: true},
	{name: "placeholders, each turn loads a whole result back", limits: true, folds: true, reload: aWhole, target: true},
	{name: "the same, in a round of its own", limits: true, folds: true, reload: aWholeAlone, target: true},
}

// config is the agent's part of a variant.
func (v variant) config(c *clock) agent.Config {
	cfg := agent.Defaults()
	cfg.MemoryLimit, cfg.Window, cfg.Now = -1, window, c.now
	if v.limits {
		most := shownChars
		cfg.MaxToolResultLength = &most
	} else {
		all, none := endless, 0
		cfg.MaxToolResultLength, cfg.RoundChars, cfg.Window = &all, &none, -1
	}
	if !v.folds {
		cfg.ArchiveThreshold = -1
	}
	return cfg
}

// A played is what a session came to under a variant.
type played struct {
	name   string
	target bool
	bill   *bill
	shown  int
	finds  []found
}

// play runs the session.
func (s *session) play(ctx context.Context, v variant) (p played, err error) {
	p = played{name: v.name, target: v.target, bill: new(bill)}
	c := new(clock)
	h, err := openHost(ctx, v.limits, c.now)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	var history []agent.Message
	for turn := 1; turn <= turns; turn++ {
		c.turn.Add(1)
		m := replay.Func(func(n int, r agent.Request) replay.Reply { return s.reply(v, turn, n, r) })
		out, err := s.turn(ctx, h, m, v.config(c), history, fmt.Sprintf(s.lang.question, path(turn)))
		if err != nil {
			return p, err
		}
		if want := fmt.Sprintf(s.lang.answer, path(turn)); out.Answer != want {
			return p, fmt.Errorf("turn %d answered %q, not %q", turn, out.Answer, want)
		}
		history = out.Messages
		p.bill.add(m.Requests())
		p.shown += s.shown(turn, m.Requests())
	}
	if v.asks {
		c.turn.Add(1)
		p.finds, err = s.findAll(ctx, h, v.config(c), history)
	}
	return p, err
}

// turn asks one question. The session is a new one each time, as in a daemon.
func (s *session) turn(ctx context.Context, h *host.Host, m *replay.Model, cfg agent.Config, history []agent.Message, question string) (agent.Turn, error) {
	loop, err := agent.New(cfg, m, toolbox{h.Session("eval", "manual"), s.chapters}, nil)
	if err != nil {
		return agent.Turn{}, err
	}
	out, err := loop.Run(ctx, history, question)
	if err == nil && out.Reason != agent.ReasonAnswer {
		err = fmt.Errorf("a turn ended with %s", out.Reason)
	}
	return out, err
}

// reply is what the scripted model says in a turn: it reads the chapter, loads
// an earlier one back where the variant wants that, and answers.
func (s *session) reply(v variant, turn, n int, r agent.Request) replay.Reply {
	read := replay.Call(readTool, fmt.Sprintf(`{"path":%q}`, path(turn)))
	load := func(selectors string) replay.Reply {
		ids := placeholders(r, "")
		if len(ids) == 0 {
			return replay.Text("there is no placeholder")
		}
		return replay.Call(loadTool, fmt.Sprintf(`{"uuid":%q%s}`, ids[len(ids)-1], selectors))
	}
	switch {
	case n == 0 && v.reload == aWhole && turn > 1:
		return replay.Text(read.Text + "\n" + load("").Text)
	case n == 0:
		return read
	case n == 1 && v.reload == aPart && turn > 1:
		return load(`,"lines":"201-400"`)
	case n == 1 && v.reload == aWholeAlone && turn > 1:
		return load("")
	}
	return replay.Text(fmt.Sprintf(s.lang.answer, path(turn)))
}

// placeholderHead finds the ids of placeholders in both languages.
var placeholderHead = regexp.MustCompile(`📎 \[(?:Tool result archived|工具结果存档): ([0-9a-f-]{36})\]`)

// placeholders lists the ids of the placeholders that a model sees, or of those
// alone that name about near their beginning.
func placeholders(r agent.Request, about string) []string {
	var ids []string
	for _, m := range r.Messages {
		for _, at := range placeholderHead.FindAllStringSubmatchIndex(m.Text, -1) {
			rest := m.Text[at[1]:]
			if strings.Contains(rest[:min(len(rest), 400)], about) {
				ids = append(ids, m.Text[at[2]:at[3]])
			}
		}
	}
	return ids
}

// shown counts the facts of a turn's chapter that the model saw in that turn.
func (s *session) shown(turn int, requests []agent.Request) int {
	n := 0
	for _, f := range s.facts {
		if f.path != path(turn) {
			continue
		}
		for _, r := range requests {
			if sees(s.lang, f, r) != "" {
				n++
				break
			}
		}
	}
	return n
}

// sees returns the fact's value if the request contains it, else "".
func sees(l language, f fact, r agent.Request) string {
	for _, m := range r.Messages {
		if value, ok := l.read(f, m.Text); ok {
			return value
		}
	}
	return ""
}
