package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
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
func (c *cli) outf(format string, args ...any) { c.sayf(c.out, format, args) }
func (c *cli) errf(format string, args ...any) { c.sayf(c.err, format, args) }

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

// label is a text in a column of so many places.
func (c *cli) label(en string, width int) string {
	s := c.text(en)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
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

// table prints rows of cells that end in tabs, in columns as wide as a terminal
// draws them: a Chinese character takes two.
func (c *cli) table(header string, rows func(w io.Writer)) {
	var b bytes.Buffer
	rows(&b)
	lines := [][]string{strings.Split(c.text(header), "\t")}
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, cells := range lines {
		for i, cell := range cells {
			if i < len(cells)-1 {
				cell += strings.Repeat(" ", widths[i]+2-ansi.StringWidth(cell))
			}
			fmt.Fprint(c.out, cell)
		}
		fmt.Fprintln(c.out)
	}
}
