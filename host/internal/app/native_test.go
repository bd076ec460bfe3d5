package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// Whoever waits for the answer of a model that is asked reads so; what is known takes no word.
func TestProbingIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "native.json")
	s := config.ModelSettings{Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
	said, times := make(chan struct{}), 0
	m := replay.Func(func(int, agent.Request) replay.Reply {
		<-said
		return replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"x"}`)}}}
	})
	probe := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(m, s)
	ctx := setup.OnProbe(t.Context(), func() { times++; close(said) })
	for range 2 {
		if works, known := probe(ctx); !works || !known || times != 1 {
			t.Errorf("%v %v, said %d times", works, known, times)
		}
	}
}

func TestNativeCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "native.json")
	s := config.ModelSettings{Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
	call := replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"x"}`)}}}
	gone := replay.Reply{Err: &agent.ModelError{Code: agent.ModelUnreachable, Msg: "no"}}

	// A new process asks a model again that could not be asked; one that answered is
	// asked once.
	m := replay.New(gone, call)
	if _, known := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(m, s)(t.Context()); known {
		t.Error("nothing was learnt, yet it is known")
	}
	probe := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(m, s)
	for range 2 {
		if works, known := probe(t.Context()); !works || !known {
			t.Error("the answer was lost")
		}
	}
	if n := len(m.Requests()); n != 2 {
		t.Errorf("asked %d times", n)
	}
	// Another process knows it too; another model does not.
	if works, known := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(replay.New(), s)(t.Context()); !works || !known {
		t.Error("the file does not hold it")
	}
	s.Model = "other"
	if _, known := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(replay.New(gone), s)(t.Context()); known {
		t.Error("one model's answer passed for another's")
	}
	// What the provider says is not asked for.
	yes := true
	says := replay.New().Describing(agent.ModelInfo{NativeTools: &yes})
	if works, known := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(says, s)(t.Context()); !works || !known || len(says.Requests()) != 0 {
		t.Error("the provider's word should do")
	}
	// A damaged file is as good as none.
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Model = "m"
	if works, known := (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(replay.New(call), s)(t.Context()); !works || !known {
		t.Error("a damaged file stands in the way")
	}
}

// What came from a fault is not stored. A no is asked again after a week, and one of which
// the file does not say when it was seen, at once.
func TestANoIsNotForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "native.json")
		s := config.ModelSettings{Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
		ask := func(replies ...replay.Reply) (works, known bool, asked int) {
			m := replay.New(replies...)
			works, known = (&nativeCache{&verdicts{file: file}, hclog.NewNullLogger()}).probe(m, s)(t.Context())
			return works, known, len(m.Requests())
		}
		if err := os.WriteFile(file, []byte(`{"openai http://127.0.0.1:1/v1 m":false}`), 0o600); err != nil {
			t.Fatal(err)
		}
		words := replay.Text("It is 2 m.")
		for _, fault := range []replay.Reply{{Reasoning: "hm"}, {Err: &agent.ModelError{Code: agent.ModelGarbage, Msg: "a page of a proxy"}}, {Err: &agent.ModelError{Code: agent.ModelBadRequest, Msg: "max_tokens"}}} {
			if _, known, asked := ask(fault); known || asked != 1 {
				t.Errorf("a fault was taken for an answer: known %t, asked %d times", known, asked)
			}
		}
		if works, known, asked := ask(words, words); works || !known || asked != 2 {
			t.Errorf("works %t, known %t, asked %d times", works, known, asked)
		}
		if works, known, asked := ask(); works || !known || asked != 0 {
			t.Errorf("again: works %t, known %t, asked %d times", works, known, asked)
		}
		long := (&nativeCache{&verdicts{file: filepath.Join(t.TempDir(), "other.json")}, hclog.NewNullLogger()}).probe(replay.New(words, words, words, words), s)
		for range 2 { // in one process too
			if works, known := long(t.Context()); works || !known {
				t.Errorf("works %t, known %t", works, known)
			}
			testtime.Sleep(noKept)
		}
		call := replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"x"}`)}}}
		if works, known, asked := ask(call); !works || !known || asked != 1 {
			t.Errorf("a week later: works %t, known %t, asked %d times", works, known, asked)
		}
	})
}

// One slow model blocks no other, is asked once for all that wait, and its failure is
// remembered for failureKept.
func TestASlowModelBlocksNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &nativeCache{&verdicts{file: filepath.Join(t.TempDir(), "native.json")}, hclog.NewNullLogger()}
		silent := replay.New(replay.Reply{Delay: time.Hour}, replay.Reply{Delay: time.Hour})
		slow := cache.probe(silent, config.ModelSettings{Model: "slow"})
		call := replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"x"}`)}}}
		fast := cache.probe(replay.New(call), config.ModelSettings{Model: "fast"})

		begin := time.Now()
		passed := func(want time.Duration) {
			t.Helper()
			if got := testtime.Since(begin); got != want {
				t.Errorf("%s have passed, want %s", got, want)
			}
		}
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				if _, known := slow(t.Context()); known {
					t.Error("a silent model has an answer")
				}
			})
		}
		synctest.Wait()
		if works, known := fast(t.Context()); !works || !known {
			t.Errorf("works %t, known %t", works, known)
		}
		passed(0)
		// A caller that goes away does not wait, and does not end the question of the others.
		gone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, known := slow(gone); known {
			t.Error("a silent model has an answer")
		}
		passed(time.Second)
		waiting.Wait()
		passed(probeTimeout)
		if _, known := slow(t.Context()); known {
			t.Error("a silent model has an answer")
		}
		passed(probeTimeout) // the failure was remembered
		if n := len(silent.Requests()); n != 1 {
			t.Errorf("asked %d times", n)
		}
		testtime.Sleep(failureKept)
		if _, known := slow(t.Context()); known || len(silent.Requests()) != 2 {
			t.Errorf("asked %d times after a while", len(silent.Requests()))
		}
	})
}

type noTools struct{}

func (noTools) Tools() []tool.Spec { return nil }

func (noTools) Call(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }

// first_timeout bounds all that a turn waits for a silent server: what is asked about the
// model, the probe, and the question.
func TestFirstTimeoutBoundsATurn(t *testing.T) {
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	}))
	defer srv.Close()
	defer close(gone)
	const first = 300 * time.Millisecond
	for _, p := range []string{"openai", "ollama", "anthropic"} {
		s := config.ModelSettings{Provider: p, BaseURL: srv.URL, Model: "m", Key: "k", First: config.Duration(first)}
		m := NewModel("slow", s, func(string) (string, bool) { return "", false }, hclog.NewNullLogger()).Model
		ctx := agent.OnePatience(t.Context())
		probe := (&nativeCache{&verdicts{file: filepath.Join(t.TempDir(), "native.json")}, hclog.NewNullLogger()}).probe(m, s)
		probe(ctx) // which Anthropic's client needs no answer for
		loop, err := agent.New(agent.Defaults(), m, noTools{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = loop.Run(ctx, nil, "hello")
		if err == nil || !strings.Contains(err.Error(), "said nothing for "+first.String()) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// A panic of a client is a failed probe, not the end of the daemon.
func TestAPanicWhileAModelIsAsked(t *testing.T) {
	var log strings.Builder
	cache := &nativeCache{&verdicts{file: filepath.Join(t.TempDir(), "native.json")}, hclog.New(&hclog.LoggerOptions{Output: &log})}
	m := replay.Func(func(int, agent.Request) replay.Reply { panic("no") })
	if _, known := cache.probe(m, config.ModelSettings{Model: "m"})(t.Context()); known || !strings.Contains(log.String(), "panicked") {
		t.Errorf("known %t, log %q", known, log.String())
	}
}
