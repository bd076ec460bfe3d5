package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/modelcmd"
)

func modelCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "model", Short: "List, choose and test chat models"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the configured models, and servers and keys that were found", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.models().List(cmd.Context()) },
	}, modelUseCmd(c), modelTestCmd(c), &cobra.Command{
		Use: "remove NAME", SuggestFor: []string{"rm", "delete"}, Short: "Remove a configured model from tools.toml", Args: argCount(1, 1, "one model"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.models().Remove(cmd.Context(), args[0]) },
	})
	return cmd
}

// models returns the commands about models.
func (c *cli) models() *modelcmd.Commands {
	return &modelcmd.Commands{Printer: c.Printer, Program: os.Args[0], Source: c.source(), Load: c.settings, Log: c.options().Logger}
}

func modelUseCmd(c *cli) *cobra.Command {
	var m modelcmd.Flags
	cmd := &cobra.Command{
		Use: "use NAME|PRESET", Short: "Make a model the default, adding it to tools.toml if it is not there",
		Long: c.helpf("Make a configured model the default, or add one from a preset: %s.\n"+
			"The key itself is never written: tools.toml gets a reference to the variable that holds it. A preset's\n"+
			"variable is for the preset's address; for a server of --base-url name one with --key-env.", strings.Join(config.PresetNames(), ", ")),
		Example: "  weir model use ollama --model qwen3:8b\n  weir model use ark --model doubao-seed-1-6\n" +
			"  weir model use openai --base-url https://llm.example.com/v1 --key-env LLM_KEY --model qwen3 --name house\n  weir model use demo",
		Args: argCount(1, 1, "one model or preset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Name = cmp.Or(m.Name, args[0])
			return c.models().Use(cmd.Context(), args[0], m)
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.Model, "model", "", "the model's `NAME` at the provider")
	f.StringVar(&m.BaseURL, "base-url", "", "the server's `URL`, when it is not the preset's")
	f.StringVar(&m.KeyEnv, "key-env", "", "the `NAME` of the variable that holds the key (default: the preset's, for the preset's address)")
	f.IntVar(&m.Window, "window", 0, "the context window in `TOKENS`; 0: ask the provider")
	f.StringVar(&m.Name, "name", "", "how weir calls it (default: the preset's name)")
	return cmd
}

func modelTestCmd(c *cli) *cobra.Command {
	var all bool
	var o provider.TestOptions
	cmd := &cobra.Command{
		Use: "test [NAME...]", Short: "Ask a model one thing and one tool call; say what is wrong, and what to change", Args: argCount(0, -1, "models"),
		Long: "Ask a model one tiny question and one that calls a tool: by the provider's own tool calling, else by text.\n" +
			"Says what is wrong (the key, the name, the address, a model that is not opened, the window, the tools) and\n" +
			"what to change, each step as it ends. Without NAME: the default profile's model. Exits with 3 if a model cannot be used.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.models().Test(cmd.Context(), args, all, o) },
	}
	cmd.Flags().DurationVar(&o.Bound, "timeout", provider.DefaultStepBound, "the most `TIME` of one step; 0: 1m; negative: no bound")
	cmd.Flags().BoolVar(&all, "all", false, "test every configured model")
	return cmd
}
