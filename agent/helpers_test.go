package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// box is a Toolbox in memory. It archives what is over 1,000 characters and
// cuts by each tool's own limit, as a host does.
type box struct {
	specs []tool.Spec
	run   map[string]func(ctx context.Context, args map[string]any) (string, *tool.Error)

	mu      sync.Mutex
	calls   []tool.Call
	shows   tool.Limits // in place of the specs' for results; zero: theirs
	entries *tool.Entries
	archive map[string]string
	kept    map[string]string // uuid by tool, arguments and text
	stop    error             // returned as the Go error of every call
}

func newBox() *box {
	return &box{run: map[string]func(context.Context, map[string]any) (string, *tool.Error){}, archive: map[string]string{}, kept: map[string]string{}}
}

// add gives the box a tool with one required string argument, text.
func (b *box) add(name string, f func(ctx context.Context, args map[string]any) (string, *tool.Error)) *box {
	b.specs = append(b.specs, tool.Spec{
		Name: name, Description: "Test tool " + name + ".",
		Params: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"the text"}},"required":["text"]}`),
		Output: tool.Limits{MaxChars: tool.DefaultMaxChars, MaxLines: tool.DefaultMaxLines},
		Hints:  tool.Hints{ReadOnly: true},
	})
	b.run[name] = f
	return b
}

// says gives the box a tool that always returns text.
func (b *box) says(name, text string) *box {
	return b.add(name, func(context.Context, map[string]any) (string, *tool.Error) { return text, nil })
}

// loads gives the box load_tool_history over what it archived.
func (b *box) loads() *box {
	b.specs = append(b.specs, tool.Spec{
		Name: "load_tool_history", Description: "Loads an archived tool result.",
		Params: json.RawMessage(`{"type":"object","properties":{"uuid":{"type":"string"},"lines":{"type":"string"},"offset":{"type":"integer"}},"required":["uuid"]}`),
	})
	return b
}

func (b *box) Tools() []tool.Spec { return b.specs }

func (b *box) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	b.mu.Lock()
	b.calls = append(b.calls, c)
	n := len(b.calls)
	b.mu.Unlock()
	if b.stop != nil {
		return tool.Result{}, b.stop
	}
	var args map[string]any
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: tool.Errorf(tool.BadArgs, "send an object", "the arguments are no JSON object")}, nil
	}
	if c.Tool == "load_tool_history" {
		return b.load(c, args), nil
	}
	text, fail := b.run[c.Tool](ctx, args)
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if fail != nil {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: fail}, nil
	}
	return b.keep(c, text, fmt.Sprintf("00000000-0000-4000-8000-%012d", n)), nil
}

func (b *box) keep(c tool.Call, text, uuid string) tool.Result {
	chars, lines := limit.Count(text)
	res := tool.Result{CallID: c.ID, Tool: c.Tool, Entries: b.entries}.WithWhole(text)
	if chars > 1000 {
		again := false
		key := c.Tool + string(c.Args) + text
		b.mu.Lock()
		if b.kept[key] != "" {
			uuid, again = b.kept[key], true
		}
		b.archive[uuid], b.kept[key] = text, uuid
		b.mu.Unlock()
		res.Ref = &tool.Ref{UUID: uuid, Again: again, Query: string(c.Args), Summary: firstChars(text, 500), Chars: chars, Lines: lines,
			CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	}
	var l tool.Limits
	for _, s := range b.specs {
		if s.Name == c.Tool {
			l = s.Output
		}
	}
	if b.shows.MaxChars > 0 {
		l = b.shows
	}
	res.Shown = limit.Fit(res, l, limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool})
	return res
}

func (b *box) load(c tool.Call, args map[string]any) tool.Result {
	uuid, _ := args["uuid"].(string)
	b.mu.Lock()
	text, ok := b.archive[uuid]
	b.mu.Unlock()
	if !ok {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: tool.Errorf(tool.BadArgs, "", "no such archive")}
	}
	offset := 0
	if f, ok := args["offset"].(float64); ok {
		offset = int(f)
	}
	keep, _ := args["keep_turns"].(float64)
	chars, _ := limit.Count(text)
	res := tool.Result{CallID: c.ID, Tool: c.Tool, Ephemeral: true, Load: &tool.Load{UUID: uuid, Offset: offset, Chars: chars, KeepTurns: int(keep)}}
	rest := string([]rune(text)[offset:])
	res = res.WithWhole(rest)
	res.Shown = limit.Fit(res, tool.Limits{MaxChars: 32768, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerLoad, Lines: tool.LayerLoad})
	return res
}

func (b *box) called() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, c := range b.calls {
		out = append(out, c.Tool+string(c.Args))
	}
	return out
}

func firstChars(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

// events collects what an Observer sees.
type events struct{ all []agent.Event }

func (e *events) Observe(ev agent.Event) { e.all = append(e.all, ev) }

func of[T agent.Event](e *events) []T {
	var out []T
	for _, ev := range e.all {
		if v, ok := ev.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// text joins what was shown to the person.
func (e *events) text() string {
	var b strings.Builder
	for _, d := range of[agent.TextDelta](e) {
		b.WriteString(d.Text)
	}
	return b.String()
}

func fixedNow() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// config is the usual Config with a clock that is still.
func config(change ...func(*agent.Config)) agent.Config {
	cfg := agent.Defaults()
	cfg.Now = fixedNow
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// ask runs one turn.
func ask(t *testing.T, cfg agent.Config, m agent.Model, tb agent.Toolbox, history []agent.Message, question string) (agent.Turn, *events, error) {
	t.Helper()
	ev := &events{}
	l, err := agent.New(cfg, m, tb, ev)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := l.Run(t.Context(), history, question)
	return turn, ev, err
}

// must is ask for turns that do not fail.
func must(t *testing.T, cfg agent.Config, m agent.Model, tb agent.Toolbox, history []agent.Message, question string) (agent.Turn, *events) {
	t.Helper()
	turn, ev, err := ask(t, cfg, m, tb, history, question)
	if err != nil {
		t.Fatal(err)
	}
	return turn, ev
}

// lines returns n numbered lines of about width characters.
func lines(n, width int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d %s\n", i+1, strings.Repeat("x", width))
	}
	return b.String()
}

var errBoom = errors.New("boom")

// lastText is the text of a request's last message.
func lastText(m *replay.Model, n int) string {
	msgs := m.Requests()[n].Messages
	return msgs[len(msgs)-1].Text
}
