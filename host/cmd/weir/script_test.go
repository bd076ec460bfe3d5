package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/wasmtest"
)

func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){"weir": main, "notesd": notesd})
}

// TestScripts runs the command line as people type it, each script in a home
// of its own, over real plugins and the demo model.
func TestScripts(t *testing.T) {
	plugins := guesttest.Shipped(t, "calculator", "long_text", "grep_search", "read_file", "search_web")
	servlet := filepath.Join(t.TempDir(), "servlet.wasm")
	guesttest.Build(t, filepath.Join(guesttest.Root(t), "host", "testdata", "plugins", "servlet"), servlet)
	bomb := filepath.Join(t.TempDir(), "bomb.wasm") // compiling it needs more than a second
	if err := os.WriteFile(bomb, wasmtest.Slow("run", 60_000), 0o644); err != nil {
		t.Fatal(err)
	}
	pen := filepath.Join(t.TempDir(), "pen.wasm")
	guesttest.Build(t, filepath.Join(guesttest.Root(t), "host", "testdata", "plugins", "pen"), pen)
	goCache, err := exec.Command("go", "env", "GOCACHE").Output() // a home of its own would compile the standard library again
	if err != nil {
		t.Fatal(err)
	}
	models := modelServer(t)
	var plain, chosen string
	if raced {
		plain = unwatched(t)
		chosen = choosing(t, plain)
	}
	p := testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Condition: func(name string) (bool, error) {
			if name != "postgres" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			_, err := pgtest.Installed()
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"postgres": func(ts *testscript.TestScript, _ bool, _ []string) {
			url, stop, err := pgtest.Start()
			ts.Check(err)
			ts.Defer(stop)
			ts.Setenv("DB", url)
		}},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ROOT", guesttest.Root(t))
			e.Setenv("PLUGINS", plugins)
			e.Setenv("SERVLET", servlet)
			e.Setenv("BOMB", bomb)
			e.Setenv("PEN", pen)
			e.Setenv("MODELS", models)
			e.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
			e.Setenv("WEIR_CACHE", guesttest.Cache(t))
			e.Setenv("WEIR_NO_PROBE", "1")
			if raced {
				dir := plain
				if meeting(filepath.Base(e.WorkDir)) {
					dir = chosen
				}
				e.Setenv("PATH", dir+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, "data"), 0o700)
		},
	}
	testscript.Run(t, p)
}

// meeting reports whether goroutines meet in the script in that folder: turns,
// daemons, servers and people at once. Where the race detector is on, it watches the
// commands of these scripts in which they meet; all others run the program as it is,
// which starts in a fraction of the time.
func meeting(folder string) bool {
	return slices.Contains([]string{"approvals", "ask", "call", "chat", "pacing", "quarantine", "reload", "servers"}, strings.TrimPrefix(folder, "script-"))
}

// choosing returns a folder with a weir that starts the watched one for the commands
// in which goroutines meet, and the other for the rest.
func choosing(t *testing.T, plain string) string {
	t.Helper()
	watched, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
for arg; do
	case "$arg" in serve|ask|chat) exec '%s' "$@";; esac
done
exec '%s/weir' "$@"
`, watched, plain)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "weir"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unwatched returns a folder with a weir that was built without the race detector.
func unwatched(t *testing.T) string {
	t.Helper()
	program, err := guesttest.Program(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "weir")); err != nil {
		t.Fatal(err)
	}
	return dir
}
