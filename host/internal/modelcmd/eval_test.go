package modelcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent/model/eval"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
)

// A scripted server makes the calls that the questions of package eval want, but for one kind
// of question in one of the modes.
type scripted struct {
	refusesTools bool
	failsAt      eval.Kind // of the native mode; empty: none
	failsByText  eval.Kind

	ends func(question string) // called with each request; nil: no call

	mu    sync.Mutex
	asked map[string]int // by mode and question
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Messages []struct{ Role, Content string }
		Tools    []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	native := len(body.Tools) > 0
	if native && s.refusesTools {
		http.Error(w, `{"error":{"message":"this model does not support tools"}}`, http.StatusBadRequest)
		return
	}
	var q eval.Question
	for _, m := range body.Messages {
		for _, one := range eval.Questions() {
			if m.Role == "user" && strings.Contains(m.Content, one.Ask) {
				q = one
			}
		}
	}
	s.mu.Lock()
	key := fmt.Sprint(native, q.Name)
	n := s.asked[key]
	s.asked[key]++
	s.mu.Unlock()
	if s.ends != nil {
		s.ends(q.Name)
	}
	odd := native && q.Kind == s.failsAt || !native && q.Kind == s.failsByText
	w.Header().Set("Content-Type", "text/event-stream")
	text, calls := s.reply(q, n, native, odd)
	delta, finish := map[string]any{"content": text}, "stop"
	if len(calls) > 0 {
		delta, finish = map[string]any{"tool_calls": calls}, "tool_calls"
	}
	for _, v := range []any{
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}},
		map[string]any{"choices": []any{}, "usage": map[string]int{"prompt_tokens": 500, "completion_tokens": 20}},
	} {
		line, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", line)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// reply is the nth one to a question. An odd one has a call that no tool fits, and then the
// answer without a call.
func (s *scripted) reply(q eval.Question, n int, native, odd bool) (text string, calls []any) {
	if n >= len(q.Steps) || odd && n > 0 {
		return "So it is: " + strings.Join(q.Answer, " "), nil
	}
	for i, want := range q.Steps[n] {
		name := want.Tool
		if odd {
			name = "no_such_tool"
		}
		args := map[string]string{}
		for arg, values := range want.Args {
			args[arg], _, _ = strings.Cut(values, "|")
		}
		raw, _ := json.Marshal(args)
		id := fmt.Sprintf("c%d%d", n, i)
		text += fmt.Sprintf("<tool_call>{\"id\":%q,\"tool_name\":%q,\"arguments\":%s}</tool_call>\n", id, name, raw)
		calls = append(calls, map[string]any{"index": i, "id": id, "function": map[string]string{"name": name, "arguments": string(raw)}})
	}
	if !native {
		calls = nil
	}
	return text, calls
}

// evalOf runs the command against a server, and returns what it prints.
func evalOf(ctx context.Context, t *testing.T, s *scripted, asJSON bool) (string, error) {
	t.Helper()
	s.asked = map[string]int{}
	srv := httptest.NewServer(s)
	defer srv.Close()
	settings, faults := config.Parse(config.FileName, fmt.Sprintf("[agent]\nmodel = \"m\"\n[models.m]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\nwindow = 32768\n[models.m.price]\nprompt = 1\n", srv.URL+"/v1"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var out bytes.Buffer
	c := &Commands{
		Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}, JSON: asJSON},
		Load: func() (config.Paths, config.Loaded, error) {
			return config.Paths{Config: filepath.Join(t.TempDir(), config.FileName)}, config.Loaded{Settings: settings, Secrets: func(string) (string, bool) { return "", false }}, nil
		},
		Log: func(config.LogSettings) hclog.Logger { return hclog.NewNullLogger() },
	}
	err := c.Eval(ctx, "", eval.Options{})
	return out.String(), err
}

// What to set follows from what the model got right in each mode.
func TestEval(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *scripted
		want []string // lines, by their beginnings
	}{
		{"native is better", &scripted{failsByText: eval.InARow}, []string{
			"m: openai m: 40 questions, 86 requests, about ", "MODE    RIGHT  WRONG  MALFORMED  TOKENS", "native  20     0      0          22,360", "prompt  16     4      4          ", `set mode = "native": it was right in 20 of 20 questions`, "  wrong prompt ",
		}},
		{"text is better", &scripted{failsAt: eval.OneTool}, []string{
			"native  14     6      6 ", "prompt  20     0      0 ", `set mode = "prompt": it was right in 20 of 20 questions`, "  wrong native ",
		}},
		{"the provider refuses tools", &scripted{refusesTools: true, failsByText: eval.LoadBack}, []string{
			"prompt  17     3      3 ", "native: the provider's tool calling does not work: ", `set mode = "prompt": it was right in 17 of 20 questions`,
		}},
	} {
		got, err := evalOf(t.Context(), t, c.s, false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, want := range c.want {
			if !strings.Contains("\n"+got, "\n"+want) {
				t.Errorf("%s: no line begins with %q:\n%s", c.name, want, got)
			}
		}
	}
	got, err := evalOf(t.Context(), t, &scripted{failsAt: eval.OneTool}, true)
	var r struct {
		Name, Set string
		Modes     []eval.Row
		Questions []eval.Outcome
	}
	if jsonErr := json.Unmarshal([]byte(got), &r); err != nil || jsonErr != nil || r.Name != "m" || r.Set != "prompt" || len(r.Modes) != 2 || r.Modes[0].Malformed != 6 || len(r.Questions) != 40 {
		t.Errorf("%v %v %+v", err, jsonErr, r)
	}
}

// An interrupt prints what there is by then.
func TestEvalIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := evalOf(ctx, t, &scripted{ends: func(question string) {
		if question == "a greeting" {
			cancel()
		}
	}}, false)
	if !errors.Is(err, context.Canceled) || !strings.Contains(got, "\nnative  ") || strings.Contains(got, "\nprompt  ") || !strings.Contains(got, "not all questions were asked: it was interrupted\n") || !strings.Contains(got, `set mode = "native"`) {
		t.Errorf("%v\n%s", err, got)
	}
}

// A model that is wrong as often as right is none to set a mode for.
func TestEvalOfABadModel(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I do not know.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	settings, _ := config.Parse(config.FileName, fmt.Sprintf("[models.m]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\nnative_tools = false\n", srv.URL+"/v1"))
	var out bytes.Buffer
	c := &Commands{
		Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}},
		Load: func() (config.Paths, config.Loaded, error) {
			return config.Paths{}, config.Loaded{Settings: settings, Secrets: func(string) (string, bool) { return "", false }}, nil
		},
		Log: func(config.LogSettings) hclog.Logger { return hclog.NewNullLogger() },
	}
	err := c.Eval(t.Context(), "m", eval.Options{})
	if code, ok := errors.AsType[term.ExitError](err); !ok || code != term.ExitModel || !strings.Contains(out.String(), "use another model for tools: this one was right in 1 of 20 questions at best\n") || strings.Contains(out.String(), "native") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
