package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
)

// barely is an environment with nothing in it but a home and what keeps tests
// from compiling guests again and from looking for servers on this machine.
func barely(t *testing.T) config.Lookup {
	t.Helper()
	vars := map[string]string{"WEIR_CACHE": guesttest.Cache(t), "WEIR_NO_PROBE": "1", "HOME": t.TempDir()}
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// runIn runs the command line in a data folder of its own, with that
// configuration.
func runIn(ctx context.Context, t *testing.T, dir, config string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(dir, "tools.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"--config", file, "--data", filepath.Join(dir, "data")}, args...), term.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Lookup: barely(t)})
	return code, out.String(), errs.String()
}

// An error steers no terminal, whatever it quotes: names of files, for example.
func TestErrorsAreTame(t *testing.T) {
	evil := filepath.Join(t.TempDir(), "\x1b[31m\u202e")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"--config", evil, "tool", "list"}, term.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Lookup: barely(t)})
	if said := errs.String(); code != term.ExitUsage || !strings.Contains(said, "there is no configuration file") || strings.ContainsAny(said, "\x1b\u202e") {
		t.Errorf("code %d, %q", code, said)
	}
}

// A mistake in the arguments has one exit code, whoever finds it.
func TestExitCodes(t *testing.T) {
	const unkeyed = "[models.m]\nprovider = \"deepseek\"\nmodel = \"m\"\nkey = \"${NOKEY}\"\n"
	for _, row := range []struct {
		args string
		code int
		says string
	}{
		{"call nothing x=1", term.ExitUsage, "no tool named"},
		{"tool show nothing", term.ExitUsage, "no tool named"},
		{"ask --model gone hello", term.ExitUsage, "no model named"},
		{"ask --agent gone hello", term.ExitUsage, ""},
		{"archive list --limit -1", term.ExitUsage, "must be 0 or more"},
		{"archive search --limit -1 word", term.ExitUsage, "must be 0 or more"},
		{"archive show 0190aaaa-0000-7000-8000-000000000000", term.ExitFailed, "nothing with that id"},
		{"archive show 0190aaaa-0000-7000-8000-000000000000 lines=9-2", term.ExitUsage, "lines must be"},
		{"archive show 0190aaaa-0000-7000-8000-000000000000 linse=2", term.ExitUsage, "not a selector"},
		{"ask --model m hello", term.ExitModel, "set NOKEY"},
		{"model test m", term.ExitModel, "set NOKEY"},
	} {
		code, stdout, stderr := runIn(t.Context(), t, t.TempDir(), unkeyed, strings.Fields(row.args)...)
		if code != row.code || !strings.Contains(stdout+stderr, row.says) { // what a test finds out is its answer
			t.Errorf("%s: exit %d, want %d: %s%s", row.args, code, row.code, stdout, stderr)
		}
	}
}

func TestModelListAsJSON(t *testing.T) {
	_, stdout, _ := runIn(t.Context(), t, t.TempDir(), "[models.m]\nprovider = \"vllm\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"x\"\n", "model", "list", "--json")
	for _, want := range []string{`"found": []`, `"name": "m"`, `"base_url": "http://127.0.0.1:1/v1"`, `"default": true`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s in %s", want, stdout)
		}
	}
}

// The host's own tools have no limits of their own; 0 is not what is in force.
func TestToolsWithoutBounds(t *testing.T) {
	for args, want := range map[string]string{"tool list": "load_tool_history +32,768 characters +– ", "tool show load_tool_history": "timeout no limit"} {
		code, stdout, stderr := runIn(t.Context(), t, t.TempDir(), "", strings.Fields(args)...)
		if code != 0 || strings.Contains(stdout, " 0 ") || strings.Contains(stdout, "( )") || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
