package provider

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// gauges are river, with a level for each place, and the tool for scripts. They are safe
// for concurrent use.
type gauges struct {
	TestOptions

	mu       sync.Mutex
	inScript int // calls that scripts made
}

// levels are the answers by place; the highest is what the model has to find.
var levels = map[string]string{"north": "1.84", "south": "2.31", "east": "3.07", "west": "0.96"}

const highest = "3.07"

func (g *gauges) Tools() []tool.Spec { return append(new(river).Tools(), g.Script) }

func (g *gauges) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if c.Tool != g.Script.Name {
		return g.level(c), nil
	}
	var args struct{ Code string }
	if json.Unmarshal(c.Args, &args) != nil || args.Code == "" {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: tool.Errorf(tool.BadArgs, "", "the argument is code, a script")}, nil
	}
	return g.RunScript(ctx, args.Code, inScript{g})
}

// level answers one call.
func (g *gauges) level(c tool.Call) tool.Result {
	var args struct{ Place string }
	r := tool.Result{CallID: c.ID, Tool: c.Tool}
	if json.Unmarshal(c.Args, &args) != nil || levels[strings.ToLower(args.Place)] == "" {
		r.Err = tool.Errorf(tool.BadArgs, "", "the places are north, south, east and west")
		return r
	}
	r = r.WithWhole(levels[strings.ToLower(args.Place)])
	r.Shown = tool.View{Text: r.Whole(), TotalChars: len(r.Whole()), TotalLines: 1}
	return r
}

// inScript is what a script may call.
type inScript struct{ g *gauges }

func (s inScript) Tools() []tool.Spec { return new(river).Tools() }

func (s inScript) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	s.g.mu.Lock()
	s.g.inScript++
	s.g.mu.Unlock()
	return s.g.level(c), nil
}

// script runs one turn whose question a script answers. A model that does not write one
// is not at fault: it calls tools one by one.
func (t *tester) script(ctx context.Context) {
	if t.RunScript == nil {
		return
	}
	cfg := agent.Defaults()
	cfg.Mode, cfg.Locale, cfg.MaxToolCalls, cfg.MaxTokens = agent.ModePrompt, t.Locale, 4, testTokens
	if *t.NativeTools {
		cfg.Mode = agent.ModeNative
	}
	box := &gauges{TestOptions: t.TestOptions}
	var out agent.Turn
	s := t.step(ctx, StepScript, func(ctx context.Context) error {
		loop, err := agent.New(cfg, t.model, box, nil)
		if err == nil {
			out, err = loop.Run(ctx, nil, scriptQuestion(t.Locale))
		}
		return err
	})
	t.Usage = t.Usage.Add(out.Usage)
	if s.OK {
		writes := box.inScript >= len(levels) && strings.Contains(out.Answer, highest)
		t.Scripts = &writes
		if s.OK = writes; writes {
			s.Msg = tool.Textf("the model writes scripts that call tools")
		} else {
			s.Msg = tool.Textf("the model wrote no script that works")
			s.Hint = tool.Textf("it calls tools one by one instead; nothing has to be changed")
		}
	}
	t.add(s)
}

func scriptQuestion(l tool.Locale) string {
	if l == tool.Zh {
		return "north、south、east、west 四处中，哪一处的河水水位最高，是多少？请用一个脚本（run_script）查询全部四处。"
	}
	return "Which of the places north, south, east and west has the highest level of the river, and how high is it? Ask for all four in one script, with run_script."
}
