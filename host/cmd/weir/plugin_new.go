package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/sdk/tool"
)

func pluginNewCmd(c *cli) *cobra.Command {
	var spec author.Spec
	var dir, module string
	cmd := &cobra.Command{
		Use: "new NAME --lang LANGUAGE", Short: "Make the folder of a new tool: it builds, has cases and needs nothing downloaded",
		Long: "Make a folder with a tool that works: its manifest, its source with the SDK copied in, cases, and a\n" +
			"README. What NAME and --lang leave open is asked for on a terminal. With --from, make a folder around a\n" +
			"module that has no manifest, with a plugin.toml that names its functions.",
		Example: "  weir plugin new word_count --lang go\n  weir plugin new forecast --lang go --template http --dir tools/forecast\n  weir plugin new vowels --from count_vowels.wasm",
		Args:    argCount(0, 1, "one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				spec.Name = args[0]
			}
			if spec.Language == string(tool.En) || spec.Language == string(tool.Zh) { // the language of messages, which stood before the command
				spec.Language = ""
			}
			if module != "" && spec.Language+spec.Template != "" {
				return usagef("leave out --from, or --lang and --template", "--from is for a module that is built, --lang and --template are for source")
			}
			if module != "" {
				return c.pluginCommands().Wrap(dir, spec.Name, module)
			}
			return c.pluginCommands().New(dir, spec)
		},
	}
	f := cmd.Flags()
	f.StringVar(&spec.Language, "lang", "", c.helpf("the `LANGUAGE`: %s", strings.Join(author.Names(), ", ")))
	f.StringVar(&spec.Template, "template", "", "what to begin with: basic (the default), http or files")
	f.StringVar(&module, "from", "", "a `MODULE`, in place of a language: write a plugin.toml for the functions it exports")
	f.StringVar(&dir, "dir", "", "the folder to make (default: NAME in the current folder)")
	return cmd
}
