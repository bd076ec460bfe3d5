package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// commented matches a line of tools.toml that has an effect without its #.
var commented = regexp.MustCompile(`^# (\[+[a-zA-Z_.]+\]+.*|[a-z_0-9]+\s*= .*)$`)

// Every key that the repository's tools.toml explains exists, and what it calls a
// default is the default.
func TestRepositoryToolsTOML(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(guesttest.Root(t), "tools.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := Parse("tools.toml", string(raw)); len(faults) > 0 {
		t.Fatalf("as it stands: %v", faults)
	}
	opened := 0
	lines := strings.Split(string(raw), "\n")
	for i, l := range lines {
		if m := commented.FindStringSubmatch(l); m != nil {
			lines[i] = m[1]
			opened++
		}
	}
	if opened < 50 {
		t.Fatalf("only %d commented keys were found", opened)
	}
	s, faults := Parse("tools.toml", strings.Join(lines, "\n"))
	if len(faults) > 0 {
		t.Fatalf("with every key in force: %v", faults)
	}
	d := Settings{}.WithDefaults()
	for _, c := range []struct {
		key         string
		stated, def any
	}{
		{"server.addr", s.Server.Addr, d.Server.Addr},
		{"server.max_turns", s.Server.MaxTurns, d.Server.MaxTurns},
		{"server.resume_grace", s.Server.Grace, d.Server.Grace},
		{"log.level", s.Log.Level, d.Log.Level},
		{"plugins.shipped", *s.Plugins.Shipped, *d.Plugins.Shipped},
		{"plugins.watch", *s.Plugins.Watch, *d.Plugins.Watch},
		{"plugins.poll", s.Plugins.Poll, d.Plugins.Poll},
		{"limits.max_chars", s.Limits.MaxChars, d.Limits.MaxChars},
		{"limits.max_lines", s.Limits.MaxLines, d.Limits.MaxLines},
		{"limits.strategy", s.Limits.Strategy, d.Limits.Strategy},
		{"limits.head", s.Limits.Head, d.Limits.Head},
		{"limits.tail", s.Limits.Tail, d.Limits.Tail},
		{"limits.timeout", s.Limits.Timeout, d.Limits.Timeout},
		{"limits.ceiling_chars", s.Limits.CeilingChars, d.Limits.CeilingChars},
		{"agent.mode", s.Agent.Mode, d.Agent.Mode},
		{"agent.max_tool_calls", s.Agent.MaxToolCalls, d.Agent.MaxToolCalls},
		{"agent.max_planning_steps", s.Agent.MaxPlanningSteps, d.Agent.MaxPlanningSteps},
		{"agent.memory_limit", s.Agent.MemoryLimit, d.Agent.MemoryLimit},
		{"agent.max_corrections", s.Agent.MaxCorrections, d.Agent.MaxCorrections},
		{"agent.parallel_calls", s.Agent.ParallelCalls, d.Agent.ParallelCalls},
		{"archive.threshold", s.Archive.Threshold, d.Archive.Threshold},
		{"archive.summary_chars", s.Archive.SummaryChars, d.Archive.SummaryChars},
		{"archive.keep_turns", s.Archive.KeepTurns, d.Archive.KeepTurns},
		{"archive.semantic_threshold", s.Archive.Semantic, d.Archive.Semantic},
		{"archive.scope", s.Archive.Scope, d.Archive.Scope},
		{"archive.max_age", s.Archive.MaxAge, d.Archive.MaxAge},
		{"archive.max_bytes", s.Archive.MaxBytes, d.Archive.MaxBytes},
		{"summarize.max_input_chars", s.Summarize.MaxInputChars, d.Summarize.MaxInputChars},
		{"summarize.trigger_threshold", s.Summarize.TriggerThreshold, d.Summarize.TriggerThreshold},
		{"approvals.default", s.Approvals.Default, d.Approvals.Default},
		{"approvals.network", s.Approvals.Network, d.Approvals.Network},
		{"approvals.timeout", s.Approvals.Timeout, d.Approvals.Timeout},
		{"sandbox.spares", s.Sandbox.Spares, d.Sandbox.Spares},
		{"sandbox.engine", s.Sandbox.Engine, d.Sandbox.Engine},
		{"sandbox.isolation", s.Sandbox.Isolation, d.Sandbox.Isolation},
		{"sandbox.loaded", s.Sandbox.Loaded, d.Sandbox.Loaded},
		{"sandbox.waiting", s.Sandbox.Waiting, d.Sandbox.Waiting},
		{"sandbox.idle", s.Sandbox.Idle, d.Sandbox.Idle},
		{"sandbox.headroom", s.Sandbox.Headroom, d.Sandbox.Headroom},
		{"sandbox.compile_cpu", s.Sandbox.CompileCPU, d.Sandbox.CompileCPU},
		{"sandbox.compile_memory", s.Sandbox.CompileMemory, d.Sandbox.CompileMemory},
	} {
		if c.stated != c.def {
			t.Errorf("%s: the file says %v, the default is %v", c.key, c.stated, c.def)
		}
	}
}

// A tools.toml with every key loads to the settings that an earlier build printed with
// `weir config show --json`.
func TestEveryKeyLoadsToTheSameSettings(t *testing.T) {
	text, err := os.ReadFile("testdata/every_key.toml")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/every_key.json")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // granted folders are relative to it
	if err := os.WriteFile("tools.toml", text, 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Data: filepath.Join(dir, "d"), Env: func(name string) (string, bool) { return dir, name == "HOME" }}
	p, err := source.Paths()
	if err != nil {
		t.Fatal(err)
	}
	l, err := source.Load(p)
	if err != nil || len(l.Faults) > 0 {
		t.Fatal(l.Faults, err)
	}
	got, err := json.Marshal(l.Settings.WithDefaults().Redacted())
	if err != nil {
		t.Fatal(err)
	}
	var was, is any
	if err := json.Unmarshal(golden, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(got), dir, "$DIR")), &is); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(was, is); d != "" {
		t.Errorf("the settings differ (-before +now):\n%s", d)
	}
}
