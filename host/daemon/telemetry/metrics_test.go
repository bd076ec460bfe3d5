package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
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

func newMetrics(known func(string) bool, stats func(context.Context) (archive.Stats, error), now func() time.Time) *Metrics {
	return NewMetrics(MetricsConfig{Known: known, Stats: stats, Now: now, Logger: hclog.NewNullLogger()})
}

// testMetrics returns the series after tell, of Metrics that know only the tool "mine".
func testMetrics(t *testing.T, tell func(*Metrics)) map[string]float64 {
	t.Helper()
	none := func(context.Context) (archive.Stats, error) { return archive.Stats{}, errors.New("no archive") }
	m := newMetrics(func(name string) bool { return name == "mine" }, none, time.Now)
	tell(m)
	return read(t, m)
}

func read(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return samples(t, w.Body.String())
}

// The number of series stays small, whatever a model or a guest writes.
func TestMetricsAreBounded(t *testing.T) {
	got := testMetrics(t, func(m *Metrics) {
		for i := range 500 {
			name := fmt.Sprintf("tool_%d", i)
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: name, Error: &tool.Error{Code: tool.Code("code_" + name)}, Produced: 10, Shown: 10}, tool.Stats{}, time.Second)
			m.CallMalformed("m", parse.Malformed{Name: name, Format: parse.FormatJSON, Reason: parse.ReasonUnknownTool, Raw: name})
		}
		m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{}, time.Second)
		m.ToolCalled("m\xff", "json", api.ToolCallResult{Tool: "mine", Error: &tool.Error{Code: tool.TimedOut}}, tool.Stats{}, time.Second)
	})
	for series, want := range map[string]float64{
		`weir_calls_total{format="json",model="m",outcome="other",tool="other"}`:     500,
		`weir_calls_total{format="json",model="m",outcome="ok",tool="mine"}`:         1,
		`weir_calls_total{format="json",model="m�",outcome="timed_out",tool="mine"}`: 1,
		`weir_malformed_calls_total{format="json",model="m",reason="unknown_tool"}`:  500,
		`weir_produced_characters_total{tool="other"}`:                               5000,
		`weir_call_duration_seconds_sum{tool="mine"}`:                                2,
	} {
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
	if len(got) > 70 {
		t.Errorf("%d series", len(got))
	}
}

// A remote server that renames its tools again and again has a bounded number of
// series, too.
func TestMetricsOfManyTools(t *testing.T) {
	none := func(context.Context) (archive.Stats, error) { return archive.Stats{}, errors.New("no archive") }
	m := newMetrics(func(string) bool { return true }, none, time.Now)
	for i := range maxTools + 100 {
		m.ApprovalAsked(fmt.Sprintf("files__tool_%d", i))
	}
	m.ApprovalAsked("files__tool_0")
	got := read(t, m)
	if got[`weir_approvals_asked_total{tool="other"}`] != 100 || got[`weir_approvals_asked_total{tool="files__tool_0"}`] != 2 {
		t.Errorf("%v others", got[`weir_approvals_asked_total{tool="other"}`])
	}
}

// The operator's page describes every metric, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile("`(weir_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		told[name[1]] = true
	}
	m := newMetrics(func(string) bool { return false }, nil, time.Now)
	ch := make(chan *prometheus.Desc, 100)
	m.registry.Describe(ch)
	close(ch)
	var names []string
	for d := range ch {
		names = append(names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	for _, name := range names {
		if !told[name] {
			t.Errorf("docs/operations.md does not describe %s", name)
		}
		delete(told, name)
	}
	if len(told) > 0 || len(names) < 20 {
		t.Errorf("docs/operations.md describes %v, which do not exist", told)
	}
}

func TestMetricsOfEvents(t *testing.T) {
	for _, row := range []struct {
		name, series string
		want         float64
		tell         func(*Metrics)
	}{
		{"a switch has its direction", `weir_mode_switches_total{from="native",to="prompt"}`, 1,
			func(m *Metrics) { m.ModeSwitched(agent.ModeSwitched{From: agent.ModeNative, To: agent.ModePrompt}) }},
		{"folds count results, not batches", `weir_folds_total`, 3,
			func(m *Metrics) { m.Folded(agent.Folded{UUIDs: []string{"a", "b", "c"}}) }},
		{"a turn that was cancelled is one too", `weir_turns_total{model="m",reason="cancelled"}`, 1,
			func(m *Metrics) { m.TurnEnded("m", agent.TurnEnd{Reason: agent.ReasonCancelled}, nil) }},
		{"a provider's nonsense does not turn a counter back", `weir_tokens_total{kind="prompt",model="m"}`, 7, func(m *Metrics) {
			m.TurnEnded("m", agent.TurnEnd{Usage: agent.Usage{Prompt: 7}}, nil)
			m.TurnEnded("m", agent.TurnEnd{Usage: agent.Usage{Prompt: -100}}, nil)
		}},
		{"what is not archived is not counted as kept", `weir_archived_characters_total{tool="mine"}`, 30, func(m *Metrics) {
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine", Produced: 20}, tool.Stats{}, 0)
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine", Produced: 30, KeptUUID: "u"}, tool.Stats{}, 0)
		}},
		{"what a summary adds is not taken off what was saved", `weir_saved_characters_total{tool="mine"}`, 10, func(m *Metrics) {
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine", Produced: 20, Shown: 10}, tool.Stats{}, 0)
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine", Produced: 20, Shown: 30}, tool.Stats{}, 0)
		}},
		{"an answer of the cache has no instance", `weir_instance_duration_seconds_sum{tool="mine"}`, 0.5, func(m *Metrics) {
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{Instance: time.Second / 2}, time.Second)
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{Cached: true}, time.Second)
		}},
		{"loads of folded results are faults", `weir_faults_total`, 3,
			func(m *Metrics) { m.TurnEnded("m", agent.TurnEnd{Faults: agent.Faults{Faults: 3, Refaults: 1}}, nil) }},
		{"a cut has the layer that decided", `weir_cut_results_total{layer="round",tool="mine"}`, 1, func(m *Metrics) {
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine", Layer: tool.LayerRound}, tool.Stats{}, 0)
			m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{}, 0)
		}},
	} {
		if got := testMetrics(t, row.tell)[row.series]; got != row.want {
			t.Errorf("%s: %s is %v, want %v", row.name, row.series, got, row.want)
		}
	}
}

// Metrics read the archive's size only when a client reads them, and not every time.
// If that fails, the other metrics and the last sums remain.
func TestArchiveSizeIsLazy(t *testing.T) {
	now, asked := time.Unix(1_700_000_000, 0), 0
	sums, fail := archive.Stats{Archives: 3, Pruned: 1, TextBytes: 900, StoredBytes: 300, FileBytes: 4096}, error(nil)
	m := newMetrics(func(string) bool { return false }, func(ctx context.Context) (archive.Stats, error) {
		asked++
		if _, ok := ctx.Deadline(); !ok {
			t.Error("reading may take for ever")
		}
		return sums, fail
	}, func() time.Time { return now })
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
	if _, ok := testMetrics(t, func(*Metrics) {})["weir_archive_results"]; ok {
		t.Error("an archive that was never read has no size")
	}
}

// Turns count and Prometheus scrapes at the same time.
func TestMetricsConcurrently(t *testing.T) {
	got := testMetrics(t, func(m *Metrics) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 100 {
					m.ToolCalled("m", "json", api.ToolCallResult{Tool: "mine", Produced: 1}, tool.Stats{}, time.Millisecond)
					m.TurnEnded("m", agent.TurnEnd{Reason: agent.ReasonAnswer}, nil)
				}
				m.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
			})
		}
		wg.Wait()
	})
	if got[`weir_turns_total{model="m",reason="answer"}`] != 800 || got[`weir_produced_characters_total{tool="mine"}`] != 800 {
		t.Errorf("%v", got)
	}
}
