package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/internal/testtime"
)

// A daemon that starts while another command ends waits for it, and not for a daemon.
func TestADaemonWaitsForAnotherCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	env := func(name string) (string, bool) { return dir, name == "HOME" }
	data := filepath.Join(dir, "data")
	p, err := config.Source{Data: data, Env: env}.Paths()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := app.Lock(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serve := func(out *locked) int {
		return run(ctx, []string{"--data", data, "serve", "--addr", "127.0.0.1:0"}, term.Env{In: strings.NewReader(""), Out: out, Err: out, Lookup: env})
	}
	var first, second locked
	ended := make(chan int, 1)
	go func() { ended <- serve(&first) }()
	await := func(what string) {
		t.Helper()
		testtime.Comes(func() bool { return strings.Contains(first.String(), what) || len(ended) > 0 })
		if !strings.Contains(first.String(), what) {
			t.Fatal(first.String())
		}
	}
	await("waiting for another weir command")
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	await("  stop    Ctrl-C")
	if said := first.String(); !strings.Contains(said, "\n  plugins "+filepath.Join(data, "plugins")+"\n") || strings.Contains(said, "does not exist") {
		t.Errorf("the first start does not say where plugins go, or warns of the folder: %s", said)
	}
	if code := serve(&second); code == 0 || strings.Contains(second.String(), "waiting for") {
		t.Errorf("beside a daemon: exit %d: %s", code, second.String())
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, first.String())
	}
}

// A command that begins while a daemon starts, or while another command ends, waits for
// it and says so.
func TestACommandWaitsForAnother(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	env := func(name string) (string, bool) { return dir, name == "HOME" }
	p, err := config.Source{Data: "data", Env: env}.Paths()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := app.Lock(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var out locked
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"--data", filepath.Join(dir, "data"), "conversation", "list"}, term.Env{In: strings.NewReader(""), Out: &out, Err: &out, Lookup: env})
	}()
	const waiting = "waiting for another weir command"
	testtime.Comes(func() bool { return strings.Contains(out.String(), waiting) || len(ended) > 0 })
	if !strings.Contains(out.String(), waiting) {
		t.Fatal("it does not wait: " + out.String())
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 || !strings.Contains(out.String(), "there are no conversations") {
		t.Errorf("exit %d: %s", code, out.String())
	}
}
