package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
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
	`[agents.other] prefetch names "serch"`, `[agents.other] deny_tools names "zzz"`, "[models.literal] has its key in tools.toml",
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
	if token, err := os.ReadFile(filepath.Join(dir, "data", "token")); err != nil || strings.Contains(stderr.String(), strings.TrimSpace(string(token))) || !strings.Contains(stderr.String(), filepath.Join(dir, "data", "token")) {
		t.Errorf("%v; a log that others may read has the token, or not its file: %s", err, &stderr)
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
	p := config.Paths{Data: dir, Address: filepath.Join(dir, "daemon.json"), Token: filepath.Join(dir, "gone", "token")}
	if err := os.Symlink("/dev/full", p.Address); err != nil {
		t.Fatal(err)
	}
	if err := app.Announce(p, client.Address{URL: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(p.Address); err == nil {
		t.Error("a half-written address file is left")
	}
	if _, err := p.EnsureToken(); err == nil || !strings.Contains(err.Error(), "cannot be written") || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a token that cannot be written: %v", err)
	}
	p.Token = dir
	if _, err := p.EnsureToken(); err == nil || !strings.Contains(err.Error(), "a new one is made") {
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
	if code, _, stderr := runIn(t.Context(), t, dir, "", "tool", "list"); code != term.ExitFailed || !strings.Contains(stderr, "give another folder with --data") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Names are looked up in all places.
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
		`tools.toml:2:1: [agent] prefetch names "load_tool_histroy", which is no tool of a plugin here; did you mean load_tool_history? (correct the name, or remove it)`,
		`tools.toml:6:1: [users.ann] deny_tools names "load_tool_histori"`, `tools.toml:8:1: [mcp] tools names "lod_tool_history"`,
		`tools.toml:9:8: [tools.load_tool_histry] fits no tool here; did you mean load_tool_history?`,
		`tools.toml:17:1: [[approvals.rule]] 2 is for "write_*", which fits no tool of a plugin here`,
		`tools.toml:2:1: [agent] prefetch names "load_tool_histroy", which the profile may not use`, `tools.toml:2:1: [agent] prefetch names "search_tool_history", which the profile may not use`,
		"tools.toml:5:1: the variable ANN is not set", "the user ann cannot log in",
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
