package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// outf writes a sentence to standard output, errf to standard error. The format is
// English and the key of its translations; errors and texts among the arguments are
// shown in the same language.
func (c *cli) outf(format string, args ...any) {
	_, _ = io.WriteString(c.Out, c.Text(tool.Textf(format, args...)))
}

func (c *cli) errf(format string, args ...any) {
	_, _ = io.WriteString(c.Err, c.Text(tool.Textf(format, args...)))
}

// textOf is an argument of outf and errf that is a sentence itself.
func textOf(s string) tool.Text { return tool.Text{Format: s} }

// text returns a sentence without arguments in the language of the reader.
func (c *cli) text(s string) string { return c.Text(textOf(s)) }

// translate shows the help of every command in the language of the reader.
func (c *cli) translate(root *cobra.Command) {
	if c.Locale() != tool.Zh {
		return
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageFunc(c.translatedUsage(root.UsageFunc()))
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.Short, cmd.Long = c.translatedHelp(cmd, cmd.Short), c.translatedHelp(cmd, cmd.Long)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = c.translatedHelp(cmd, f.Usage) })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// helpf returns a help text with arguments, in English. translate then finds its
// format.
func (c *cli) helpf(format string, args ...any) string {
	t := tool.Textf(format, args...)
	if c.helps == nil {
		c.helps = map[string]tool.Text{}
	}
	c.helps[t.String()] = t
	return t.String()
}

// libraryHelp are the formats of the help that the library makes: each has the name
// of the program, of a shell or of a command as its argument.
var libraryHelp = []string{
	"Generate the autocompletion script for %s",
	"Generate the autocompletion script for %s for the specified shell.\nSee each sub-command's help for details on how to use the generated script.",
	"Help provides help for any command in the application.\nSimply type %s help [path to command] for full details.",
	"help for %s",
	"Use \"%s [command] --help\" for more information about a command.",
}

// translatedHelp returns a text of a command's help in Chinese.
func (c *cli) translatedHelp(cmd *cobra.Command, s string) string {
	if t, ok := c.helps[s]; ok {
		return msg.In(tool.Zh, t)
	}
	core := strings.TrimSpace(s)
	for _, format := range libraryHelp {
		for _, name := range []string{cmd.Name(), cmd.CommandPath(), cmd.Root().Name()} {
			if core == fmt.Sprintf(format, name) {
				return strings.Replace(s, core, fmt.Sprintf(msg.Format(tool.Zh, format), name), 1)
			}
		}
	}
	return msg.Format(tool.Zh, s)
}

// translatedUsage translates the headings of a command's help. A template of the
// library would do the same, but makes the program half as large again; see
// internal/author.
func (c *cli) translatedUsage(usage func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		var english bytes.Buffer
		out := cmd.OutOrStderr()
		cmd.SetOut(&english)
		err := usage(cmd)
		cmd.SetOut(out)
		for line := range strings.Lines(english.String()) {
			if !strings.HasPrefix(line, " ") {
				line = c.translatedHelp(cmd, line)
			}
			fmt.Fprint(out, line)
		}
		return err
	}
}

// flagProblem returns what is wrong with a flag, from an error of the library.
func flagProblem(err error) tool.Text {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if s := e.GetSpecifiedShortnames(); s != "" {
			return tool.Textf("unknown shorthand flag: %s in %s", fmt.Sprintf("%q", e.GetSpecifiedName()), "-"+s)
		}
		return tool.Textf("unknown flag: %s", "--"+e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return tool.Textf("flag needs an argument: %s", "--"+e.GetFlag().Name)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if e.GetFlag().Value.Type() == "duration" {
			return tool.Textf("--%s is %q, which is not a time span; write for example 90s or 2m", e.GetFlag().Name, e.GetValue())
		}
		return tool.Textf("invalid argument %q for %q flag: %s", e.GetValue(), "--"+e.GetFlag().Name, errors.Unwrap(e))
	}
	return msg.Of(err)
}

// language returns that of --lang, else of the configuration, else of the
// environment, else English. A configuration that cannot be read has none.
func (c *cli) language() tool.Locale {
	if c.spoken == "" {
		switch c.lang {
		case string(tool.En), string(tool.Zh):
			c.spoken = tool.Locale(c.lang)
		default:
			var s config.Settings
			c.spoken = s.Language(c.Lookup) // while the configuration is read
			if p, err := c.findPaths(); err == nil {
				l, _ := c.source().Load(p) // a faulty configuration may name a language too
				s = l.Settings
			}
			c.spoken = s.Language(c.Lookup)
		}
	}
	return c.spoken
}
