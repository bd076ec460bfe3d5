package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// completions are what a shell is offered. They come from a daemon that runs,
// or else from the configuration: completing a word opens nothing.
func (c *cli) completions(ctx context.Context, from func(ctx context.Context, cl *session) []string, otherwise func(config.Settings) []string) []string {
	if cl, _, err := c.find(ctx); err != nil {
		return nil
	} else if cl != nil {
		return from(ctx, cl)
	}
	if otherwise == nil {
		return nil
	}
	_, l, err := c.settings()
	if err != nil {
		return nil
	}
	return otherwise(l.Settings)
}

// offer returns the names that complete a word. Text after a tab is its description.
func offer(names []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, n := range names {
		if strings.HasPrefix(n, begun) {
			out = append(out, n)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

type completer = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

// by completes with what list names.
func by(list func(ctx context.Context) []string) completer {
	return func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		return offer(list(ctx), begun)
	}
}

// first completes the first argument alone.
func first(f completer) completer {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, begun)
	}
}

func (c *cli) modelNames(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		names, _ := chat.ModelNames(ctx, cl)
		return names
	}, func(s config.Settings) []string {
		return slices.Sorted(slices.Values(slices.AppendSeq([]string{daemon.DemoModel}, maps.Keys(s.Models))))
	})
}

func (c *cli) profileNames(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		names, _ := chat.ProfileNames(ctx, cl)
		return names
	}, func(s config.Settings) []string {
		return slices.Sorted(slices.Values(slices.AppendSeq([]string{"default"}, maps.Keys(s.Agents))))
	})
}

func (c *cli) conversationIDs(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		list, _ := chat.Conversations(ctx, cl)
		var out []string
		for _, x := range list {
			out = append(out, x.ID+"\t"+term.Visible(x.Title, 40))
		}
		return out
	}, nil)
}

func (c *cli) archiveIDs(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		var list api.ArchiveList
		_ = cl.Get(ctx, "/api/archives?limit=100", &list) // no list, no completion
		var out []string
		for _, a := range list.Archives {
			out = append(out, a.UUID+"\t"+term.Visible(a.Tool+" "+a.Query, 40))
		}
		return out
	}, nil)
}

func (c *cli) toolNames(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		var out struct{ Tools []plugin.ToolInfo }
		_ = cl.Get(ctx, "/api/tools", &out) // as above
		var names []string
		for _, t := range out.Tools {
			names = append(names, t.Spec.Name)
		}
		return names
	}, func(s config.Settings) []string { return c.foundPlugins(s) })
}

func (c *cli) pluginNames(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		var out struct{ Plugins []plugin.Info }
		_ = cl.Get(ctx, "/api/plugins", &out) // as above
		var names []string
		for _, p := range out.Plugins {
			names = append(names, p.Name)
		}
		return names
	}, func(s config.Settings) []string { return c.foundPlugins(s) })
}

func (c *cli) traceIDs(ctx context.Context) []string {
	return c.completions(ctx, func(ctx context.Context, cl *session) []string {
		var list api.TraceList
		_ = cl.Get(ctx, "/api/traces?"+url.Values{"limit": {"50"}}.Encode(), &list) // as above
		var out []string
		for _, t := range list.Traces {
			out = append(out, fmt.Sprint(t.ID)+"\t"+term.Visible(t.Question, 40))
		}
		return out
	}, nil)
}

// completeFlags completes the flags that name models, profiles and conversations.
func (c *cli) completeFlags(cmd *cobra.Command) {
	for name, list := range map[string]func(context.Context) []string{"model": c.modelNames, "profile": c.profileNames, "conversation": c.conversationIDs, "tool": c.toolNames} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, by(list)) // which fails for flags that are not there, or twice
		}
	}
}

// argumentsOf returns the completions of each command's arguments.
func (c *cli) argumentsOf() map[string]completer {
	arguments := map[string]completer{
		"weir call": first(by(c.toolNames)), "weir tools show": first(by(c.toolNames)),
		"weir archive show": first(by(c.archiveIDs)), "weir archive grep": first(by(c.archiveIDs)), "weir archive rm": by(c.archiveIDs),
		"weir model use": first(by(func(ctx context.Context) []string { return append(c.modelNames(ctx), config.PresetNames()...) })), "weir model test": by(c.modelNames), "weir model remove": first(by(c.modelNames)),
		"weir trace show": first(by(c.traceIDs)), "weir mcp restart": first(by(c.pluginNames)),
	}
	for _, verb := range []string{"info", "approve", "rollback", "enable", "disable", "remove", "retry"} {
		arguments["weir plugin "+verb] = first(by(c.pluginNames))
	}
	for _, verb := range []string{"show", "rename", "export", "delete"} {
		arguments["weir conversation "+verb] = first(by(c.conversationIDs))
	}
	return arguments
}

// complete gives every command below root its completions.
func (c *cli) complete(root *cobra.Command) {
	arguments := c.argumentsOf()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if f := arguments[cmd.CommandPath()]; f != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = f
		}
		c.completeFlags(cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	_ = root.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions([]cobra.Completion{"en", "zh"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// foundPlugins are the names of what lies in the plugin folders; most tools are
// called as their plugin is.
func (c *cli) foundPlugins(s config.Settings) []string {
	var out []string
	for _, f := range s.Plugins.Folder {
		entries, err := os.ReadDir(f.Path)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, packed := strings.CutSuffix(e.Name(), ".wasm")
			if _, err := os.Stat(filepath.Join(f.Path, e.Name(), "plugin.toml")); err == nil || packed && !e.IsDir() {
				out = append(out, name)
			}
		}
	}
	return out
}
