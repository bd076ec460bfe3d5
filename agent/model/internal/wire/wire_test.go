package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/internal/testtime"
)

func TestReadSaid(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       Said
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","code":"c"}}`, Said{Text: "m", Type: "t", Code: "c"}},
		{"llama.cpp: the code is a status", `{"error":{"message":"m","code":400}}`, Said{Text: "m", Status: 400}},
		{"Ollama", `{"error":"m"}`, Said{Text: "m"}},
		{"vLLM", `{"object":"error","message":"m","type":"NotFoundError","code":404}`, Said{Text: "m", Type: "NotFoundError", Status: 404}},
		{"FastAPI", `{"detail":"Not Found"}`, Said{Text: "Not Found"}},
		{"nulls", `{"error":{"message":"m","code":null,"type":null}}`, Said{Text: "m"}},
		{"plain", " a\n\tb\x00c ", Said{Text: "a b c"}},
		{"HTML", " <html>x</html>", Said{}},
		{"nothing", "", Said{}},
		{"long", strings.Repeat("水", 400), Said{Text: strings.Repeat("水", maxSaid) + "…"}},
	} {
		if got := ReadSaid([]byte(c.body)); got != c.want {
			t.Errorf("%s: %+v; want %+v", c.name, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for _, c := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", "Mon, 04 May 2026 03:02:31 GMT", 30 * time.Second},
		{"Retry-After", "Mon, 04 May 2026 03:00:00 GMT", 0}, // over already
		{"Retry-After", "-3", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e999", 24 * time.Hour}, // never more than a day
		{"Retry-After", "99999999999999", 24 * time.Hour},
		{"X", "", 0},
	} {
		if got := retryAfter(http.Header{c.header: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s gives %v; want %v", c.header, c.value, got, c.want)
		}
	}
}

// Every failure of an HTTP status has a message and a hint, without the secret wherever the provider repeats it.
func TestEveryStatusIsTold(t *testing.T) {
	const secret = "sk-canary/7f3a+9b2c="
	rapid.Check(t, func(t *rapid.T) {
		p := Peer{
			Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")), Name: "n", Model: "m", HasKey: rapid.Bool().Draw(t, "key"),
			BaseURL: rapid.SampledFrom([]string{"https://ark.cn-beijing.volces.com/api/v3", "http://127.0.0.1:1/v1", "%"}).Draw(t, "url"),
			Secrets: Secrets(secret, "http://u:pass-word@h/?k=query-key", nil),
		}
		status := rapid.IntRange(201, 599).Draw(t, "status")
		words := rapid.SampledFrom([]string{
			"", "tool support", "model not found", "context window", "ModelNotOpen", "insufficient_quota", "invalid_api_key", "rate limit", "parsing tool call",
		}).Draw(t, "words")
		body := rapid.SampledFrom([]string{`{"error":{"message":"%"}}`, `{"error":"%"}`, "%"}).Draw(t, "shape")
		said := words + " " + secret + " sk-canary%2F7f3a%2B9b2c%3D pass-word query-key"
		e := p.Status(status, nil, []byte(strings.ReplaceAll(body, "%", said)))
		if e.Code == "" || e.Msg == "" || e.Hint == "" || e.Status != status || e.Model != "n" {
			t.Fatalf("%+v", e)
		}
		for _, s := range []string{"canary", "pass-word", "query-key"} {
			if strings.Contains(e.Error(), s) || strings.Contains(fmt.Sprintf("%#v", e), s) {
				t.Fatalf("the secret shows: %s", e.Error())
			}
		}
		if e.MsgText.String() != e.Msg || e.HintText.String() != e.Hint {
			t.Fatalf("%q and %q differ from %q and %q", e.MsgText, e.HintText, e.Msg, e.Hint)
		}
	})
}

func TestRetryWaits(t *testing.T) {
	busy := &agent.ModelError{Code: agent.ModelOverloaded}
	for _, c := range []struct {
		name   string
		policy Policy
		errs   []error // then success
		tries  int
		want   error
		waited time.Duration // at least
	}{
		{"waits longer each time", Policy{First: time.Second}, []error{busy, busy, busy}, 4, nil, 3 * time.Second},
		{"as long as it is asked to", Policy{}, []error{&agent.ModelError{Code: agent.ModelRateLimited, RetryAfter: 20 * time.Second}}, 2, nil, 20 * time.Second},
		{"not longer than its budget", Policy{Budget: 10 * time.Second}, []error{&agent.ModelError{Code: agent.ModelRateLimited, RetryAfter: 20 * time.Second}}, 1, &agent.ModelError{Code: agent.ModelRateLimited, RetryAfter: 20 * time.Second}, 0},
		{"no repeats", Policy{Retries: -1}, []error{busy}, 1, busy, 0},
		{"one repeat", Policy{Retries: 1}, []error{busy, busy}, 2, busy, 0},
		{"what no repeat can mend", Policy{}, []error{&agent.ModelError{Code: agent.ModelOverloaded, Err: errFinal}}, 1, errFinal, 0},
		{"a strange error", Policy{}, []error{errFinal}, 1, errFinal, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, tries := time.Now(), 0
				told := 0
				ctx := agent.OnRepeat(t.Context(), func(error, time.Duration) { told++ })
				_, err := Retry(ctx, c.policy, func() (int, error) {
					if tries++; tries <= len(c.errs) {
						return 0, c.errs[tries-1]
					}
					return tries, nil
				})
				if tries != c.tries || (err == nil) != (c.want == nil) || testtime.Since(begin) < c.waited {
					t.Errorf("%v after %d tries and %v", err, tries, testtime.Since(begin))
				}
				if told != tries-1 {
					t.Errorf("%d repeats were told of %d", told, tries-1)
				}
				var me *agent.ModelError
				if errors.As(c.want, &me) && !errors.Is(err, c.want) && !agent.IsModelCode(err, me.Code) {
					t.Errorf("%v; want %v", err, c.want)
				}
			})
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Retry(ctx, Policy{First: time.Minute, Budget: time.Hour}, func() (int, error) { return 0, &agent.ModelError{Code: agent.ModelCut} })
		if err != context.DeadlineExceeded {
			t.Errorf("%v; want the context's error", err)
		}
	})
}

// silent is a body that gives one byte per wait, and nothing after the last.
type silent struct {
	ctx   context.Context
	waits []time.Duration
}

func (s *silent) Read(p []byte) (int, error) {
	wait := 24 * time.Hour
	if len(s.waits) > 0 {
		wait, s.waits = s.waits[0], s.waits[1:]
	}
	select {
	case <-time.After(wait):
		p[0] = 'x'
		return 1, nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

func (s *silent) Close() error { return nil }

func TestWatch(t *testing.T) {
	const first, stall = 10 * time.Second, 2 * time.Second
	for _, c := range []struct {
		name     string
		waits    []time.Duration
		pause    time.Duration // of the reader, between two reads
		finished bool
		bytes    int
		key      string // of the setting that bounded the wait
	}{
		{"the first byte may take longer", []time.Duration{9 * time.Second, time.Second}, 0, false, 2, "timeout"},
		{"but not for ever", []time.Duration{11 * time.Second}, 0, false, 0, "first_timeout"},
		{"the second may not", []time.Duration{time.Second, 3 * time.Second}, 0, false, 1, "timeout"},
		{"a slow reader is not the server's silence", []time.Duration{time.Second, time.Second, time.Second}, time.Minute, false, 3, "timeout"},
		{"little patience for what is complete", []time.Duration{time.Second, 4 * time.Second}, 0, true, 1, "timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, w := Peer{}.NewWatch(t.Context(), first, stall)
				defer w.Stop()
				body := w.Body(&silent{ctx, c.waits})
				n := 0
				for {
					if _, err := body.Read(make([]byte, 1)); err != nil {
						break
					}
					if n++; c.finished {
						w.Finished()
					}
					testtime.Sleep(c.pause)
				}
				err := Peer{Name: "slow"}.Transport(ctx, Reading, ctx.Err())
				if !strings.HasSuffix(err.Error(), " raise "+c.key+" in [models.slow]") {
					t.Errorf("%v; want the setting %s named", err, c.key)
				}
				if n != c.bytes || !agent.IsModelCode(err, agent.ModelCut) || Repeatable(err) {
					t.Errorf("%d bytes, %v; want %d and a silence that is not repeated", n, err, c.bytes)
				}
			})
		})
	}
}

// A look at the server waits as long as its model's first_timeout at most.
func TestSilentLook(t *testing.T) {
	for first, want := range map[time.Duration]time.Duration{0: lookTimeout, 3 * time.Second: 3 * time.Second, time.Minute: lookTimeout, -1: lookTimeout} {
		synctest.Test(t, func(t *testing.T) {
			ctx, w := Peer{}.NewLook(t.Context(), first)
			defer w.Stop()
			begin := time.Now()
			<-ctx.Done()
			err := Peer{Name: "slow", BaseURL: "http://127.0.0.1:1/v1"}.Transport(ctx, Opening, ctx.Err())
			if took := testtime.Since(begin); took != want || !strings.Contains(err.Error(), "said nothing for "+want.String()+";") || !strings.Contains(err.Error(), "first_timeout in [models.slow]") {
				t.Errorf("first_timeout %s: after %s: %v", first, took, err)
			}
		})
	}
}

// What one turn waits for a silent server counts together, until the server answers.
func TestOnePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first = 30 * time.Second
		wait := func(ctx context.Context, w *Watch) time.Duration {
			defer w.Stop()
			begin := time.Now()
			<-ctx.Done()
			return testtime.Since(begin)
		}
		ctx, begin := agent.OnePatience(t.Context()), time.Now()
		if took := wait(Peer{}.NewLook(ctx, first)); took != 10*time.Second {
			t.Error("the look took", took)
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if took := wait(Peer{}.NewWatch(limited, first, 0)); took != 5*time.Second {
			t.Error("a question that was given up took", took)
		}
		asked, w := Peer{}.NewWatch(ctx, first, 0)
		<-asked.Done()
		err := Peer{Name: "slow"}.Transport(asked, Opening, asked.Err())
		if took := testtime.Since(begin); took != first || !strings.Contains(err.Error(), "said nothing for 30s") {
			t.Errorf("all took %s: %v", took, err)
		}
		w.Stop()
		if took := wait(Peer{}.NewLook(ctx, first)); took != 0 {
			t.Error("after its time was up, the server was waited for another", took)
		}
		// An answer begins the count again.
		answered, w := Peer{}.NewWatch(agent.OnePatience(t.Context()), first, 0)
		body := w.Body(&silent{answered, []time.Duration{29 * time.Second}})
		if _, err := body.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		w.Stop()
		if took := wait(Peer{}.NewWatch(answered, first, 0)); took != 0 { // of a context that has ended
			t.Error(took)
		}
	})
}

func TestFirstFollowsStall(t *testing.T) {
	for _, c := range []struct{ first, stall, wantFirst, wantStall time.Duration }{
		{0, 0, DefaultFirst, DefaultStall},
		{0, time.Second, DefaultFirst, time.Second},      // short between pieces, patient before them
		{0, time.Hour, time.Hour, time.Hour},             // one setting raises both
		{0, -1, -1, -1},                                  // and lifts both
		{time.Second, time.Hour, time.Second, time.Hour}, // stated: as stated
		{-1, time.Second, -1, time.Second},
	} {
		_, w := Peer{}.NewWatch(t.Context(), c.first, c.stall)
		if w.first != c.wantFirst || w.stall != c.wantStall {
			t.Errorf("%v, %v gives %v, %v; want %v, %v", c.first, c.stall, w.first, w.stall, c.wantFirst, c.wantStall)
		}
		w.Stop()
	}
}

func TestWatchWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w := Peer{}.NewWatch(t.Context(), -1, -1)
		body := w.Body(&silent{ctx, []time.Duration{23 * time.Hour}})
		if n, err := body.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		w.Stop()
		w.Stop()
		if err := (Peer{}).Transport(ctx, Reading, ctx.Err()); err != context.Canceled {
			t.Errorf("%v; want the context's error", err)
		}
	})
}

// A server that gives signs of life and nothing else is waited for longer than
// a silent one, and not for ever.
func TestSignsOfLifeAreNoAnswer(t *testing.T) {
	const first, stall = time.Minute, 10 * time.Second
	for name, fed := range map[string]bool{"signs of life alone": false, "pieces among them": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, w := Peer{}.NewWatch(t.Context(), first, stall)
				defer w.Stop()
				waits := make([]time.Duration, 100)
				for i := range waits {
					waits[i] = 5 * time.Second
				}
				body, n := w.Body(&silent{ctx, waits}), 0
				for ctx.Err() == nil && n < 100 {
					if _, err := body.Read(make([]byte, 1)); err != nil {
						break
					}
					if n++; fed && n%20 == 0 {
						w.Fed()
					}
				}
				if fed != (n == 100) || !fed && !agent.IsModelCode((Peer{}).Transport(ctx, Reading, ctx.Err()), agent.ModelCut) {
					t.Errorf("%d reads", n)
				}
			})
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

func TestAnAnswerThatDoesNotEnd(t *testing.T) {
	_, w := Peer{}.NewWatch(t.Context(), -1, -1)
	defer w.Stop()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, w.Body(endless{}), make([]byte, 1<<20))
	if !errors.Is(err, ErrEndless) || n > maxAnswer {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// What a server describes of itself, and its vectors, are read up to a bound, and decoded if they
// have few enough values: a list of models without end took gigabytes.
func TestWhatAServerTellsIsBounded(t *testing.T) {
	r, _ := http.NewRequest("GET", "http://x.invalid/v1/models", nil)
	r.Header.Set("Accept", "application/json")
	res, err := Intercept(r, func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: endless{}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(res.Body, 4*MaxTold))
	if e := (Peer{}).Failed(t.Context(), err); !agent.IsModelCode(e, agent.ModelGarbage) || n > MaxTold {
		t.Errorf("%d bytes, %v", n, e)
	}
	var list []struct{}
	if err := Decode([]byte("["+strings.Repeat("{},", MaxValues)+"{}]"), MaxValues, &list); err == nil || len(list) > 0 {
		t.Errorf("%d values, %v", len(list), err)
	}
	var text string
	if err := Decode([]byte(`"`+strings.Repeat(`{\"`, MaxValues)+`"`), MaxValues, &text); err != nil || len(text) != 2*MaxValues {
		t.Errorf("a text of %d bytes, %v", len(text), err)
	}
}

// A member takes the place of the struct's own of that name, new ones come in the
// order of their names, and a name is never a path.
func TestBodyIsTheSameBytes(t *testing.T) {
	body := Body{Params: json.RawMessage(`{"model":"m","max_tokens":1}`), Extra: map[string]any{
		"z": true, "a": "<b>", "max_tokens": 2, "m.n": 3, "e|f": 4, "d*": map[string]any{"y": 1, "b": 2}, "#": 5, `k\`: 6, ":1": 7, "水": 8,
	}}
	const want = `{"model":"m","max_tokens":2,"#":5,":1":7,"a":"\u003cb\u003e","d*":{"b":2,"y":1},"e|f":4,"k\\":6,"m.n":3,"z":true,"水":8}`
	for range 20 {
		if got, err := body.MarshalJSON(); err != nil || string(got) != want {
			t.Fatalf("%s, %v\nwant %s", got, err, want)
		}
	}
	if _, err := (Body{Params: json.RawMessage(`{}`), Extra: map[string]any{"f": func() {}}}).MarshalJSON(); err == nil {
		t.Error("what is no JSON was sent")
	}
}

// Half of a JSON text is a connection that was cut, which is worth another try;
// what is no JSON at all is another server, which is not.
func TestHalved(t *testing.T) {
	for body, want := range map[string]bool{
		`{"a":[1`: true, `{"a":"b`: true, `[`: true, `{"a":1`: true, `"half`: true,
		``: false, ` `: false, `{"a":1}`: false, `{"a":1}` + "\n": false, `{"a":]}`: false, `<html>`: false, `oops`: false,
	} {
		if got := halved([]byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}

// A model in whose place another one can answer is asked again less patiently.
func TestRetryWithAnAlternative(t *testing.T) {
	for _, c := range []struct {
		name       string
		err        agent.ModelError
		tries, was int           // with an alternative and without
		wait       time.Duration // that the server wants, and gets
	}{
		{"429", agent.ModelError{Code: agent.ModelRateLimited, Status: 429}, 2, 4, 0},
		{"429 that asks for 10 s", agent.ModelError{Code: agent.ModelRateLimited, Status: 429, RetryAfter: 10 * time.Second}, 2, 4, 10 * time.Second},
		{"429 that asks for 11 s", agent.ModelError{Code: agent.ModelRateLimited, Status: 429, RetryAfter: 11 * time.Second}, 1, 4, 0},
		{"503", agent.ModelError{Code: agent.ModelOverloaded, Status: 503}, 4, 4, 0},
		{"503 that asks for 11 s", agent.ModelError{Code: agent.ModelOverloaded, Status: 503, RetryAfter: 11 * time.Second}, 1, 4, 0},
		{"a used-up quota", agent.ModelError{Code: agent.ModelRateLimited, Err: errFinal}, 1, 1, 0},
	} {
		for other, want := range map[bool]int{true: c.tries, false: c.was} {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if other {
					ctx = agent.WithAlternative(ctx)
				}
				tries := 0
				var waits []time.Duration
				p := Policy{Notify: func(_ error, wait time.Duration) { waits = append(waits, wait) }}
				_, err := Retry(ctx, p, func() (int, error) { tries++; e := c.err; return 0, &e })
				if !agent.IsModelCode(err, c.err.Code) || tries != want || len(waits) != want-1 || c.wait > 0 && waits[0] != c.wait {
					t.Errorf("%s: %d tries with the waits %v, %v; want %d", c.name, tries, waits, err, want)
				}
			})
		}
	}
}
