package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const doubtful = `[agent]
tools = ["load_tool_history", "load_tool_histroy", "load_tool_histroy"]
prefetch = ["serch"]
[agents.other]
deny_tools = ["zzz"]
[models.literal]
provider = "vllm"
model = "m"
key = "sk-canary"
[models.reference]
provider = "vllm"
model = "m"
key = "${NOKEY}"
`

var doubts = []string{
	`[agent] tools names "load_tool_histroy", which is no tool of a plugin here; did you mean load_tool_history`,
	`[agent] prefetch names "serch"`, `[agents.other] deny_tools names "zzz"`, "[models.literal] key stands in tools.toml",
}

// What may be meant is a warning, once each, and keeps nothing from running.
func TestWarnings(t *testing.T) {
	code, _, stderr := runIn(t.Context(), t, t.TempDir(), doubtful, "tool", "list")
	if code != 0 || strings.Count(stderr, "weir: warning: ") != len(doubts) || strings.Contains(stderr, "canary") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, want := range doubts {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
}

// locked is a buffer for several writers.
type locked struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
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
		streams{strings.NewReader(""), out, &stderr}, barely(t))
	if code != 0 || !strings.Contains(out.String(), `"url"`) {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	for _, want := range append(doubts, "other weir commands will not find this daemon") {
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
