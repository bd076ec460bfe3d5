package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

// samples reads the text form: each series as it is written → its value.
func samples(t *testing.T, text string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("not a sample: %q", line)
		}
		out[line[:i]] = v
	}
	return out
}

// A turn with all that can happen in it, as the route tells it.
func TestMetricsRoute(t *testing.T) {
	s := newServer(t, replay.New(
		replay.Text(`<tool_call>{"tool_name":"calculater","arguments":{}}</tool_call>`),
		replay.Text(longCall),
		replay.Call("calculator", `{"expresion":"1"}`),
		replay.Reply{Text: "Done.", Usage: &agent.Usage{Prompt: 1000, Completion: 20, CachedPrompt: 600}},
	))
	before := samples(t, s.get("/metrics").body)
	if before["weir_archive_results"] != 0 || before["weir_archive_file_bytes"] <= 0 {
		t.Errorf("of an empty archive: %v", before)
	}
	s.post("/api/chat", `{"message":"Make a long text"}`)
	r := s.get("/metrics")
	if ct := r.header.Get("Content-Type"); r.status != 200 || !strings.HasPrefix(ct, "text/plain") {
		t.Fatalf("%d %s", r.status, ct)
	}
	got := samples(t, r.body)
	for series, want := range map[string]float64{
		`weir_calls_total{format="tool_call",model="scripted",outcome="ok",tool="long_text"}`:        1,
		`weir_calls_total{format="tool_call",model="scripted",outcome="bad_args",tool="calculator"}`: 1,
		`weir_malformed_total{format="tool_call",model="scripted",reason="unknown_tool"}`:            1,
		`weir_chars_total{kind="produced",tool="long_text"}`:                                         52000,
		`weir_chars_total{kind="kept",tool="long_text"}`:                                             52000,
		`weir_cuts_total{layer="tool",tool="long_text"}`:                                             1,
		`weir_folds_total`: 1,
		`weir_turns_total{model="scripted",reason="answer"}`:       1,
		`weir_tokens_total{kind="prompt",model="scripted"}`:        1000,
		`weir_tokens_total{kind="completion",model="scripted"}`:    20,
		`weir_tokens_total{kind="cached_prompt",model="scripted"}`: 600,
		`weir_call_seconds_count{tool="long_text"}`:                1,
		`weir_turn_seconds_count{model="scripted"}`:                1,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v, want %v", series, v, want)
		}
	}
	if shown := got[`weir_chars_total{kind="shown",tool="long_text"}`]; shown <= 0 || shown > 8000 {
		t.Errorf("%v characters shown", shown)
	}
	for series := range got {
		if strings.Contains(series, "calculater") || strings.HasPrefix(series, "go_") {
			t.Errorf("a series that is not ours to make: %s", series)
		}
	}
}

// events of one kind, told to metrics that know the tool "mine" alone.
func testMetrics(t *testing.T, tell func(*metrics)) map[string]float64 {
	t.Helper()
	none := func(context.Context) (archive.Stats, error) { return archive.Stats{}, errors.New("no archive") }
	m := newMetrics(func(name string) bool { return name == "mine" }, none, time.Now, hclog.NewNullLogger())
	tell(m)
	return read(t, m)
}

func read(t *testing.T, m *metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return samples(t, w.Body.String())
}

// Whatever a model or a guest writes, the number of series stays small.
func TestMetricsAreBounded(t *testing.T) {
	got := testMetrics(t, func(m *metrics) {
		for i := range 500 {
			name := fmt.Sprintf("tool_%d", i)
			m.called("m", "json", ToolCallResult{Tool: name, Error: &tool.Error{Code: tool.Code("code_" + name)}, Produced: 10, Shown: 10}, time.Second)
			m.unreadable("m", parse.Malformed{Name: name, Format: parse.FormatJSON, Reason: parse.ReasonUnknownTool, Raw: name})
		}
		m.called("m", "json", ToolCallResult{Tool: "mine"}, time.Second)
		m.called("m\xff", "json", ToolCallResult{Tool: "mine", Error: &tool.Error{Code: tool.TimedOut}}, time.Second)
	})
	for series, want := range map[string]float64{
		`weir_calls_total{format="json",model="m",outcome="other",tool="other"}`:     500,
		`weir_calls_total{format="json",model="m",outcome="ok",tool="mine"}`:         1,
		`weir_calls_total{format="json",model="m�",outcome="timed_out",tool="mine"}`: 1,
		`weir_malformed_total{format="json",model="m",reason="unknown_tool"}`:        500,
		`weir_chars_total{kind="produced",tool="other"}`:                             5000,
		`weir_call_seconds_sum{tool="mine"}`:                                         2,
	} {
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
	if len(got) > 60 {
		t.Errorf("%d series", len(got))
	}
}

func TestMetricsOfEvents(t *testing.T) {
	for _, row := range []struct {
		name, series string
		want         float64
		tell         func(*metrics)
	}{
		{"a switch has its direction", `weir_mode_switches_total{from="native",to="prompt"}`, 1,
			func(m *metrics) { m.switched(agent.ModeSwitched{From: agent.ModeNative, To: agent.ModePrompt}) }},
		{"folds count results, not batches", `weir_folds_total`, 3,
			func(m *metrics) { m.folded(agent.Folded{UUIDs: []string{"a", "b", "c"}}) }},
		{"a turn that was cancelled is one too", `weir_turns_total{model="m",reason="cancelled"}`, 1,
			func(m *metrics) { m.ended("m", agent.TurnEnd{Reason: agent.ReasonCancelled}, nil) }},
		{"a provider's nonsense does not turn a counter back", `weir_tokens_total{kind="prompt",model="m"}`, 7, func(m *metrics) {
			m.ended("m", agent.TurnEnd{Usage: agent.Usage{Prompt: 7}}, nil)
			m.ended("m", agent.TurnEnd{Usage: agent.Usage{Prompt: -100}}, nil)
		}},
		{"what is not archived is not kept", `weir_chars_total{kind="kept",tool="mine"}`, 30, func(m *metrics) {
			m.called("m", "json", ToolCallResult{Tool: "mine", Produced: 20}, 0)
			m.called("m", "json", ToolCallResult{Tool: "mine", Produced: 30, KeptUUID: "u"}, 0)
		}},
		{"a cut has the layer that decided", `weir_cuts_total{layer="round",tool="mine"}`, 1, func(m *metrics) {
			m.called("m", "json", ToolCallResult{Tool: "mine", Layer: tool.LayerRound}, 0)
			m.called("m", "json", ToolCallResult{Tool: "mine"}, 0)
		}},
	} {
		if got := testMetrics(t, row.tell)[row.series]; got != row.want {
			t.Errorf("%s: %s is %v, want %v", row.name, row.series, got, row.want)
		}
	}
}

// The archive is asked when somebody asks, at most once in a while, and an
// archive that cannot be read costs neither the other metrics nor the last sums.
func TestArchiveSizeIsLazy(t *testing.T) {
	now, asked := time.Unix(1_700_000_000, 0), 0
	sums, fail := archive.Stats{Archives: 3, Pruned: 1, TextBytes: 900, StoredBytes: 300, FileBytes: 4096}, error(nil)
	m := newMetrics(func(string) bool { return false }, func(ctx context.Context) (archive.Stats, error) {
		asked++
		if _, ok := ctx.Deadline(); !ok {
			t.Error("reading may take for ever")
		}
		return sums, fail
	}, func() time.Time { return now }, hclog.NewNullLogger())
	if asked != 0 {
		t.Errorf("asked %d times before any scrape", asked)
	}
	for series, want := range map[string]float64{
		"weir_archive_results": 3, "weir_archive_pruned_results": 1, "weir_archive_text_bytes": 900,
		"weir_archive_stored_bytes": 300, "weir_archive_file_bytes": 4096,
	} {
		if got := read(t, m)[series]; got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for scrapes at one moment", asked)
	}
	now, sums.Archives = now.Add(statsAge), 5
	if got := read(t, m)["weir_archive_results"]; got != 5 || asked != 2 {
		t.Errorf("after a while: %v results, asked %d times", got, asked)
	}
	now, fail = now.Add(statsAge), errors.New("the disk is gone")
	got := read(t, m)
	if got["weir_archive_results"] != 5 {
		t.Errorf("the last sums are lost: %v", got)
	}
	if _, ok := got["weir_folds_total"]; !ok {
		t.Error("the other metrics are lost")
	}
	if _, ok := testMetrics(t, func(*metrics) {})["weir_archive_results"]; ok {
		t.Error("an archive that was never read has no size")
	}
}

// Turns count and Prometheus scrapes at the same time.
func TestMetricsConcurrently(t *testing.T) {
	got := testMetrics(t, func(m *metrics) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 100 {
					m.called("m", "json", ToolCallResult{Tool: "mine", Produced: 1}, time.Millisecond)
					m.ended("m", agent.TurnEnd{Reason: agent.ReasonAnswer}, nil)
				}
				m.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
			})
		}
		wg.Wait()
	})
	if got[`weir_turns_total{model="m",reason="answer"}`] != 800 || got[`weir_chars_total{kind="produced",tool="mine"}`] != 800 {
		t.Errorf("%v", got)
	}
}
