package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/term"
)

// A newTool holds the flags of weir plugin new.
type newTool struct {
	spec author.Spec
	dir  string
}

func (c *cli) pluginNewCmd() *cobra.Command {
	var n newTool
	cmd := &cobra.Command{
		Use: "new NAME --lang LANGUAGE", Short: "Make the folder of a new tool: it builds, has cases and needs nothing downloaded",
		Long: "Make a folder with a tool that works: its manifest, its source with the SDK copied in, cases, and a\n" +
			"README. What NAME and --lang leave open is asked for on a terminal.",
		Example: "  weir plugin new word_count --lang go\n  weir plugin new forecast --lang go --template http --dir tools/forecast",
		Args:    argCount(0, 1, "one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				n.spec.Name = args[0]
			}
			return c.pluginNew(n)
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.spec.Language, "lang", "", c.helpf("the `LANGUAGE`: %s", strings.Join(author.Names(), ", ")))
	f.StringVar(&n.spec.Template, "template", "", "what to begin with: basic (the default), http or files")
	f.StringVar(&n.dir, "dir", "", "the folder to make (default: NAME in the current folder)")
	return cmd
}

func (c *cli) pluginNew(n newTool) error {
	if err := c.askNew(&n.spec); err != nil {
		return err
	}
	l, ok := author.Named(n.spec.Language)
	if !ok {
		return usagef("use one of: "+strings.Join(author.Names(), ", "), "there is no language %q here", n.spec.Language)
	}
	if n.spec.Template == "" {
		n.spec.Template = l.Templates[0]
	}
	if !slices.Contains(l.Templates, n.spec.Template) {
		return usagef("use one of: "+strings.Join(l.Templates, ", "), "%s has no template %q", l.Title, n.spec.Template)
	}
	if n.dir == "" {
		n.dir = n.spec.Name
	}
	files, err := author.New(n.dir, n.spec)
	if e, ok := errors.AsType[*author.ErrNotEmpty](err); ok {
		return usagef("name another folder with --dir", "%s", e)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		c.Print(map[string]any{"name": n.spec.Name, "lang": l.Name, "template": n.spec.Template, "dir": n.dir, "files": files})
		return nil
	}
	c.outf("made %s: a tool in %s (%s)\n", n.dir, l.Title, n.spec.Template)
	for _, f := range files {
		fmt.Fprintf(c.Out, "  %-22s %s\n", f, c.text(purpose(f)))
	}
	if l.SDK != nil {
		fmt.Fprintf(c.Out, "  %-22s %s\n", "weir/", c.text("the SDK, copied in"))
	}
	c.outf("\nnext:\n")
	if filepath.Clean(n.dir) != "." {
		fmt.Fprintf(c.Out, "  cd %s\n", n.dir)
	}
	if l.Build != nil {
		c.outf("  weir plugin build\n")
	}
	c.outf("  weir plugin test\n")
	return nil
}

// askNew asks for what was not said, on a terminal alone.
func (c *cli) askNew(s *author.Spec) error {
	asks := !c.JSON && term.IsTerminal(c.In)
	if s.Name == "" {
		if !asks {
			return usagef("weir plugin new NAME --lang "+strings.Join(author.Names(), "|"), "the new tool has no name")
		}
		var answered bool
		if s.Name, answered = c.prompt("Name of the tool (small letters, digits, _): "); !answered {
			return usagef("weir plugin new NAME --lang "+strings.Join(author.Names(), "|"), "the new tool has no name")
		}
	}
	if why := author.CheckName(s.Name); why != "" {
		return usagef("for example: word_count", "%s", why)
	}
	if s.Language != "" {
		return nil
	}
	if !asks {
		return usagef("add --lang with one of: "+strings.Join(author.Names(), ", "), "the new tool has no language")
	}
	first := author.Names()[0]
	if s.Language, _ = c.prompt(fmt.Sprintf("Language, one of %s [%s]: ", strings.Join(author.Names(), ", "), first)); s.Language == "" {
		s.Language = first
	}
	return nil
}

// purpose says what a file of a new tool is for.
func purpose(name string) string {
	switch {
	case name == ".gitignore":
		return "keeps the built module out of git"
	case strings.HasPrefix(name, "main_test."):
		return "tests of the function alone, without the sandbox"
	case name == "package.json":
		return "names the compiler that the first build fetches"
	case name == "go.mod":
		return "makes the folder a Go module; it depends on nothing"
	case name == "plugin.toml":
		return "what it declares: its tool, arguments, limits, and what it asks for"
	case strings.HasPrefix(name, "tests/"):
		return "cases, for weir plugin test"
	case strings.HasPrefix(name, "main."):
		return "the tool"
	case name == "README.md":
		return "how to go on"
	}
	return ""
}
