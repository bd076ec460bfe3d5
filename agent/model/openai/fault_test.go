package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
)

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   agent.ModelCode
		says   []string // in the sentence or the hint
	}{
		{"OpenAI, wrong key", 401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, agent.ModelAuth, []string{"Incorrect API key", "TEST_KEY"}},
		{"403 on a model", 403, `{"error":{"message":"no access"}}`, agent.ModelAuth, []string{"403", "no access"}},
		{"Ark, account overdue", 403, `{"error":{"code":"AccountOverdueError","message":"overdue balance"}}`, agent.ModelRateLimited, []string{"balance", "top up"}},
		{"DeepSeek, no balance", 402, `{"error":{"message":"Insufficient Balance"}}`, agent.ModelRateLimited, []string{"top up"}},
		{"OpenAI, unknown model", 404, `{"error":{"message":"The model 'm-1' does not exist or you do not have access to it.","code":"model_not_found"}}`, agent.ModelNotFound, []string{`"m-1"`, "/v1/models"}},
		{"DeepSeek, unknown model", 400, `{"error":{"message":"Model Not Exist"}}`, agent.ModelNotFound, []string{`"m-1"`}},
		{"vLLM, unknown model", 404, `{"object":"error","message":"The model m-1 does not exist.","code":404}`, agent.ModelNotFound, []string{`"m-1"`}},
		{"Ark, model not opened", 404, `{"error":{"code":"ModelNotOpen","message":"Your account 2100 has not activated the model m-1."}}`, agent.ModelNotFound, []string{"not opened", "console"}},
		{"Ark, endpoint closed", 400, `{"error":{"code":"InvalidEndpoint.ClosedEndpoint","message":"closed"}}`, agent.ModelNotFound, []string{"not opened"}},
		{"wrong path", 404, "404 page not found", agent.ModelNotFound, []string{"address", "/chat/completions"}},
		{"wrong path, FastAPI", 404, `{"detail":"Not Found"}`, agent.ModelNotFound, []string{"address"}},
		{"a web server", 405, "<html>Method Not Allowed</html>", agent.ModelNotFound, []string{"405", "base_url"}},
		{"OpenAI, too long", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`, agent.ModelWindow, []string{"8192", "window"}},
		{"llama.cpp, too long", 400, `{"error":{"code":400,"message":"request (9412 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error"}}`, agent.ModelWindow, []string{"9412"}},
		{"Qwen, too long", 400, `{"error":{"message":"Range of input length should be [1, 98304]"}}`, agent.ModelWindow, nil},
		{"a proxy's size limit", 413, "", agent.ModelWindow, []string{"413"}},
		{"vLLM without tool parser", 400, `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`, agent.ModelBadRequest, []string{"native_tools = false"}},
		{"bad value", 400, `{"error":{"message":"temperature must be below 2"}}`, agent.ModelBadRequest, []string{"temperature must be below 2", "[models.test]"}},
		{"validation list", 422, `{"detail":[{"loc":["body"],"msg":"bad"}]}`, agent.ModelBadRequest, []string{"422"}},
		{"rate", 429, `{"error":{"message":"slow down"}}`, agent.ModelRateLimited, []string{"slow down"}},
		{"quota", 429, `{"error":{"code":"insufficient_quota","message":"You exceeded your quota"}}`, agent.ModelRateLimited, []string{"top up"}},
		{"broken", 500, `{"error":"boom"}`, agent.ModelOverloaded, []string{"500", "boom"}},
		{"tools without --jinja", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, agent.ModelBadRequest, []string{"native_tools = false"}},
		{"a llama.cpp before tools", 500, `{"code":500,"message":"Unsupported param: tools","type":"server_error"}`, agent.ModelBadRequest, []string{"native_tools = false"}},
		{"loading", 503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, agent.ModelOverloaded, []string{"Loading model"}},
		{"gateway page", 502, "<html><body>Bad Gateway</body></html>", agent.ModelOverloaded, []string{"502"}},
		{"empty 200 that is no stream", 204, "", agent.ModelNotFound, []string{"204"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := modeltest.Ask(t.Context(), serve(t, modeltest.Fail(c.status, c.body)), modeltest.Hello())
			var me *agent.ModelError
			if !errors.As(err, &me) || me.Code != c.code || me.Status != c.status || me.Model != "test" {
				t.Fatalf("%#v; want code %s", err, c.code)
			}
			for _, s := range c.says {
				if !strings.Contains(me.Error(), s) {
					t.Errorf("%q does not say %q", me.Error(), s)
				}
			}
			if strings.Contains(me.Error(), "<html") || strings.Contains(me.Error(), "\n") {
				t.Errorf("%q is not one sentence", me.Error())
			}
		})
	}
}

func TestNoKeySet(t *testing.T) {
	m := serve(t, modeltest.Fail(401, ""), func(c *Config) { c.Key = "" })
	if _, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); !agent.IsModelCode(err, agent.ModelAuth) || !strings.Contains(err.Error(), "none is set") {
		t.Errorf("%v", err)
	}
}

func TestFailuresInsideTheStream(t *testing.T) {
	for _, c := range []struct {
		name, body string
		code       agent.ModelCode
	}{
		{"vLLM, too long", events(`{"error":{"message":"maximum context length is 100","code":400}}`), agent.ModelWindow},
		{"overloaded", events(delta("content", "x"), `{"error":{"message":"busy","code":503}}`), agent.ModelOverloaded},
		{"rate", events(`{"error":{"message":"Rate limit reached","type":"rate_limit_error"}}`), agent.ModelRateLimited},
		{"no words for it", events(delta("content", "x"), `{"error":{}, "choices":[{"finish_reason":"insufficient_system_resource"}]}`), agent.ModelOverloaded},
		{"filtered", events(delta("content", "x"), finish("content_filter")), agent.ModelBadRequest},
		{"not JSON", events(delta("content", "x"), "oops"), agent.ModelGarbage},
		{"JSON of another kind", events(`[1,2]`), agent.ModelGarbage},
		{"[DONE] at once", events(done), agent.ModelCut},
		{"nothing", "", agent.ModelCut},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := modeltest.Ask(t.Context(), serve(t, modeltest.SSE(c.body)), modeltest.Hello()); !agent.IsModelCode(err, c.code) {
				t.Errorf("%+v, %v; want code %s", got, err, c.code)
			}
		})
	}
}

func TestGarbageForAnAnswer(t *testing.T) {
	for name, c := range map[string]struct{ kind, body string }{
		"a web page":       {"text/html; charset=utf-8", "<html>Welcome to nginx!</html>"},
		"plain text":       {"text/plain", "hello"},
		"JSON of no chat":  {"application/json", `{"status":"ok"}`},
		"broken JSON":      {"application/json", `{"choices":]}`},
		"bytes, no stream": {"application/octet-stream", "\x00\x01\xff\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, modeltest.Say(c.kind, c.body))
			_, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
			if !agent.IsModelCode(err, agent.ModelGarbage) || !strings.Contains(err.Error(), "base_url") {
				t.Errorf("%v; want garbage with a hint at base_url", err)
			}
		})
	}
}

// script answers one handler after the other, the last one for ever.
func script(hits *atomic.Int32, steps ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := int(hits.Add(1))
		steps[min(n, len(steps))-1](w, r)
	}
}

func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestRepeats(t *testing.T) {
	ok := modeltest.SSE(events(delta("content", "Hi"), finish("stop"), done))
	resetAfter := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			modeltest.SSE(body)(w, r)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, c := range []struct {
		name  string
		steps []http.HandlerFunc
		hits  int32
		code  agent.ModelCode // empty: an answer
	}{
		{"500 and 503, then success", []http.HandlerFunc{modeltest.Fail(500, ""), modeltest.Fail(503, ""), ok}, 3, ""},
		{"429 that asks for 5 ms", []http.HandlerFunc{modeltest.Fail(429, "", "Retry-After-Ms", "5"), ok}, 2, ""},
		{"a date that has passed", []http.HandlerFunc{modeltest.Fail(429, "", "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), ok}, 2, ""},
		{"reset before any answer", []http.HandlerFunc{reset, ok}, 2, ""},
		{"cut before the first delta", []http.HandlerFunc{resetAfter(": ping\n\n"), ok}, 2, ""},
		{"busy, told inside the stream, before the first delta", []http.HandlerFunc{modeltest.SSE(events(`{"error":{"message":"busy","code":503}}`)), ok}, 2, ""},
		{"for ever", []http.HandlerFunc{modeltest.Fail(500, "")}, 3, agent.ModelOverloaded},
		{"429 that asks for an hour", []http.HandlerFunc{modeltest.Fail(429, "", "Retry-After", "3600"), ok}, 1, agent.ModelRateLimited},
		{"no quota", []http.HandlerFunc{modeltest.Fail(429, `{"error":{"code":"insufficient_quota"}}`), ok}, 1, agent.ModelRateLimited},
		{"400", []http.HandlerFunc{modeltest.Fail(400, ""), ok}, 1, agent.ModelBadRequest},
		{"401", []http.HandlerFunc{modeltest.Fail(401, ""), ok}, 1, agent.ModelAuth},
		{"404", []http.HandlerFunc{modeltest.Fail(404, ""), ok}, 1, agent.ModelNotFound},
		{"garbage", []http.HandlerFunc{modeltest.SSE(events("oops")), ok}, 1, agent.ModelGarbage},
		{"after the first delta", []http.HandlerFunc{resetAfter(events(delta("content", "H"))), ok}, 1, agent.ModelCut},
	} {
		t.Run(c.name, func(t *testing.T) {
			var hits atomic.Int32
			var told int32
			m := serve(t, script(&hits, c.steps...), func(cfg *Config) {
				cfg.Retries = 2
				cfg.OnRetry = func(err error, _ time.Duration) {
					told++
					if err == nil {
						t.Error("a repeat without its reason")
					}
				}
			})
			got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
			if c.code != "" && !agent.IsModelCode(err, c.code) || c.code == "" && (err != nil || got.Text != "Hi") {
				t.Errorf("%+v, %v; want code %q", got, err, c.code)
			}
			if hits.Load() != c.hits || told != c.hits-1 {
				t.Errorf("asked %d times, %d repeats told; want %d", hits.Load(), told, c.hits)
			}
		})
	}
}

func TestRetryAfterIsHandedOn(t *testing.T) {
	_, err := modeltest.Ask(t.Context(), serve(t, modeltest.Fail(429, "", "Retry-After", "7")), modeltest.Hello())
	var me *agent.ModelError
	if !errors.As(err, &me) || me.RetryAfter != 7*time.Second {
		t.Errorf("%v; want RetryAfter 7 s", err)
	}
}

func TestOptionalFieldsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ refused, complaint string }{
		"stream_options": {`"stream_options"`, `{"error":{"message":"Unknown field stream_options"}}`},
		"max_tokens":     {`"max_tokens"`, `{"error":{"message":"Use 'max_completion_tokens' instead."}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var hits atomic.Int32
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				hits.Add(1)
				if b, _ := io.ReadAll(r.Body); strings.Contains(string(b), c.refused) {
					modeltest.Fail(400, c.complaint)(w, r)
					return
				}
				modeltest.SSE(events(delta("content", "Hi"), finish("stop")))(w, r)
			})
			r := modeltest.Hello()
			r.MaxTokens = 100
			for range 2 {
				if got, err := modeltest.Ask(t.Context(), m, r); err != nil || got.Text != "Hi" {
					t.Fatalf("%+v, %v", got, err)
				}
			}
			if hits.Load() != 3 { // refused once, then known
				t.Errorf("asked %d times; want 3", hits.Load())
			}
		})
	}
}

func TestSilence(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, c := range map[string]struct {
		before string // sent before the silence; empty: not even a header
		code   agent.ModelCode
		text   string
		finish agent.Finish
	}{
		"no answer at all":  {"", agent.ModelUnreachable, "", ""},
		"after one delta":   {events(delta("content", "H")), agent.ModelCut, "H", ""},
		"behind the finish": {events(delta("content", "Hi"), finish("stop")), "", "Hi", "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // else the server does not see the client leave
				if c.before != "" {
					modeltest.SSE(c.before)(w, r)
					http.NewResponseController(w).Flush()
				}
				hang(w, r)
			}, func(cfg *Config) {
				cfg.FirstTimeout, cfg.StallTimeout, cfg.Retries = time.Minute, 100*time.Millisecond, 2
				if c.before == "" {
					cfg.FirstTimeout = 100 * time.Millisecond
				}
			})
			got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
			if c.code == "" && err != nil || c.code != "" && !agent.IsModelCode(err, c.code) || got.Text != c.text || got.Finish != c.finish {
				t.Errorf("%+v, %v; want code %q", got, err, c.code)
			}
			if c.before == "" && !strings.Contains(err.Error(), "raise first_timeout in [models.") {
				t.Errorf("%v; want the setting that bounds the first byte", err)
			}
		})
	}
}

func TestLeavingReachesTheServer(t *testing.T) {
	for name, leave := range map[string]func(context.CancelFunc) (stop bool){
		"break":  func(context.CancelFunc) bool { return true },
		"cancel": func(cancel context.CancelFunc) bool { cancel(); return false },
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				modeltest.SSE(events(delta("content", "H")))(w, r)
				http.NewResponseController(w).Flush()
				<-r.Context().Done()
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for _, err := range m.Generate(ctx, modeltest.Hello()) {
				if last = err; leave(cancel) {
					break
				}
			}
			<-gone
			if name == "cancel" && last != context.Canceled {
				t.Errorf("%v; want the context's own error", last)
			}
		})
	}
}

func TestEndedContextIsNotRepeated(t *testing.T) {
	var hits atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		cancel()
		modeltest.Fail(500, "")(w, r)
	}, func(c *Config) { c.Retries = 5 })
	if _, err := modeltest.Ask(ctx, m, modeltest.Hello()); err != context.Canceled || hits.Load() != 1 {
		t.Errorf("%v after %d tries; want the context's error after one", err, hits.Load())
	}
}

func TestNobodyThere(t *testing.T) {
	free := modeltest.Free(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	closes := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer closes.Close()
	for name, c := range map[string]struct{ base, says string }{
		"refused":           {"http://" + free + "/v1", "no server listens"},
		"closes at once":    {closes.URL, "closed the connection without an answer"},
		"TLS to plain HTTP": {strings.Replace(plain.URL, "http:", "https:", 1), "secure connection"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			m, err := New(Config{Config: model.Config{Name: "test", Model: "m", BaseURL: c.base, Retries: -1, HTTP: &http.Client{Transport: tr}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = modeltest.Ask(t.Context(), m, modeltest.Hello()); !agent.IsModelCode(err, agent.ModelUnreachable) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want unreachable that says %q", err, c.says)
			}
		})
	}
}

// No error shows the key, however it is printed, even when the server says it back.
func TestKeyStaysOutOfErrors(t *testing.T) {
	echo := fmt.Sprintf(`{"error":{"message":"bad key %s, header Bearer %s, custom s3cret-header"}}`, canary, canary)
	servers := map[string]http.HandlerFunc{
		"in the stream": modeltest.SSE(events(echo)),
		"as plain text": modeltest.Fail(400, "bad "+canary),
		"reset":         reset,
		"redirected":    modeltest.Fail(302, "", "Location", "http://127.0.0.1:1/?k="+canary),
	}
	for _, status := range []int{400, 401, 403, 404, 413, 429, 500} {
		servers[fmt.Sprint(status)] = modeltest.Fail(status, echo, "WWW-Authenticate", canary)
	}
	for name, h := range servers {
		t.Run(name, func(t *testing.T) {
			m := serve(t, h, func(c *Config) {
				c.BaseURL = strings.Replace(c.BaseURL, "http://", "http://user:"+canary+"@", 1)
				c.Headers = map[string]string{"X-Key": "s3cret-header"}
			})
			modeltest.Hides(t, m, canary, "s3cret-header")
		})
	}
}

// The variables of OpenAI's SDK name other servers and other keys than the
// operator's configuration does.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Env: yes")
	t.Setenv("OPENAI_ORG_ID", "org")
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := fmt.Sprint(r.Header); strings.Contains(got, "environment") || strings.Contains(got, "X-Env") || strings.Contains(got, "org") || strings.Contains(got, "Stainless") {
			t.Errorf("sent %s", got)
		}
		modeltest.SSE(events(delta("content", "Hi"), finish("stop")))(w, r)
	}, func(c *Config) { c.Key = "" })
	if _, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); err != nil {
		t.Error(err)
	}
}
