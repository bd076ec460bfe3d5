package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
)

var updateDocs = flag.Bool("update", false, "write the tables of docs/cli.md anew")

// docs/cli.md lists the commands and the chat's as they are; `go test
// ./host/cmd/weir -run CLIDoc -update` writes its tables.
func TestCLIDoc(t *testing.T) {
	c := newCLI(term.Env{Lookup: barely(t)})
	path := filepath.Join(guesttest.Root(t), "docs", "cli.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := between(t, string(page), "commands", commandTable(newRoot(c)))
	var table strings.Builder
	table.WriteString("| typed | what it does |\n|---|---|\n")
	typed, about := chat.Commands()
	for i := range typed {
		fmt.Fprintf(&table, "| `%s` | %s |\n", typed[i], about[i])
	}
	want = between(t, want, "chat", table.String())
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Error("the tables of docs/cli.md are of other commands; -update writes them")
	}
}

// between puts text between the two comments of a name.
func between(t *testing.T, page, name, text string) string {
	t.Helper()
	head, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
	_, tail, closed := strings.Cut(rest, "<!-- end -->")
	if !ok || !closed {
		t.Fatalf("docs/cli.md has no place for %s", name)
	}
	return head + "<!-- " + name + " -->\n" + text + "<!-- end -->" + tail
}

func commandTable(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden || sub.Name() == "help" {
				continue
			}
			if !sub.HasSubCommands() || sub.RunE != nil && reflect.ValueOf(sub.RunE).Pointer() != reflect.ValueOf(subcommand).Pointer() {
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimPrefix(sub.CommandPath(), "weir "), sub.Short)
			}
			walk(sub)
		}
	}
	root.InitDefaultCompletionCmd()
	walk(root)
	return b.String()
}

// Completions are of commands that exist.
func TestCompletionsAreOfCommands(t *testing.T) {
	c := newCLI(term.Env{Lookup: barely(t)})
	var paths []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		paths = append(paths, cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(c))
	for path := range c.argumentsOf() {
		if !slices.Contains(paths, path) {
			t.Errorf("there is no command %s", path)
		}
	}
}
