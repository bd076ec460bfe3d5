package ollama

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// showQwen is what a server says about a model that can call tools and think.
const showQwen = `{"capabilities":["completion","tools","thinking"],"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`

// serve runs a server whose /api/show answers show (empty: 404) and whose
// /api/chat is h, and makes a model that asks it without repeats.
func serve(t *testing.T, show string, h http.HandlerFunc, change ...func(*Config)) *Model {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		if show == "" {
			http.Error(w, `{"error":"model 'm' not found"}`, http.StatusNotFound)
			return
		}
		io.WriteString(w, show)
	})
	mux.HandleFunc("POST /api/chat", h)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	cfg := Config{Config: model.Config{Name: "local", BaseURL: srv.URL, Model: "qwen3:8b", HTTP: srv.Client(), Retries: -1, RetryWait: time.Millisecond}}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// lines answers with one JSON object per line.
func lines(ls ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, strings.Join(ls, "\n")+"\n")
	}
}

func text(s string) string {
	return fmt.Sprintf(`{"message":{"role":"assistant","content":%q},"done":false}`, s)
}

func done(reason string) string {
	return fmt.Sprintf(`{"message":{"role":"assistant","content":""},"done":true,"done_reason":%q,"prompt_eval_count":30,"eval_count":4}`, reason)
}

const oneCall = `{"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"name":"grep_search","arguments":{"pattern":"Err"}}}]},"done":false}`

func TestStreams(t *testing.T) {
	usage := &agent.Usage{Prompt: 30, Completion: 4}
	grep := tool.Call{ID: "call_1", Tool: "grep_search", Args: json.RawMessage(`{"pattern":"Err"}`)}
	long := strings.Repeat("水", 400_000) // 1.2 MB in one line
	for _, c := range []struct {
		name  string
		lines []string
		want  modeltest.Reply
	}{
		{"plain", []string{text("Hel"), text("lo"), done("stop")}, modeltest.Reply{Text: "Hello", Usage: usage, Finish: "stop"}},
		{"thought kept apart", []string{`{"message":{"thinking":"hm"}}`, text("42"), done("stop")}, modeltest.Reply{Reasoning: "hm", Text: "42", Usage: usage, Finish: "stop"}},
		{"cut by the limit", []string{text("Hel"), done("length")}, modeltest.Reply{Text: "Hel", Usage: usage, Finish: "length"}},
		{"a call", []string{text("I look."), oneCall, done("stop")}, modeltest.Reply{Text: "I look.", Calls: []tool.Call{grep}, Usage: usage, Finish: "tool_calls"}},
		{"arguments as a string, from a proxy", []string{`{"message":{"tool_calls":[{"id":"call_1","function":{"name":"grep_search","arguments":"{\"pattern\":\"Err\"}"}}]}}`, done("stop")},
			modeltest.Reply{Calls: []tool.Call{grep}, Usage: usage, Finish: "tool_calls"}},
		{"no arguments", []string{`{"message":{"tool_calls":[{"id":"a","function":{"name":"clock"}}]}}`, done("stop")},
			modeltest.Reply{Calls: []tool.Call{{ID: "a", Tool: "clock", Args: json.RawMessage("{}")}}, Usage: usage, Finish: "tool_calls"}},
		{"empty lines and CRLF", []string{"", text("Hi") + "\r", "\r", done("stop") + "\r"}, modeltest.Reply{Text: "Hi", Usage: usage, Finish: "stop"}},
		{"no counts", []string{text("Hi"), `{"done":true}`}, modeltest.Reply{Text: "Hi", Finish: "stop"}},
		{"1.2 MB in one line", []string{text(long), done("stop")}, modeltest.Reply{Text: long, Usage: usage, Finish: "stop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modeltest.Ask(t.Context(), serve(t, showQwen, lines(c.lines...)), modeltest.Hello())
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(modeltest.Reply{}, "Deltas")); d != "" || err != nil {
				t.Errorf("%v; reply (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestMissingIDsAreMadeUp(t *testing.T) {
	m := serve(t, showQwen, lines(`{"message":{"tool_calls":[{"function":{"name":"clock"}},{"function":{"name":"clock"}}]}}`, done("stop")))
	got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
	if err != nil || len(got.Calls) != 2 || got.Calls[0].ID == "" || got.Calls[0].ID == got.Calls[1].ID {
		t.Errorf("%v, %v; want two calls with ids of their own", got.Calls, err)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	body := strings.Join([]string{`{"message":{"thinking":"hm"}}`, text("水 ok"), oneCall, done("stop")}, "\n") + "\n"
	complete := len(body) - 1 // the last line end may be missing
	for how, abort := range map[string]bool{"clean": false, "reset": true} {
		t.Run(how, func(t *testing.T) {
			at := len(body)
			m := serve(t, showQwen, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, body[:at])
				if abort {
					http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			whole, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
			if err != nil {
				t.Fatalf("uncut: %v", err)
			}
			for at = range len(body) {
				got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
				switch {
				case !strings.HasPrefix(whole.Text, got.Text):
					t.Errorf("cut at %d: %q", at, got.Text)
				case err == nil && (at < complete || !cmp.Equal(got, whole)):
					t.Errorf("cut at %d: taken for complete: %+v", at, got)
				case err != nil && (len(got.Calls) > 0 || !agent.IsModelCode(err, agent.ModelCut)):
					t.Errorf("cut at %d: %v, calls %v; want code cut and no call", at, err, got.Calls)
				}
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		code agent.ModelCode
		says string
	}{
		{"not pulled", modeltest.Fail(404, `{"error":"model 'qwen3:8b' not found"}`), agent.ModelNotFound, "ollama pull qwen3:8b"},
		{"not Ollama", modeltest.Fail(404, "404 page not found"), agent.ModelNotFound, "root of an Ollama server"},
		{"no tools", modeltest.Fail(400, `{"error":"registry.ollama.ai/library/gemma does not support tools"}`), agent.ModelBadRequest, "native_tools = false"},
		{"too long", modeltest.Fail(400, `{"error":"the input length exceeds the context length"}`), agent.ModelWindow, "window"},
		{"busy", modeltest.Fail(503, `{"error":"server busy, please try again."}`), agent.ModelOverloaded, "busy"},
		{"a call it cannot read", modeltest.Fail(500, `{"error":"error parsing tool call: raw='{' err=unexpected end"}`), agent.ModelGarbage, "native_tools = false"},
		{"the same in the stream", lines(text("x"), `{"error":"error parsing tool call: raw='{'"}`), agent.ModelGarbage, "native_tools = false"},
		{"fails in the stream", lines(text("x"), `{"error":"llama runner process has terminated"}`), agent.ModelOverloaded, "runner"},
		{"not JSON", lines("<html>"), agent.ModelGarbage, "base_url"},
		{"JSON of another kind", lines(`["x"]`), agent.ModelGarbage, "base_url"},
		{"nothing", modeltest.Fail(200, ""), agent.ModelCut, ""},
		{"a key is wanted", modeltest.Fail(401, ""), agent.ModelAuth, "none is set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modeltest.Ask(t.Context(), serve(t, "", c.h), modeltest.Hello())
			if !agent.IsModelCode(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v; want code %s that says %q", got, err, c.code, c.says)
			}
		})
	}
}

func TestServerNotRunning(t *testing.T) {
	free := modeltest.Free(t)
	m, err := New(Config{Config: model.Config{Model: "m", BaseURL: "http://" + free, Retries: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); !agent.IsModelCode(err, agent.ModelUnreachable) || !strings.Contains(err.Error(), "ollama serve") {
		t.Errorf("%v; want unreachable with the command that starts it", err)
	}
	if info, err := m.Describe(t.Context()); err == nil || info.Window != DefaultWindow {
		t.Errorf("%+v, %v; want an error with what is known", info, err)
	}
}

func TestRepeatsOnlyBeforeTheFirstDelta(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, text("H")+"\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	ok := lines(text("Hi"), done("stop"))
	for _, c := range []struct {
		name  string
		first http.HandlerFunc
		hits  int32
		code  agent.ModelCode
	}{
		{"busy, then success", modeltest.Fail(503, `{"error":"server busy"}`), 2, ""},
		{"reset, then success", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, ""},
		{"not pulled", modeltest.Fail(404, `{"error":"model not found"}`), 1, agent.ModelNotFound},
		{"after the first delta", cut, 1, agent.ModelCut},
	} {
		t.Run(c.name, func(t *testing.T) {
			var hits atomic.Int32
			m := serve(t, showQwen, func(w http.ResponseWriter, r *http.Request) {
				if hits.Add(1) == 1 {
					c.first(w, r)
					return
				}
				ok(w, r)
			}, func(cfg *Config) { cfg.Retries = 2 })
			_, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
			if hits.Load() != c.hits || c.code == "" && err != nil || c.code != "" && !agent.IsModelCode(err, c.code) {
				t.Errorf("%v after %d tries; want code %q after %d", err, hits.Load(), c.code, c.hits)
			}
		})
	}
}

func TestSilenceAndLeaving(t *testing.T) {
	gone := make(chan struct{}, 2)
	m := serve(t, showQwen, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, text("H")+"\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}, func(c *Config) { c.StallTimeout = 50 * time.Millisecond })
	if _, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); !agent.IsModelCode(err, agent.ModelCut) {
		t.Errorf("%v; want code cut", err)
	}
	<-gone
	for range m.Generate(t.Context(), modeltest.Hello()) {
		break
	}
	<-gone
}

func TestKeyStaysOutOfErrors(t *testing.T) {
	const canary = "sk-canary-7f3a9b2c1d"
	for _, status := range []int{400, 401, 403, 404, 429, 500} {
		m := serve(t, "", modeltest.Fail(status, fmt.Sprintf(`{"error":"bad %s"}`, canary)), func(c *Config) { c.Key = canary })
		modeltest.Hides(t, m, canary)
	}
}

// A reply is bounded while it is read, as one of OpenAI's API is.
func TestRepliesAreBounded(t *testing.T) {
	made := func(c http.RoundTripper) (agent.Model, error) {
		return New(Config{Config: model.Config{Model: "m", RetryWait: time.Millisecond, BaseURL: "http://x.invalid", HTTP: &http.Client{Transport: c}}})
	}
	call := func(args string) string {
		return `{"message":{"tool_calls":[{"function":{"name":"r","arguments":` + args + `}}]}}` + "\n"
	}
	modeltest.Bounded(t, "application/x-ndjson", made, "", map[string]string{
		"arguments": call(`{"s":"` + strings.Repeat("y", 1<<16) + `"}`),
		"calls":     call("{}"),
		"empty":     text("") + "\n",
		"values":    `{"message":{"tool_calls":[` + strings.Repeat("{},", 500_000) + "{}]}}\n",
	})
}
