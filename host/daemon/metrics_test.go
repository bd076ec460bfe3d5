package daemon

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/agent/model/replay"
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
		`weir_cut_results_total{layer="agent",tool="long_text"}`:                                     1,
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
