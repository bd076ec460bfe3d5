package daemon

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
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/agent/model/replay"
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
		`weir_malformed_calls_total{format="tool_call",model="scripted",reason="unknown_tool"}`:      1,
		`weir_produced_characters_total{tool="long_text"}`:                                           52000,
		`weir_archived_characters_total{tool="long_text"}`:                                           52000,
		`weir_cut_results_total{layer="tool",tool="long_text"}`:                                      1,
		`weir_folds_total`: 1,
		`weir_turns_total{model="scripted",reason="answer"}`:           1,
		`weir_tokens_total{kind="prompt",model="scripted"}`:            1000,
		`weir_tokens_total{kind="completion",model="scripted"}`:        20,
		`weir_prompt_cache_tokens_total{kind="read",model="scripted"}`: 600,
		`weir_call_duration_seconds_count{tool="long_text"}`:           1,
		`weir_instance_duration_seconds_count{tool="long_text"}`:       1,
		`weir_model_request_duration_seconds_count{model="scripted"}`:  4,
		`weir_turn_duration_seconds_count{model="scripted"}`:           1,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v, want %v", series, v, want)
		}
	}
	shown, saved := got[`weir_shown_characters_total{tool="long_text"}`], got[`weir_saved_characters_total{tool="long_text"}`]
	if shown <= 0 || shown > 8000 || shown+saved != 52000 {
		t.Errorf("%v characters shown and %v saved", shown, saved)
	}
	if _, ran := got[`weir_instance_duration_seconds_count{tool="calculator"}`]; ran {
		t.Error("a call that was refused had an instance")
	}
	for series := range got {
		if strings.Contains(series, "calculater") || strings.HasPrefix(series, "go_") {
			t.Errorf("a series that is not ours to make: %s", series)
		}
	}
}

// A whole conversation with the demo model: two turns, each with a call.
func TestMetricsOfAConversation(t *testing.T) {
	s := newServer(t, demo.New())
	first := s.post("/api/chat", `{"message":"What is 17 * 3?"}`)
	id := regexp.MustCompile(`"conversation_id":"([^"]+)"`).FindStringSubmatch(first.body)
	if id == nil {
		t.Fatalf("%d %s", first.status, first.body)
	}
	s.post("/api/chat", `{"message":"And 2 + 2?","conversation_id":"`+id[1]+`"}`)
	got := samples(t, s.get("/metrics").body)
	for series, want := range map[string]float64{
		`weir_calls_total{format="tool_call",model="scripted",outcome="ok",tool="calculator"}`: 2,
		`weir_call_duration_seconds_count{tool="calculator"}`:                                  2,
		`weir_instance_duration_seconds_count{tool="calculator"}`:                              2,
		`weir_saved_characters_total{tool="calculator"}`:                                       0,
		`weir_model_request_duration_seconds_count{model="scripted"}`:                          4,
		`weir_turns_total{model="scripted",reason="answer"}`:                                   2,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v, want %v", series, v, want)
		}
	}
	if got[`weir_produced_characters_total{tool="calculator"}`] != got[`weir_shown_characters_total{tool="calculator"}`] ||
		got[`weir_instance_duration_seconds_sum{tool="calculator"}`] > got[`weir_call_duration_seconds_sum{tool="calculator"}`] {
		t.Errorf("%v", got)
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
			m.called("m", "json", api.ToolCallResult{Tool: name, Error: &tool.Error{Code: tool.Code("code_" + name)}, Produced: 10, Shown: 10}, tool.Stats{}, time.Second)
			m.unreadable("m", parse.Malformed{Name: name, Format: parse.FormatJSON, Reason: parse.ReasonUnknownTool, Raw: name})
		}
		m.called("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{}, time.Second)
		m.called("m\xff", "json", api.ToolCallResult{Tool: "mine", Error: &tool.Error{Code: tool.TimedOut}}, tool.Stats{}, time.Second)
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

// A server of others that renames its tools again and again has a bounded number
// of series, too.
func TestMetricsOfManyTools(t *testing.T) {
	none := func(context.Context) (archive.Stats, error) { return archive.Stats{}, errors.New("no archive") }
	m := newMetrics(func(string) bool { return true }, none, time.Now, hclog.NewNullLogger())
	for i := range maxTools + 100 {
		m.asked(fmt.Sprintf("files__tool_%d", i))
	}
	m.asked("files__tool_0")
	got := read(t, m)
	if got[`weir_approvals_asked_total{tool="other"}`] != 100 || got[`weir_approvals_asked_total{tool="files__tool_0"}`] != 2 {
		t.Errorf("%v others", got[`weir_approvals_asked_total{tool="other"}`])
	}
}

// Every metric is told in the operator's page, and that page tells no other.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile("`(weir_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		told[name[1]] = true
	}
	s := newServer(t, replay.New())
	ch := make(chan *prometheus.Desc, 100)
	s.daemon.metrics.registry.Describe(ch)
	close(ch)
	var names []string
	for d := range ch {
		names = append(names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	for _, name := range names {
		if !told[name] {
			t.Errorf("docs/operations.md does not tell of %s", name)
		}
		delete(told, name)
	}
	if len(told) > 0 || len(names) < 20 {
		t.Errorf("docs/operations.md tells of %v, which there are not", told)
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
		{"what is not archived is not counted as kept", `weir_archived_characters_total{tool="mine"}`, 30, func(m *metrics) {
			m.called("m", "json", api.ToolCallResult{Tool: "mine", Produced: 20}, tool.Stats{}, 0)
			m.called("m", "json", api.ToolCallResult{Tool: "mine", Produced: 30, KeptUUID: "u"}, tool.Stats{}, 0)
		}},
		{"what a summary adds is not taken off what was saved", `weir_saved_characters_total{tool="mine"}`, 10, func(m *metrics) {
			m.called("m", "json", api.ToolCallResult{Tool: "mine", Produced: 20, Shown: 10}, tool.Stats{}, 0)
			m.called("m", "json", api.ToolCallResult{Tool: "mine", Produced: 20, Shown: 30}, tool.Stats{}, 0)
		}},
		{"an answer of the cache has no instance", `weir_instance_duration_seconds_sum{tool="mine"}`, 0.5, func(m *metrics) {
			m.called("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{Instance: time.Second / 2}, time.Second)
			m.called("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{Cached: true}, time.Second)
		}},
		{"loads of folded results are faults", `weir_faults_total`, 3,
			func(m *metrics) { m.ended("m", agent.TurnEnd{Faults: agent.Faults{Faults: 3, Refaults: 1}}, nil) }},
		{"a cut has the layer that decided", `weir_cut_results_total{layer="round",tool="mine"}`, 1, func(m *metrics) {
			m.called("m", "json", api.ToolCallResult{Tool: "mine", Layer: tool.LayerRound}, tool.Stats{}, 0)
			m.called("m", "json", api.ToolCallResult{Tool: "mine"}, tool.Stats{}, 0)
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
					m.called("m", "json", api.ToolCallResult{Tool: "mine", Produced: 1}, tool.Stats{}, time.Millisecond)
					m.ended("m", agent.TurnEnd{Reason: agent.ReasonAnswer}, nil)
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
