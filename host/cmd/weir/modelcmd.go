package main

import (
	"cmp"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent/model/eval"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/modelcmd"
)

func modelCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "model", Short: "List, choose and test chat models"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the configured models, and servers and keys that were found", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.models().List(cmd.Context()) },
	}, modelUseCmd(c), modelTestCmd(c), modelEvalCmd(c), &cobra.Command{
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
			"what to change, each step as it ends. --window also measures the window, by prompts that grow until the model\n" +
			"does not know their beginning; how many tokens that takes at most is said before. Without NAME: the default profile's model. Exits with 3 if a model cannot be used.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.models().Test(cmd.Context(), args, all, o) },
	}
	cmd.Flags().DurationVar(&o.Bound, "timeout", provider.DefaultStepBound, "the most `TIME` of one step; 0: 1m; negative: no bound")
	cmd.Flags().IntVar(&o.Measure, "window", 0, "measure the window, by prompts of at most `TOKENS`")
	cmd.Flags().Lookup("window").NoOptDefVal = strconv.Itoa(provider.DefaultMeasure)
	cmd.Flags().BoolVar(&all, "all", false, "test every configured model")
	return cmd
}

func modelEvalCmd(c *cli) *cobra.Command {
	var o eval.Options
	cmd := &cobra.Command{
		Use: "eval [NAME]", Short: "Ask a model twenty questions with known calls, and say how it should call tools", Args: argCount(0, 1, "one model"),
		Long: "Put twenty questions with known calls to a model, in each mode in which it can call tools: by the provider's own tool\n" +
			"calling, and by text. Prints for each mode how many were right, wrong, and had a malformed call, the tokens and the mean\n" +
			"seconds of a question, and which mode to set. The tools have fixed answers: nothing runs, nothing is stored. Says first\n" +
			"how many tokens it will take. Ctrl-C ends it and prints what there is. Without NAME: the default profile's model.\n" +
			"Exits with 3 if the model does not answer, or is wrong as often as right.",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return c.models().Eval(cmd.Context(), name, o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.Time, "timeout", eval.DefaultTime, "the most `TIME` of all questions; 0: 10m")
	f.DurationVar(&o.Bound, "question-timeout", eval.DefaultBound, "the most `TIME` of one question; 0: 2m")
	f.IntVar(&o.Tokens, "tokens", 0, "the most `TOKENS` of all questions; 0: four times the estimate")
	f.IntVar(&o.Parallel, "parallel", eval.DefaultParallel, "how `MANY` questions are asked at the same time; 1 measures the time of one; 0: 4")
	return cmd
}
