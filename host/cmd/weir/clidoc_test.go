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
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

var updateDocs = flag.Bool("update", false, "write the tables of docs/cli.md and its Chinese page again")

// docs/cli.md and its Chinese page list the commands and the chat's as they are; `go test
// ./host/cmd/weir -run CLIDoc -update` writes their tables.
func TestCLIDoc(t *testing.T) {
	for _, page := range []struct {
		name, lang            string
		commands, typed, does string
	}{
		{"cli.md", "en", "command", "typed", "what it does"},
		{"cli.zh-CN.md", "zh", "命令", "输入", "作用"},
	} {
		c := newCLI(term.Env{Lookup: barely(t)})
		root := newRoot(c)
		c.lang = page.lang
		c.translate(root)
		path := filepath.Join(guesttest.Root(t), "docs", page.name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := between(t, string(text), "commands", tableHead(page.commands, page.does)+commandRows(root))
		want = between(t, want, "chat", tableHead(page.typed, page.does)+chatRows(c.Locale()))
		if *updateDocs {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want != string(text) {
			t.Errorf("the tables of docs/%s are of other commands; -update writes them", page.name)
		}
	}
}

// between puts text between the two comments of a name.
func between(t *testing.T, page, name, text string) string {
	t.Helper()
	head, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
	_, tail, closed := strings.Cut(rest, "<!-- end -->")
	if !ok || !closed {
		t.Fatalf("the page has no place for %s", name)
	}
	return head + "<!-- " + name + " -->\n" + text + "<!-- end -->" + tail
}

func tableHead(columns ...string) string {
	return "| " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)) + "|\n"
}

func chatRows(l tool.Locale) string {
	var b strings.Builder
	typed, about := chat.Commands()
	for i := range typed {
		fmt.Fprintf(&b, "| `%s` | %s |\n", typed[i], msg.In(l, about[i]))
	}
	return b.String()
}

func commandRows(root *cobra.Command) string {
	var b strings.Builder
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
