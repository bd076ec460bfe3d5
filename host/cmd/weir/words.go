package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/internal/words"
	"github.com/weirhost/weir/sdk/tool"
)

// text gives an English text in the language of whoever reads it. Texts that are
// put together from both languages' pieces say so themselves; see say.
func (c *cli) text(en string) string {
	book := c.chinese()
	if book == nil {
		return en
	}
	if f := placed().FindStringSubmatch(en); f != nil {
		zh := f[1] + book.Text(f[2])
		if f[3] != "" {
			zh += "（" + book.Text(f[3]) + "）"
		}
		return zh
	}
	return book.Text(en)
}

// placed is a fault of a file on one line: where, what, and what to change.
var placed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+:\d+:\d+: )(.*?)(?: \(([^()]+)\))?$`) })

// chinese returns the book of Chinese texts, nil for those who read English.
func (c *cli) chinese() *words.Book {
	if c.language() != tool.Zh {
		return nil
	}
	if c.book == nil {
		book, err := words.Open()
		if err != nil {
			panic(err) // a test reads every page of it
		}
		c.book = book
	}
	return c.book
}

// outf prints on stdout what a person reads, and errf on stderr. The format is an
// English one; errors among the arguments are said in the reader's language too.
func (c *cli) outf(format string, args ...any) { c.sayf(c.Out, format, args) }
func (c *cli) errf(format string, args ...any) { c.sayf(c.Err, format, args) }

// A phrase is an argument of outf and errf that is said in the reader's language
// too, unlike names and other data.
type phrase string

func (c *cli) sayf(w io.Writer, format string, args []any) {
	if book := c.chinese(); book != nil {
		format = book.Format(format)
		for i, a := range args {
			switch a := a.(type) {
			case error:
				args[i] = book.Text(a.Error())
			case phrase:
				args[i] = c.text(string(a))
			}
		}
	}
	fmt.Fprintf(w, format, args...)
}

// translate puts the help of every command into the language of whoever reads it.
func (c *cli) translate(root *cobra.Command) {
	book := c.chinese()
	if book == nil {
		return
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageFunc(translated(book, root.UsageFunc()))
	flags := func(f *pflag.Flag) { f.Usage = book.Text(f.Usage) }
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.Short, cmd.Long = book.Text(cmd.Short), book.Text(cmd.Long)
		cmd.LocalFlags().VisitAll(flags)
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(root)
}

// translated puts the headings of a command's help into Chinese, of which the rest
// is by now. The library has templates for that, but a program that sets one is
// half as large again; see internal/author.
func translated(book *words.Book, usage func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		var english bytes.Buffer
		out := cmd.OutOrStderr()
		cmd.SetOut(&english)
		err := usage(cmd)
		cmd.SetOut(out)
		for line := range strings.Lines(english.String()) {
			if !strings.HasPrefix(line, " ") {
				line = book.Text(line)
			}
			fmt.Fprint(out, line)
		}
		return err
	}
}

// say gives the text in the language of whoever reads it.
func (c *cli) say(en, zh string) string {
	if c.language() == tool.Zh {
		return zh
	}
	return en
}

// language is that of --lang, else the configuration's, else the environment's,
// else English. A configuration that cannot be read says nothing here.
func (c *cli) language() tool.Locale {
	if c.spoken == "" {
		switch c.lang {
		case string(tool.En), string(tool.Zh):
			c.spoken = tool.Locale(c.lang)
		default:
			var s Settings
			c.spoken = s.Language(c.Lookup) // of what is wrong with the configuration
			if p, err := c.findPaths(); err == nil {
				l, _ := c.source().Load(p) // a wrong configuration has a language too
				s = l.Settings
			}
			c.spoken = s.Language(c.Lookup)
		}
	}
	return c.spoken
}
