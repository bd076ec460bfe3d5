package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/internal/testtime"
)

// apart lists the commands that do their work without the running daemon, each with
// the reason why no flag is lost on it.
var apart = map[string]string{
	"weir serve": "refuses to start beside a daemon", "weir backup": "copies the data folder", "weir restore": "needs a stopped daemon",
	"weir store migrate": "needs a stopped daemon", "weir store check": "reads the file of --config", "weir store copy": "copies what its arguments name",
	"weir doctor": "checks what the flags name", "weir paths": "prints what the flags name", "weir version": "knows no configuration",
	"weir config show": "reads the file of --config", "weir config validate": "reads the file of --config", "weir config trust": "trusts the file of --config",
	"weir parse": "reads the flags itself", "weir cut": "reads the flags itself", "weir mcp config": "prints the flags for the client's file",
	"weir mcp install": "writes the flags into the client's file, or asks the daemon for a token, which refuses them", "weir mcp uninstall": "changes the client's file",
	"weir model list": "reads the file of --config", "weir model use": "writes the file of --config", "weir model test": "reads the file of --config", "weir model eval": "reads the file of --config",
	"weir model remove": "writes the file of --config", "weir stop": "stops the daemon that the others need",
	"weir plugin new": "makes a folder", "weir script check": "reads a file and runs nothing", "weir plugin build": "works on a folder", "weir plugin validate": "works on a folder", "weir plugin test": "works on a folder",
	"weir plugin dev": "works on a folder", "weir plugin bench": "works on a folder", "weir plugin pack": "works on a folder",
}

// A wrong --addr is refused before anything is opened: at a first start that takes a minute.
func TestServeRefusesAnAddressAtOnce(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, addr := range []string{"nosuch", "0.0.0.0:80", "127.0.0.1:99999"} {
		var out bytes.Buffer
		code := run(t.Context(), []string{"--data", data, "serve", "--addr", addr}, term.Env{In: strings.NewReader(""), Out: &out, Err: &out, Lookup: func(string) (string, bool) { return "", false }})
		if _, err := os.Stat(data); code != term.ExitUsage || !os.IsNotExist(err) {
			t.Errorf("%s: code %d, %v: %s", addr, code, err, &out)
		}
	}
}

// Every command refuses a flag that would have no effect on the running daemon. A
// new flag of all commands needs a line here, and a new command that works without
// the daemon one above.
func TestNoFlagIsIgnored(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"tools.toml", "other.toml"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("elsewhere", 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return dir, name == "HOME" }
	at := serving(t, env, filepath.Join(dir, "data"))
	if at.Workspace == "" || at.Config == "" {
		t.Fatalf("the daemon does not say where it is: %+v", at)
	}
	wrong := map[string]struct{ value, says string }{
		"config": {"other.toml", "--config other.toml would have no effect"}, "plugins": {"elsewhere", "--plugins elsewhere would have no effect"},
		"workspace": {"elsewhere", "--workspace elsewhere would have no effect"}, "verbose": {"true", "what happens inside is in its log"},
		"data": {}, "json": {}, "lang": {}, // they hold for the command alone
	}
	newRoot(newCLI(term.Env{Lookup: env})).PersistentFlags().VisitAll(func(f *pflag.Flag) {
		row, known := wrong[f.Name]
		if !known {
			t.Errorf("--%s: say in this test what it does where a daemon runs", f.Name)
		}
		for _, cmd := range commands(newRoot(newCLI(term.Env{Lookup: env}))) {
			_, local := apart[cmd.CommandPath()]
			if row.value == "" || local {
				continue
			}
			var errs locked
			args := append([]string{"--data", "data", "--" + f.Name + "=" + row.value}, strings.Fields(cmd.CommandPath())[1:]...)
			code := run(t.Context(), append(args, fitting(cmd)...), term.Env{In: strings.NewReader(""), Out: &errs, Err: &errs, Lookup: env})
			if f.Name != "verbose" && code != term.ExitUsage || !strings.Contains(errs.String(), row.says) {
				t.Errorf("%s --%s: exit %d, %s", cmd.CommandPath(), f.Name, code, &errs)
			}
		}
	})
	if text, err := os.ReadFile("other.toml"); err != nil || len(text) > 0 {
		t.Errorf("a refused command changed the file: %s, %v", text, err)
	}
	// The daemon's own values are no contradiction.
	var errs locked
	if code := run(t.Context(), []string{"--data", "data", "--config", "./tools.toml", "--workspace", ".", "tool", "list"}, term.Env{In: strings.NewReader(""), Out: &errs, Err: &errs, Lookup: env}); code != 0 {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

// serving starts a daemon that ends with the test.
func serving(t *testing.T, env func(string) (string, bool), data string) (at client.Address) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var log locked
	go func() {
		ended <- run(ctx, []string{"--data", data, "serve", "--addr", "127.0.0.1:0"}, term.Env{In: strings.NewReader(""), Out: &log, Err: &log, Lookup: env})
	}()
	t.Cleanup(func() { stop(); <-ended })
	if !testtime.Comes(func() bool { return startedIn(data, &at) }) {
		t.Fatal("the daemon does not start: " + log.String())
	}
	return at
}

// startedIn reports whether a daemon has written down in its data folder where it listens.
func startedIn(data string, at *client.Address) bool {
	raw, err := os.ReadFile(filepath.Join(data, "daemon.json"))
	return err == nil && json.Unmarshal(raw, at) == nil
}

// commands returns every command below root that does something.
func commands(root *cobra.Command) (all []*cobra.Command) {
	for _, cmd := range root.Commands() {
		switch {
		case cmd.HasSubCommands():
			all = append(all, commands(cmd)...)
			if cmd.Name() != "mcp" {
				continue
			}
		case cmd.Name() == "help" || cmd.Name() == "completion":
			continue
		}
		all = append(all, cmd)
	}
	return all
}

// fitting returns arguments that the command accepts, with the flags that it needs.
func fitting(cmd *cobra.Command) []string {
	var args []string
	for range 4 {
		if cmd.Args == nil || cmd.Args(cmd, args) == nil {
			break
		}
		args = append(args, "word")
	}
	switch cmd.CommandPath() {
	case "weir ask", "weir plugin approve":
		return []string{"word"}
	case "weir archive export", "weir archive rm":
		return []string{"--conversation", "word"}
	}
	return args
}
