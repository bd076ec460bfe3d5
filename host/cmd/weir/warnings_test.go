package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/term"
)

const doubtful = `[agent]
tools = ["load_tool_history", "load_tool_histroy", "load_tool_histroy"]
[agents.other]
deny_tools = ["zzz"]
prefetch = ["serch"]
[models.literal]
provider = "vllm"
model = "m"
key = "sk-canary"
[models.reference]
provider = "vllm"
model = "m"
key = "${NOKEY}"
`

var doubted = []string{
	`[agent] tools names "load_tool_histroy", which is no tool of a plugin here; did you mean load_tool_history`,
	`[agents.other] prefetch names "serch"`, `[agents.other] deny_tools names "zzz"`, "[models.literal] key stands in tools.toml",
}

// What may be meant is a warning, once each, and keeps nothing from running.
func TestWarnings(t *testing.T) {
	code, _, stderr := runIn(t.Context(), t, t.TempDir(), doubtful, "tool", "list")
	if code != 0 || strings.Count(stderr, "weir: warning: ") != len(doubted) || strings.Contains(stderr, "canary") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, want := range doubted {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
}

// A daemon says the same in its log and in its banner, and serves also where it
// cannot leave its address.
func TestServeWarnsAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data", "daemon.json", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &whenWritten{f: cancel} // the banner: everything is open
	file := filepath.Join(dir, "tools.toml")
	if err := os.WriteFile(file, []byte(doubtful), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr locked // the log and the banner write at the same time
	code := run(ctx, []string{"--json", "--config", file, "--data", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0"},
		term.Env{In: strings.NewReader(""), Out: out, Err: &stderr, Lookup: barely(t)})
	if code != 0 || !strings.Contains(out.String(), `"url"`) {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	for _, want := range append(doubted, "other weir commands will not find this daemon") {
		if strings.Count(stderr.String(), want) != 2 {
			t.Errorf("%q is not in the log and in the banner: %s", want, &stderr)
		}
	}
}

// A full disk leaves no half of an address, and no half of a token.
func TestWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	p := paths{Data: dir, Address: filepath.Join(dir, "daemon.json"), Token: filepath.Join(dir, "gone", "token")}
	if err := os.Symlink("/dev/full", p.Address); err != nil {
		t.Fatal(err)
	}
	if err := announce(p, "http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(p.Address); err == nil {
		t.Error("a half-written address file is left")
	}
	if _, err := p.token(); err == nil || !strings.Contains(err.Error(), "cannot be written") || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a token that cannot be written: %v", err)
	}
	p.Token = dir
	if _, err := p.token(); err == nil || !strings.Contains(err.Error(), "a new one is made") {
		t.Errorf("a token that cannot be read: %v", err)
	}
}

// An archive that cannot be made says what helps.
func TestArchiveThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone", "archive.db"), filepath.Join(dir, "data", "archive.db")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runIn(t.Context(), t, dir, "", "tool", "list"); code != exitFailed || !strings.Contains(stderr, "give another folder with --data") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestWhereATextBreaks(t *testing.T) {
	for _, row := range []struct {
		why, text string
		line, col int
	}{
		{"a duplicate at the beginning of its line", "max = 1\nlonger_line = 2\nmax = 3\n", 3, 1},
		{"behind an empty line", "a = 1\nb = 2\n\nb = 3\n", 4, 1},
		{"an indented duplicate, at its whole key", "[x]\n  a.b = 1\n  a.b = 2\n", 3, 3},
		{"a table twice, at its name", "[limits]\nmax_lines = 5\n[limits]\n", 3, 2},
		{"a value that is missing", "[limits]\nmax_chars = = 3\n", 2, 13},
		{"characters are counted, not bytes", "x = {\"中文\" = 1, y = 01}\n", 1, 20},
		{"a mark in front is no column", "\uFEFFa = 1\na = 2\n", 2, 1},
		{"lines of another system", "a = 1\r\nb = 2\r\na = 2\r\n", 3, 1},
	} {
		_, faults := decode("f", row.text)
		if len(faults) != 1 || faults[0].Line != row.line || faults[0].Col != row.col {
			t.Errorf("%s: %v, want %d:%d", row.why, faults, row.line, row.col)
		}
	}
}

// What cannot have its effect is told with its place and what to change; what can
// have it, and what only a running plugin or server could tell, is not.
func TestDoubts(t *testing.T) {
	const model = "[models.m]\nprovider = \"ollama\"\nmodel = \"x\"\nnative_tools = false\n"
	for _, row := range []struct{ text, want string }{
		{"[agent]\nenable_tool_calling = false\n  enable_planning = true\n", "f:3:3: [agent] enable_planning does nothing, for enable_tool_calling is false (take it out, or set enable_tool_calling = true)"},
		{"[agent]\nmax_tool_calls = -1\nenable_reflection = true\n", "f:3:1: [agent] enable_reflection does nothing, for max_tool_calls is -1, which allows no call"},
		{"[agents.bare]\ntools = []\nprefetch = [\"a\"]\n", "f:3:1: [agents.bare] prefetch does nothing, for tools is empty"},
		{"[agent]\nmode = \"native\"\nenable_tool_calling = false\n", "f:2:1: [agent] mode does nothing"},
		{"[agent]\ntools = [\"a\"]\ndeny_tools = [\"b\", \"a\"]\n", `f:3:1: [agent] deny_tools names "a", and tools does too: it is denied (take it out of one of the two)`},
		{"[agent]\ntools = [\"a\"]\nprefetch = [\"b\"]\n", `f:3:1: [agent] prefetch names "b", which the profile may not use`},
		{"[agent]\ndeny_tools = [\"b\"]\nprefetch = [\"b\"]\n", `f:3:1: [agent] prefetch names "b", which the profile may not use`},
		{model + "[agent]\nmodel = \"m\"\nmode = \"native\"\n", `f:7:1: [agent] mode is "native", and [models.m] says native_tools = false`},
		{model + "[agent]\nmodel = \"m\"\nmode = \"auto\"\n", ""},
		{"[agent]\ntools = [\"a\", \"b\"]\ndeny_tools = [\"c\"]\nprefetch = [\"b\"]\nenable_planning = true\nmax_tool_calls = 0\n", ""},
		{"[sandbox]\nparallel = 16\n[agents.wide]\n  parallel_calls = 8\n", "f:4:3: [agents.wide] parallel_calls is 8, and one plugin runs 4 calls at once: its others wait (set parallel = 8 in [tools.NAME] of its tools or parallel = 32 below [sandbox], or lower parallel_calls to 4)"},
		{"[sandbox]\nparallel = 16\n[agent]\nparallel_calls = 17\n[tools.a]\nparallel = 16\n", "f:4:1: [agent] parallel_calls is 17, and all plugins together run 16 calls at once: the others wait (set parallel = 17 below [sandbox], of which one plugin gets a quarter, or lower parallel_calls to 16)"},
		{"[sandbox]\nparallel = 32\n[agent]\nparallel_calls = 8\n", ""},
		{"[sandbox]\nparallel = 16\n[agent]\nparallel_calls = 8\n[tools.a]\nparallel = 8\n", ""},
		{"[sandbox]\nparallel = 2\n[agent]\nparallel_calls = 4\n", ""}, // as when it is left out
		{"[agent]\nparallel_calls = -1\n", ""},
		{"[agent]\nenable_tool_calling = false\n", ""},
		{"", ""},
	} {
		s, faults := decode("f", row.text)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		got := doubts(s)
		if inForce := doubts(s.withDefaults()); len(inForce) != len(got) {
			t.Errorf("%q: %v, and with the defaults %v", row.text, got, inForce)
		}
		if row.want == "" && len(got) > 0 || row.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].String(), row.want)) {
			t.Errorf("%q: %v, want %q", row.text, got, row.want)
		}
	}
}

// Names are looked up wherever one can stand.
func TestNamesThatNobodyKnows(t *testing.T) {
	const text = `[agent]
prefetch = ["search_tool_history", "load_tool_histroy"]
tools = ["describe_tool", "load_tool_history", "files__read"]
[users.ann]
token = "${ANN}"
deny_tools = ["load_tool_histori"]
[mcp]
tools = ["lod_tool_history"]
[tools.load_tool_histry]
max_chars = 500
[tools.for_later]
max_chars = 500
[[approvals.rule]]
tool = "files__*"
action = "deny"
[[approvals.rule]]
tool = "write_*"
action = "deny"
[mcpServers.files]
command = "nobody"
disabled = true
`
	_, _, stderr := runIn(t.Context(), t, t.TempDir(), text, "tool", "list")
	want := []string{
		`tools.toml:2:1: [agent] prefetch names "load_tool_histroy", which is no tool of a plugin here; did you mean load_tool_history? (correct the name, or take it out)`,
		`tools.toml:6:1: [users.ann] deny_tools names "load_tool_histori"`, `tools.toml:8:1: [mcp] tools names "lod_tool_history"`,
		`tools.toml:9:8: [tools.load_tool_histry] is for no tool here; did you mean load_tool_history?`,
		`tools.toml:17:1: [[approvals.rule]] 2 is for "write_*", which fits no tool of a plugin here`,
		`tools.toml:2:1: [agent] prefetch names "load_tool_histroy", which the profile may not use`, `tools.toml:2:1: [agent] prefetch names "search_tool_history", which the profile may not use`,
		"the user ann cannot come in",
	}
	for _, w := range want {
		if !strings.Contains(stderr, w) {
			t.Errorf("no %q in\n%s", w, stderr)
		}
	}
	if n := strings.Count(stderr, "weir: warning: "); n != len(want) {
		t.Errorf("%d warnings, want %d:\n%s", n, len(want), stderr)
	}
}
